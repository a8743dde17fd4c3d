/** A watch that moves from member to member: no event is lost or repeated, and its pauses and limits. */
import { describe, expect, it } from 'vitest';
import { accessWith } from '../../../src/kv/engine/access.ts';
import { watchKeys, type Watching, type WatchRow } from '../../../src/kv/client/watch.ts';
import { AppError } from '../../../src/core/problem.ts';
import { type HttpRequest, NetworkError } from '../../../src/platform/host.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { withPatience } from '../../support/small-cluster.ts';
import { naming } from '../../support/facts.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const created = (revision: number) => ({ result: { header: { revision: `${revision}` }, created: true } });
const events = (...revisions: readonly number[]) => ({
  result: {
    header: { revision: `${revisions.at(-1)}` },
    events: revisions.map((mod_revision) => ({
      kv: { key: base64('k'), value: base64(`v${mod_revision}`), mod_revision: `${mod_revision}` },
    })),
  },
});
const progress = (revision: number) => ({ result: { header: { revision: `${revision}` } } });
type Answer = readonly object[] | 'refused';
/** Each stream of a watch receives the next answer. The last answer repeats. */
const watched = async (
  answers: readonly Answer[],
  {
    urls = ['http://n1:2379', 'http://n2:2379'],
    stop = new AbortController(),
    limit,
    stopAfter,
    ...options
  }: Partial<
    Watching['options'] & { urls: string[]; stop: AbortController; limit: number; stopAfter: number }
  > = {},
) => {
  const asked: { host: string; start: string | undefined; atMs: number; request: HttpRequest }[] = [];
  const host = withPatience(
    fakeHost({
      reply: (request) => {
        const { hostname, pathname } = new URL(request.url);
        if (pathname === '/version') return { body: { etcdserver: '3.5.30', etcdcluster: '3.5.0' } };
        if (!pathname.endsWith('/watch')) return { status: 404 };
        const body = JSON.parse(String(request.body)) as { create_request: { start_revision?: string } };
        const start = body.create_request.start_revision;
        asked.push({ host: hostname, start, atMs: host.elapsed(), request });
        const answer = answers[Math.min(asked.length, answers.length) - 1] as Answer;
        if (asked.length === stopAfter) stop.abort(new AppError('interrupted', 'Ctrl-C'));
        if (asked.length > 50) stop.abort(new AppError('interrupted', 'too many streams'));
        if (answer === 'refused') throw new NetworkError('REFUSED', `${hostname}: refused`, false);
        return { body: answer.map((one) => JSON.stringify(one)).join('\n') };
      },
    }),
  );
  const warnings: string[] = [];
  const rows: WatchRow[] = [];
  const access = accessWith(host, undefined, undefined);
  const run = async (): Promise<unknown> => {
    for await (const row of watchKeys({
      ...{ host, urls, access, signal: stop.signal, limit },
      options: { key: 'k', ...options },
      warn: (text) => warnings.push(text),
    }))
      rows.push(row);
    return undefined;
  };
  const error = await run().catch((one: unknown) => one);
  return { error, asked, warnings, revisions: rows.map(({ mod_revision }) => mod_revision), rows, host };
};

