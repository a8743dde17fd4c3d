/** A lock file on the fake machine: the order of waiting, and both sides of its times. */
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { thisProcess, tryLock, waitFor, waitForLock } from '../../src/platform/file-lock.ts';
import { fakeHost } from '../support/fake-host.ts';

const path = '/state/x.lock';
const expired = (): AppError => new AppError('unsafe', 'held');

describe('the wait for a lock', () => {
  it('reports each failed attempt completely before the pause, and tries again after it', async () => {
    const host = fakeHost();
    const entries: string[] = [];
    let attempts = 0;
    const sleep = async (ms: number): Promise<void> => {
      entries.push('pause');
      await host.sleep(ms);
      entries.push('pause done');
    };
    const got = await waitForLock(
      { ...host, sleep },
      async () => {
        attempts += 1;
        entries.push(`attempt ${attempts}`);
        return attempts === 3 ? { got: 'lock' } : { busy: 'other' };
      },
      {
        ...{ waitMs: 1000, pauseMs: () => 10, timeoutError: expired },
        onBusy: async () => {
          entries.push('report');
          await new Promise((resolve) => setImmediate(resolve));
          entries.push('report done');
        },
      },
    );
    expect(got).toBe('lock');
    const turn = ['report', 'report done', 'pause', 'pause done'];
    expect(entries).toEqual(['attempt 1', ...turn, 'attempt 2', ...turn, 'attempt 3']);
  });
  it.each([
    [999, 'lock'],
    [1000, 'held'],
  ])('of 1000 ms that became free after %i ms ends with: %s', async (freeMs, end) => {
    const host = fakeHost();
    const began = host.elapsed();
    const result = await waitForLock(
      host,
      async () => (host.elapsed() - began > freeMs ? { got: 'lock' } : { busy: 'other' }),
      { waitMs: 1000, pauseMs: () => (host.elapsed() === began ? freeMs : 1), timeoutError: expired },
    ).catch((error: Error) => error.message);
    expect(result).toBe(end);
  });
  it('counts from the last change of the owner', async () => {
    const host = fakeHost();
    const began = host.elapsed();
    const owners = ['a', 'a', 'b', 'b'];
    await expect(
      waitForLock(host, async () => ({ busy: owners.shift() ?? 'b' }), {
        ...{ waitMs: 1000, pauseMs: () => 400, timeoutError: expired },
        holder: (by) => by,
      }),
    ).rejects.toThrow('held');
    // The owner b appears after 800 ms and keeps the lock for 1000 ms.
    expect(host.elapsed() - began).toBe(2000);
  });
  it('an interruption ends it after the pause', async () => {
    const host = fakeHost();
    const stop = new AbortController();
    let attempts = 0;
    const waiting = waitForLock(
      host,
      async () => {
        attempts += 1;
        stop.abort(new Error('Ctrl-C'));
        return { busy: 'other' };
      },
      { waitMs: 1000, pauseMs: () => 10, signal: stop.signal, timeoutError: expired },
    );
    await expect(waiting).rejects.toThrow('Ctrl-C');
    expect(attempts).toBe(1);
  });
});

describe('a new lock file', () => {
  it('can be read only by its owner', async () => {
    const host = fakeHost();
    expect(await tryLock(host, path, thisProcess(host))).toBe(true);
    expect((await host.files.info(path))?.mode).toBe(0o600);
  });
});

describe('a lock file without content', () => {
  it('is read again only after each pause', async () => {
    const host = fakeHost();
    await host.files.create(path, '', 0o600, true);
    const entries: string[] = [];
    const sleep = async (ms: number): Promise<void> => {
      entries.push('pause');
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      await host.sleep(ms);
      const other = { ...thisProcess(host), machine: 'elsewhere', nonce: 'other' };
      if (entries.length === 2) await host.files.replace(path, JSON.stringify(other), 0o600);
    };
    const own = { ...host, sleep };
    expect(await tryLock(own, path, thisProcess(host))).toMatchObject({
      kind: 'held',
      by: { nonce: 'other' },
    });
    expect(entries).toEqual(['pause', 'pause']);
  });
});

describe('the owner that cannot be checked', () => {
  it.each([
    [120_000, 60_000],
    [120_001, 3000],
  ])('holds a lock of %i ms: the wait is %i ms', (heldMs, expected) => {
    const host = fakeHost();
    const other = { ...thisProcess(host), machine: 'elsewhere', sinceMs: host.now() - heldMs };
    expect(waitFor(host, 60_000, other)).toBe(expected);
    expect(waitFor(host, 1000, other)).toBe(1000);
  });
});
