/** The times of operations: how long a defragmentation may block a member, and the wait before a compaction. */
import { durationText } from '../../../src/core/format.ts';
import { describe, expect, it } from 'vitest';
import { defragPlan } from '../../../src/kv/operations/defrag.ts';
import { reportText } from '../../../src/kv/operations/record.ts';
import { AppError } from '../../../src/core/problem.ts';
import { NetworkError } from '../../../src/platform/host.ts';
import { expectInOrder } from '../../support/trace.ts';
import {
  compactWork,
  defragWork,
  performTraced,
  recoverWork,
  traceOperation,
} from '../../support/traced-operation.ts';
import { clusterOf, observationOf } from './observed.ts';
import { naming } from '../../support/facts.ts';

const limitMs = 30_000;
/** The measured time includes the lookup of the version and the response, one millisecond each. */
const lookupMs = 2;
/**
 * Each member needs this time for its defragmentation. The file of n3 is larger than the others by the factor. `whenNext`
 * is called before the responses of n3 after the defragmentation of n2.
 */
const defragmented = async (
  blockedMs: number,
  factor = 1,
  whenNext: (small: Awaited<ReturnType<typeof defragWork>>['small']) => void = () => {},
) => {
  const work = await defragWork();
  const { small } = work;
  small.state.replyOf = (name, call) => {
    if (name === 'n3' && small.done.includes('defragment n2')) whenNext(small);
    if (call === '/maintenance/defragment') small.host.advance(blockedMs - lookupMs);
    if (call !== '/maintenance/status') return undefined;
    const header = { member_id: small.members(name).id, cluster_id: '77', revision: '10', raft_term: '2' };
    const dbSizeInUse = String(name === 'n3' ? 1_000_000 * factor : 1_000_000);
    const status = { version: '3.5.30', leader: small.members(small.state.leader).id, raftTerm: '2' };
    return {
      body: { header, ...status, raftIndex: '110', raftAppliedIndex: '110', dbSize: '9000000', dbSizeInUse },
    };
  };
  const { error, report } = await performTraced(work, traceOperation(small));
  return { error, report, done: small.done.filter((one) => one.startsWith('defragment')), small };
};
const defragment = (...names: readonly string[]): string[] => names.map((name) => `defragment ${name}`);

