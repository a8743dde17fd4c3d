import { describe, expect, it } from 'vitest';
import {
  awaitCount,
  contains,
  expectationFrom,
  evaluateCount,
  RequestLog,
  requestMatcher,
} from '../../src/mock-server/request-log.ts';
import { fakeHost } from '../support/fake-host.ts';
import type { LogEntry } from '../../src/mock-server/service-set.ts';

const body = Buffer.from('{"name":"bug","color":null,"tags":[1,{"a":2,"b":3}]}');
const noted = (more: Partial<LogEntry> = {}): LogEntry => ({
  number: 1,
  atMs: 0,
  method: 'POST',
  path: '/api/v3/labels',
  query: '',
  headers: { 'content-type': 'application/json' },
  bodyIn: new Uint8Array(body),
  bodyAt: 0,
  bodyBytes: body.length,
  status: 201,
  service: 'tracker',
  fault: undefined,
  tookUs: undefined,
  ...more,
});

describe('a request query', () => {
  it.each([
    [{}, 'match'],
    [{ method: 'post' }, 'match'],
    [{ method: 'PUT' }, 'other'],
    [{ path: '/api/v3/*' }, 'match'],
    [{ path: '/api/*' }, 'other'],
    [{ path: '/api/**' }, 'match'],
    [{ status: 201 }, 'match'],
    [{ status: 200 }, 'other'],
    [{ service: 'labels' }, 'other'],
    [{ body: '{"name":"bug"}' }, 'match'],
    [{ body: '{"name":"bugs"}' }, 'other'],
    [{ body: '{"color":null}' }, 'match'],
    [{ body: '{"missing":null}' }, 'other'],
    [{ body: '{"tags":[1,{"a":2}]}' }, 'match'],
    [{ body: '{"tags":[1]}' }, 'other'],
    [{ body: 'ug","col' }, 'match'],
  ] as const)('%j on a create is %s', (query, verdict) => {
    expect(requestMatcher(query)(noted())).toBe(verdict);
  });
  it('cannot judge a body that was too large to be kept', () => {
    expect(requestMatcher({ body: 'x' })(noted({ bodyIn: undefined, bodyBytes: 100_000 }))).toBe('unknown');
    expect(requestMatcher({ body: 'x' })(noted({ bodyIn: undefined, bodyBytes: undefined }))).toBe('other');
  });
  it('a request query ignores inherited properties', () => {
    expect(contains({}, { toString: 1 })).toBe(false);
  });
});

describe('the request log', () => {
  it('counts all matches and gives the newest rows', () => {
    const log = new RequestLog('r');
    for (let i = 0; i < 5; i += 1) log.add(noted({ number: i, status: i === 2 ? 429 : 201 }));
    const found = log.find({ status: 201 }, 2);
    expect([found.matched, found.forgotten, found.bodies_not_kept]).toEqual([4, 0, 0]);
    expect(found.rows.map(({ id }) => id)).toEqual(['r-3', 'r-4']);
  });
  it('the request log reports the number of dropped requests', () => {
    const log = new RequestLog('r');
    for (let i = 0; i < 10_003; i += 1) log.add(noted());
    expect(log.find({}, 1)).toMatchObject({ matched: 10_000, forgotten: 3 });
  });
});

describe('an expected number', () => {
  it.each([
    ['2', 2, 2],
    ['0', 0, 0],
    ['1+', 1, Number.POSITIVE_INFINITY],
    ['1-3', 1, 3],
  ])('%s is %d to %d', (text, min, max) => expect(expectationFrom(text)).toEqual({ min, max }));
  it('refuses a range that goes down', () => {
    expect(() => expectationFrom('3-1')).toThrow('invalid arguments');
  });

  const found = (matched: number, more = {}) => ({
    matched,
    forgotten: 0,
    bodies_not_kept: 0,
    rows: [],
    ...more,
  });
  it.each([
    [1, '1', true],
    [2, '1', false],
    [0, '0', true],
    [1, '0', false],
    [7, '1+', true],
    [0, '1+', false],
    [3, '1-3', true],
    [4, '1-3', false],
  ])('%d requests for %s: %s', (matched, text, isMet) => {
    expect(evaluateCount(found(matched), expectationFrom(text)).isMet).toBe(isMet);
  });
  it('an incomplete log confirms only a minimum number', () => {
    expect(evaluateCount(found(1, { forgotten: 5 }), expectationFrom('1')).isMet).toBe(false);
    expect(evaluateCount(found(1, { bodies_not_kept: 1 }), expectationFrom('1')).isMet).toBe(false);
    expect(evaluateCount(found(1, { forgotten: 5 }), expectationFrom('1+')).isMet).toBe(true);
    expect(evaluateCount(found(1, { forgotten: 5 }), expectationFrom('1+')).doubts).toHaveLength(1);
  });
});

describe('the wait for a number of requests', () => {
  const waited = async (
    counts: readonly number[],
    text: string | undefined,
    waitMs: number,
    stop = new AbortController(),
  ) => {
    const host = fakeHost();
    let asked = 0;
    const ask = async () => {
      const matched = counts[Math.min(asked, counts.length - 1)] ?? 0;
      asked += 1;
      return { matched, forgotten: 0, bodies_not_kept: 0, requests: [] } as never;
    };
    const began = host.elapsed();
    const found = await awaitCount(host, ask, expectationFrom(text), waitMs, stop.signal).catch(
      (error: unknown) => error,
    );
    return { matched: (found as { matched?: number }).matched, asked, tookMs: host.elapsed() - began, found };
  };
  it('ends with the first count that is large enough, and reads the count again after each pause', async () => {
    expect(await waited([0, 1, 2, 3], '2', 1000)).toMatchObject({ matched: 2, asked: 3, tookMs: 100 });
    expect(await waited([0, 3], '1-2', 1000)).toMatchObject({ matched: 3, asked: 2 });
  });
  it('waits for a first request even if none is allowed, until the time is over', async () => {
    expect(await waited([0], '0', 200)).toMatchObject({ matched: 0, asked: 5, tookMs: 200 });
    expect(await waited([0, 0, 1], '0', 200)).toMatchObject({ matched: 1, asked: 3 });
  });
  it('does not wait without an expectation or a time', async () => {
    expect(await waited([0], undefined, 1000)).toMatchObject({ asked: 1, tookMs: 0 });
    expect(await waited([0], '1', 0)).toMatchObject({ matched: 0, asked: 1, tookMs: 0 });
  });
  it('ends with the interruption', async () => {
    const stop = new AbortController();
    stop.abort(new Error('Ctrl-C'));
    const { found, asked } = await waited([0], '1', 1000, stop);
    expect([found, asked]).toEqual([new Error('Ctrl-C'), 1]);
  });
});