describe('a watch', () => {
  it('continues on the next member after the last event, and warns once with the revision', async () => {
    const { revisions, asked, warnings, error } = await watched(
      [[created(7), events(8, 9)], 'refused', 'refused', [created(9), events(10)]],
      { limit: 3 },
    );
    expect(error).toBeUndefined();
    expect(revisions).toEqual([8, 9, 10]);
    expect(asked.map(({ host, start }) => [host, start])).toEqual([
      ['n1', undefined],
      ['n2', '10'],
      ['n1', '10'],
      ['n2', '10'],
    ]);
    expect(warnings).toEqual([naming('n2', 10)]);
  });
  it('loses no event between the first response and a lost connection', async () => {
    const { asked } = await watched([[created(7)], [created(9), events(8)]], { limit: 1 });
    expect(asked.map(({ start }) => start)).toEqual([undefined, '8']);
  });
  it('a message without events confirms the events up to its revision', async () => {
    const { asked } = await watched(
      [
        [created(7), progress(20)],
        [created(20), events(21)],
      ],
      { limit: 1 },
    );
    expect(asked.map(({ start }) => start)).toEqual([undefined, '21']);
  });
  it('keeps the start revision of the request until an event arrives', async () => {
    const { asked } = await watched([[created(50)], [created(50), events(5)]], {
      limit: 1,
      startRevision: 5,
    });
    expect(asked.map(({ start }) => start)).toEqual(['5', '5']);
  });
  it('waits longer after each failure, at most 5 s, and 250 ms after a response', async () => {
    const stop = new AbortController();
    const { asked } = await watched(
      [[created(7)], ...Array.from({ length: 30 }, () => 'refused' as const), [created(7), events(8)]],
      {
        limit: 1,
        stop,
      },
    );
    const pauses = asked.slice(1).map(({ atMs }, i) => Math.round(atMs - (asked[i]?.atMs ?? 0)));
    expect(pauses.slice(0, 4)).toEqual([250, 500, 750, 1000]);
    expect(Math.max(...pauses)).toBe(5000);
    expect(pauses.at(-1)).toBe(5000);
  });
  it('a response ends the count of failures', async () => {
    const { warnings, asked } = await watched(
      [[created(7)], 'refused', 'refused', [created(7)], 'refused', [created(7), events(8)]],
      { limit: 1 },
    );
    expect(warnings).toHaveLength(2);
    expect(Math.round((asked[4]?.atMs ?? 0) - (asked[3]?.atMs ?? 0))).toBe(250);
  });
  it('ends if no member could ever be watched', async () => {
    const { error, asked } = await watched(['refused']);
    expect(error).toMatchObject({ category: 'network' });
    expect(asked.map(({ host }) => host)).toEqual(['n1', 'n2']);
  });
  it('ends with the revisions that a compaction removed', async () => {
    const canceled = { result: { header: { revision: '90' }, canceled: true, compact_revision: '40' } };
    const { error } = await watched([[canceled]], { startRevision: 5 });
    expect(error).toMatchObject({
      detail: { code: 'COMPACTED', data: { from_revision: 5, compact_revision: 40 } },
      message: expect.stringContaining('revisions 5 to 39'),
    });
    const { error: unnamed } = await watched([[canceled]]);
    expect(unnamed).toMatchObject({ detail: { data: { from_revision: 90, compact_revision: 40 } } });
  });
  it.each([
    ['permission denied', naming('watch', 'permission denied')],
    [undefined, naming('watch', 'no reason')],
  ])('ends when the server cancels it: %s', async (cancel_reason, named) => {
    const reason = cancel_reason === undefined ? {} : { cancel_reason };
    const canceled = { result: { header: { revision: '9' }, canceled: true, ...reason } };
    const { error, asked } = await watched([[created(8), canceled]]);
    expect(error).toMatchObject({
      detail: { code: 'WATCH_CANCELED' },
      message: named,
    });
    expect(asked).toHaveLength(1);
  });
  it('gives its signal and twice the interval of notifications to each stream', async () => {
    const stop = new AbortController();
    const { asked } = await watched([[created(7), events(8)]], { limit: 1, stop });
    expect(asked[0]?.request.timeoutMs).toBe(25 * 60_000);
    expect(asked[0]?.request.signal?.aborted).toBe(false);
    stop.abort(new Error('Ctrl-C'));
    expect(asked[0]?.request.signal?.aborted).toBe(true);
  });
  it('Ctrl-C during the pause ends it immediately, without another request or warning', async () => {
    const stop = new AbortController();
    const refusals = Array.from({ length: 30 }, () => 'refused' as const);
    const { error, warnings, asked, host } = await watched([[created(7)], ...refusals], {
      stop,
      stopAfter: 25,
    });
    expect(error).toMatchObject({ category: 'interrupted' });
    // The next pause would have lasted 5 s.
    expect(host.elapsed() - (asked.at(-1)?.atMs ?? 0)).toBeLessThan(100);
    expect(warnings).toHaveLength(1);
    expect(asked).toHaveLength(25);
  });
});
