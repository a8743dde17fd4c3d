import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type Holder, waitFor } from '../../../src/platform/file-lock.ts';
import { acquire } from '../../../src/auth/credential-store/guarded-file.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { expectInOrder, traceHost } from '../../support/trace.ts';

let real: RealHost;
let path: string;
beforeEach(async () => {
  real = await realHost();
  path = join(real.directory, 'x.lock');
});

const holder = (more: Partial<Holder> = {}): Holder => ({
  pid: 4_194_303,
  mark: 'long ago',
  machine: real.host.hostname,
  ...real.host.processes.scope(),
  nonce: 'n',
  sinceMs: real.host.now(),
  ...more,
});
test('the lock is exclusive: fifty waiters never overlap', async () => {
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const lock = await acquire(real.host, path, { waitMs: 60_000 });
      inside++;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
      await lock?.release();
    }),
  );
  expect(most).toBe(1);
  expect(await real.host.files.info(path)).toBeUndefined();
});

test('one of many processes replaces the lock of an exited process', async () => {
  await real.host.files.create(path, JSON.stringify(holder()));
  let inside = 0;
  const taken = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const lock = await acquire(real.host, path, { waitMs: 60_000 });
      expect(++inside).toBe(1);
      inside--;
      await lock?.release();
      return lock;
    }),
  );
  expect(taken).toHaveLength(20);
  expect((await real.host.files.list(real.directory)).filter((name) => name.startsWith('x.lock'))).toEqual(
    [],
  );
});

test.each(['', 'garbage', '{}'])('a lock file that holds %j does not block for ever', async (text) => {
  await real.host.files.create(path, text);
  const lock = await acquire(real.host, path, { waitMs: 60_000 });
  expect(lock).toBeDefined();
  await lock?.release();
});

test('a living holder is named when the wait ends', async () => {
  const first = await acquire(real.host, path, { waitMs: 0 });
  await expect(acquire(real.host, path, { waitMs: 30 })).rejects.toMatchObject({
    detail: { code: 'LOCK_BUSY' },
    message: expect.stringContaining(String(process.pid)),
  });
  await first?.release();
});

test('the wait ends when the work is done by another', async () => {
  const first = await acquire(real.host, path, { waitMs: 0 });
  let asked = 0;
  expect(
    await acquire(real.host, path, { waitMs: 60_000, isDone: async () => ++asked === 3 }),
  ).toBeUndefined();
  await first?.release();
});

test('waiters retry after different times of 20 to 46 ms', async () => {
  const slept = async (byte: number) => {
    const host = Object.assign(fakeHost(), { random: (size: number) => new Uint8Array(size).fill(byte) });
    const first = await acquire(host, '/x.lock', { waitMs: 0 });
    let asked = 0;
    await acquire(host, '/x.lock', { waitMs: 60_000, isDone: async () => ++asked === 3 });
    await first?.release();
    return host.slept;
  };
  expect(await slept(0)).toEqual([20, 20]);
  expect(await slept(250)).toEqual([45, 45]);
});

test('Ctrl-C ends the wait', async () => {
  const first = await acquire(real.host, path, { waitMs: 0 });
  const stop = new AbortController();
  const waiting = acquire(real.host, path, { waitMs: 60_000, signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await first?.release();
});

test('a replaced lock is not removed by its first owner', async () => {
  const first = await acquire(real.host, path, { waitMs: 0 });
  await real.host.files.replace(path, JSON.stringify(holder({ nonce: 'other' })));
  await first?.release();
  expect(await real.host.files.info(path)).toBeDefined();
});

test('a process takes over an abandoned lock before it removes its claim', async () => {
  const disk = fakeHost();
  const gone = {
    pid: 1,
    mark: 'm',
    machine: disk.hostname,
    ...disk.processes.scope(),
    nonce: 'n',
    sinceMs: 0,
  };
  await disk.files.create('/x.lock', JSON.stringify(gone));
  const traced = traceHost(disk, { isSlow: true });
  const lock = await acquire(traced.host, '/x.lock', { waitMs: 0 });
  traced.note('the lock is taken');
  expectInOrder(
    traced.entries,
    ...['create x.lock.claim-n done', 'replace x.lock', 'replace x.lock done'],
    ...['remove x.lock.claim-n', 'remove x.lock.claim-n done', 'the lock is taken'],
  );
  await lock?.release();
});

test.each([
  [120_000, 120_000],
  [120_001, 3000],
])('an unknown owner of a lock of %i ms is waited for: %i ms', (heldMs, waitMs) => {
  const host = fakeHost();
  const scope = { ...host.processes.scope(), machineId: 'machine-2', bootId: 'boot-2' };
  const by = { pid: 1, mark: 'm', machine: 'elsewhere', ...scope, nonce: 'n', sinceMs: host.now() - heldMs };
  expect(waitFor(host, 120_000, by)).toBe(waitMs);
});
