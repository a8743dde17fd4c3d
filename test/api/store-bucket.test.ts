import { expect, test } from 'vitest';
import { AGAIN_MS, type Bucket, CALL_MS, LEASE_MS, type RateStore, storeBucket } from '../../src/api/rate.ts';
import { fakeHost } from '../support/fake-host.ts';
import { partlyMade } from '../support/context.ts';

const bucket = (store: Partial<RateStore>, ownCalls: string[] = []) => {
  const host = fakeHost();
  const lost: string[] = [];
  const own: Bucket = {
    admit: async () => {
      ownCalls.push('admit');
      return () => undefined;
    },
    block: () => void ownCalls.push('block'),
    open: () => void ownCalls.push('open'),
  };
  const made = storeBucket(host, {
    open: async () => store as RateStore,
    key: 'k',
    limit: 2,
    own: () => own,
    onLost: (why) => lost.push(why),
  });
  return { host, made, lost, ownCalls };
};

test('a request waits as long as the store requires, and its response is reported to the store', async () => {
  const told: string[] = [];
  const turns = [{ waitMs: 3000 }, { waitMs: 1000 }, { place: 'p1' }] as const;
  let turn = 0;
  const { host, made } = bucket({
    take: async () => turns[turn++] ?? { place: 'late' },
    release: async (_, place, windowMs) => void told.push(`${place} ${windowMs}`),
  });
  const start = host.now();
  const waits: number[] = [];
  const answered = await made.admit((ms) => waits.push(ms));
  expect(waits).toEqual([3000]);
  expect(host.now() - start).toBeGreaterThanOrEqual(4000);
  await answered('answered');
  expect(told).toEqual(['p1 60000']);
  await (await made.admit())('lost');
  await (await made.admit())('unsent');
  expect(told.slice(1)).toEqual(['late 120000', 'late 0']);
});

test('an unreachable store is reported once, and this machine then uses its own bucket', async () => {
  const failing = async (): Promise<never> => {
    throw new Error('connection refused');
  };
  const { made, lost, ownCalls } = bucket({ take: failing, release: failing, block: failing });
  await made.admit();
  await made.admit();
  made.block(5);
  expect([lost, ownCalls]).toEqual([['connection refused'], ['admit', 'admit', 'block']]);
});

test('a store that is lost between request and response does not fail the request', async () => {
  const { made, lost } = bucket({
    take: async () => ({ place: 'p' }),
    release: async () => {
      throw new Error('gone');
    },
  });
  await (await made.admit())('answered');
  expect(lost).toEqual(['gone']);
});

test('an interruption ends the wait for a place, without another request or a fallback', async () => {
  const host = fakeHost();
  const stop = new AbortController();
  const lost: string[] = [];
  let takes = 0;
  const made = storeBucket(host, {
    open: async () =>
      partlyMade<RateStore>({
        take: async () => {
          takes += 1;
          if (takes > 3) throw new Error('the wait did not end');
          return { waitMs: 3000 };
        },
      }),
    ...{ key: 'k', limit: 2, signal: stop.signal, onLost: (why) => lost.push(why) },
    own: () => {
      throw new Error('the own bucket is not needed');
    },
  });
  const reason = new Error('Ctrl-C');
  await expect(made.admit(() => stop.abort(reason))).rejects.toBe(reason);
  expect([takes, lost]).toEqual([1, []]);
});
test('an interruption during a request to the store is not a lost store', async () => {
  const host = fakeHost();
  const stop = new AbortController();
  const lost: string[] = [];
  const reason = new Error('Ctrl-C');
  const made = storeBucket(host, {
    open: async () =>
      partlyMade<RateStore>({
        take: async () => {
          stop.abort(reason);
          throw reason;
        },
      }),
    ...{ key: 'k', limit: 2, signal: stop.signal, onLost: (why) => lost.push(why) },
    own: () => {
      throw new Error('the own bucket is not needed');
    },
  });
  await expect(made.admit()).rejects.toBe(reason);
  expect(lost).toEqual([]);
});
test('a store has five seconds for a call, and a place lasts ten minutes', () => {
  expect([CALL_MS, LEASE_MS, AGAIN_MS]).toEqual([5000, 600_000, 250]);
});