describe('the time that a defragmentation blocks a member', () => {
  it('exactly the allowed time lets the next member follow', async () => {
    const { error, done, report } = await defragmented(limitMs);
    expect(error).toBeUndefined();
    expect(done).toEqual(defragment('n2', 'n3', 'n1'));
    expect(report.steps.find(({ id }) => id === 'n2.defrag')?.detail).toMatchObject({ blocked_ms: limitMs });
  });
  it('more than the allowed time stops before the next member', async () => {
    const { error, done } = await defragmented(limitMs + 1);
    expect(done).toEqual(defragment('n2'));
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^n3 was not defragmented: .* blocked for 31 s, --max-blocked allows 30 s$/,
      ),
      detail: { code: 'MAX_BLOCKED' },
    });
  });
  it('the time is the reason for the stop even if another member has gone down in the meantime', async () => {
    const { error } = await defragmented(limitMs + 1, 1, (small) => small.end('n1'));
    expect(error).toMatchObject({ detail: { code: 'MAX_BLOCKED' } });
    const inTime = await defragmented(1000, 1, (small) => small.end('n1'));
    expect(inTime.error).toMatchObject({ detail: { code: 'QUORUM' } });
    expect(inTime.done).toEqual(defragment('n2'));
  });
  it.each([
    [2, undefined],
    [3, naming('n3', 'not defragmented', '45 s', '--max-blocked', '30 s')],
  ])('a file that is %i times as large as one that took half the time', async (factor, message) => {
    const { error, done } = await defragmented(limitMs / 2, factor);
    expect(done).toEqual(message === undefined ? defragment('n2', 'n3', 'n1') : defragment('n2'));
    expect(error?.message).toEqual(message);
  });
  it('is the time limit of the request', async () => {
    const { small } = await defragmented(1000);
    const blocking = small.host.requests.filter(({ url }) => url.endsWith('/defragment'));
    expect(blocking.map(({ timeoutMs }) => timeoutMs)).toEqual([limitMs, limitMs, limitMs]);
  });
  it('a member that does not finish in time stops the operation, with the measured time', async () => {
    const work = await defragWork();
    const { small } = work;
    small.state.replyOf = (_, call) => {
      if (call !== '/maintenance/defragment') return undefined;
      small.host.advance(limitMs);
      const message = 'context deadline exceeded';
      return { status: 504, body: { error: message, code: 4, message } };
    };
    const { error } = await performTraced(work, traceOperation(small));
    expect(error).toMatchObject({
      message: expect.stringContaining('n2 takes more than 30 s'),
      detail: { code: 'MAX_BLOCKED' },
    });
  });
  it('another failure of the request keeps its reason', async () => {
    const work = await defragWork();
    work.small.state.replyOf = (_, call) =>
      call === '/maintenance/defragment'
        ? { status: 500, body: { error: 'disk', code: 2, message: 'disk' } }
        : undefined;
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error?.message).toContain('disk');
    expect(error?.detail.code).not.toBe('MAX_BLOCKED');
  });
  it.each([
    [89_999_999, 3000, []],
    [90_030_001, 3000, ['defrag-is-bounded']],
  ])(
    'the estimate for %i bytes on a slow disk is compared with %i ms',
    (db_in_use_bytes, maxBlockedMs, guards) => {
      const observation = observationOf(3, (one) => (one.name === 'n2' ? { ...one, db_in_use_bytes } : one));
      const options = { id: 'r', maxBlockedMs, minFreePercent: 0 };
      const made = defragPlan({ observation, cluster: clusterOf(observation), options });
      expect('refused' in made ? made.refused.map(({ guard }) => guard) : []).toEqual(guards);
    },
  );
  it('the canary writes during the operation, faster while a member is blocked, and its key is removed', async () => {
    const work = await defragWork();
    const { small } = work;
    const puts: { key: string; atMs: number }[] = [];
    small.state.replyOf = (_, call, body) => {
      if (call === '/kv/put')
        puts.push({ key: Buffer.from(String(body['key']), 'base64').toString(), atMs: small.host.elapsed() });
      return undefined;
    };
    const { host } = small;
    const request = host.network.request.bind(host.network);
    let blocked: readonly number[] = [];
    Object.assign(host.network, {
      request: async (one: Parameters<typeof request>[0]) => {
        if (!one.url.endsWith('/defragment')) return request(one);
        const from = host.elapsed();
        await host.sleep(3000);
        blocked = [from, host.elapsed()];
        return request(one);
      },
    });
    const { report } = await performTraced(work, traceOperation(small), undefined, undefined, true);
    expect(report.canary?.writes).toBeGreaterThan(0);
    const [from = 0, to = 0] = blocked;
    const during = puts.filter(({ atMs, key }) => key.includes('canary') && atMs >= from && atMs <= to);
    // One write in 20 ms and its pause; without a blocked member, one write a second.
    expect(during.length).toBeGreaterThan(30);
    expect([...small.keys.keys()].filter((key) => key.includes('canary'))).toEqual([]);
    expect(reportText(report)).toEqual(naming('canary', `writes ${report.canary?.writes}`, 'failed 0'));
    expect(reportText(report)).toContain(`(${durationText(report.duration_ms)})`);
  });
});

describe('the wait before a compaction', () => {
  const compactions = (trace: readonly string[]): string[] =>
    trace.filter((one) => one.endsWith('/v3/kv/compaction'));
  it('ends before the compaction, and its title contains seconds', async () => {
    const work = await compactWork(30_000);
    const traced = traceOperation(work.small);
    const began = work.small.host.elapsed();
    const { error, report } = await performTraced(work, traced);
    expect(error).toBeUndefined();
    expect(work.small.host.elapsed() - began).toBeGreaterThanOrEqual(30_000);
    expect(work.small.host.elapsed() - began).toBeLessThan(32_000);
    expect(report.steps[0]?.title).toMatch(/^wait 30 s,/);
    expectInOrder(
      traced.entries,
      ...[
        'write journal.jsonl: begin wait',
        'write journal.jsonl: end wait',
        'write journal.jsonl: begin compact',
      ],
      ...[
        'sync journal.jsonl',
        compactions(traced.entries)[0] ?? 'no compaction',
        'write journal.jsonl: end compact',
      ],
    );
  });
  it('Ctrl-C during the wait removes no history', async () => {
    const work = await compactWork(3_600_000);
    const stop = new AbortController();
    const traced = traceOperation(work.small);
    void work.small.host.sleep(10_000).then(() => stop.abort(new AppError('interrupted', 'Ctrl-C')));
    const { error } = await performTraced(work, traced, stop.signal);
    expect(error).toMatchObject({
      message: expect.stringContaining('no history was removed'),
      detail: { code: 'STOPPED' },
    });
    expect(compactions(traced.entries)).toEqual([]);
    expect(work.small.host.elapsed()).toBeLessThan(20_000);
  });
});

describe('a compaction that does not end', () => {
  it('is not awaited after Ctrl-C', async () => {
    const work = await compactWork(1000);
    const { small } = work;
    const stop = new AbortController();
    const { network } = small.host;
    let startedAt = Number.NaN;
    const request: typeof network.request = async (one) => {
      if (!one.url.endsWith('/v3/kv/compaction')) return network.request(one);
      startedAt = small.host.elapsed();
      void small.host.sleep(10_000).then(() => stop.abort(new AppError('interrupted', 'Ctrl-C')));
      await small.host.sleep(one.timeoutMs ?? 0, one.signal);
      throw new NetworkError('TIMEOUT', 'no response', true);
    };
    Object.assign(small.host, { network: { ...network, request } });
    const { error } = await performTraced(work, traceOperation(small), stop.signal);
    expect(error?.detail.code).toBe('STOPPED');
    expect(small.host.elapsed() - startedAt).toBeLessThan(20_000);
  });
});

describe('the end of a recovery of space', () => {
  it.each([
    ['a write that raises the alarm again', '/kv/put', 'NO_SPACE'],
    ['a read that does not return the write', '/kv/range', 'NOT_PROVEN'],
  ])('%s stops it', async (_, failing, code) => {
    const work = await recoverWork();
    const { small } = work;
    let isDisarmed = false;
    small.state.replyOf = (__, call, body) => {
      isDisarmed ||= body['action'] === 'DEACTIVATE';
      const key = Buffer.from(String(body['key'] ?? ''), 'base64').toString();
      if (!isDisarmed || call !== failing || !key.includes('probe')) return undefined;
      const message = 'etcdserver: mvcc: database space exceeded';
      return failing === '/kv/put'
        ? { status: 429, body: { error: message, code: 8, message } }
        : { body: { header: { revision: '10' }, kvs: [], count: '0' } };
    };
    const { error } = await performTraced(work, traceOperation(small));
    expect(error).toMatchObject({ category: 'stopped', detail: { code } });
  });
  it('an alarm that returns immediately stops it before the writes', async () => {
    const work = await recoverWork();
    const { state, members } = work.small;
    const alarm = { memberID: members('n2').id, alarm: 'NOSPACE' };
    Object.defineProperty(state, 'alarms', { get: () => [alarm], set: () => {} });
    const traced = traceOperation(work.small);
    const { error } = await performTraced(work, traced);
    expect(error).toMatchObject({ detail: { code: 'NO_SPACE' } });
    expect(traced.entries).not.toContain('write journal.jsonl: begin verify-write');
  });
});
