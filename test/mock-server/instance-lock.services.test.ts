import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { AppError } from '../../src/core/problem.ts';
import { liveServer, lockPath, claimDirectory } from '../../src/mock-server/instance-lock.ts';
import { withFasterClock } from '../support/faster-clock.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

let machine: RealHost;
let directory: string;
beforeEach(async () => {
  machine = await realHost();
  directory = join(machine.directory, 'state');
  mkdirSync(directory);
});

const take = (waitMs = 60_000, what = 'a test', host: Host = machine.host) =>
  claimDirectory(host, directory, { what, waitMs });
const mustOwn = async (host?: Host) => {
  const owner = await take(60_000, 'a test', host);
  if (owner.kind !== 'owned') throw new Error('expected to own the directory');
  return owner;
};
const left = () => readdirSync(directory).filter((name) => name !== 'waiting');
const ready = { ready: true };
/** Returns a process ID that is certainly unused: the ID of a process that has exited. */
const deadPid = (): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', '0']);
    child.once('exit', () => resolve(child.pid ?? 0));
  });
const lockText = (pid: number, more: object = {}) =>
  JSON.stringify({
    pid,
    machine: machine.host.hostname,
    ...machine.host.processes.scope(),
    nonce: `old-${pid}`,
    sinceMs: 0,
    what: 'mock serve',
    ...more,
  });

describe('the owner of a state directory', () => {
  it('only one process owns the directory; the next one waits', async () => {
    const first = await mustOwn();
    const order: string[] = [];
    const second = mustOwn().then((owner) => {
      order.push('second');
      return owner;
    });
    await machine.host.sleep(60);
    order.push('released');
    await first.release();
    await (await second).release();
    expect(order).toEqual(['released', 'second']);
    expect(left()).toEqual([]);
  });

  it('lets twenty work one after another, all of them', async () => {
    let inside = 0;
    let most = 0;
    let count = 0;
    const work = async () => {
      const owner = await mustOwn();
      inside += 1;
      most = Math.max(most, inside);
      await machine.host.sleep(2);
      count += 1;
      inside -= 1;
      await owner.release();
    };
    await Promise.all(Array.from({ length: 20 }, work));
    expect({ most, count }).toEqual({ most: 1, count: 20 });
    expect(readdirSync(join(directory, 'waiting'))).toEqual([]);
  });

  it('serves those who wait in the order in which they came', async () => {
    const first = await mustOwn();
    const line = join(directory, 'waiting');
    const tickets = (): string[] => (existsSync(line) ? readdirSync(line).sort() : []);
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < 5; i++) {
      waiting.push(
        mustOwn().then(async (owner) => {
          order.push(i);
          await owner.release();
        }),
      );
      // The next waiter starts after this waiter has its ticket, and a millisecond later: the queue is sorted by time.
      await expect.poll(() => tickets().length <= i, { interval: 5 }).toBe(false);
      await expect
        .poll(() => machine.host.now() <= Number(tickets()[i]?.split('-')[0]), { interval: 1 })
        .toBe(false);
    }
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it.each([
    ['another namespace that has just come', 'pid:[1]', 1000, 'waits', true],
    ['another namespace that came long ago', 'pid:[1]', 61_000, 'enters', true],
    ['this namespace that has ended', undefined, 1000, 'enters', false],
  ])('respects the ticket of a process of %s', async (_, namespace, ageMs, does, isKept) => {
    const line = join(directory, 'waiting');
    mkdirSync(line, { recursive: true });
    const since = machine.host.now() - ageMs;
    const scope = machine.host.processes.scope();
    const owner = {
      pid: 4_190_000,
      machine: machine.host.hostname,
      ...scope,
      ...(namespace === undefined ? {} : { pidNamespace: namespace }),
      nonce: 'n',
      sinceMs: since,
    };
    const ticket = `${String(since).padStart(14, '0')}-4190000--n`;
    writeFileSync(join(line, ticket), JSON.stringify(owner));
    const taken = await take(200).catch((thrown: unknown) => thrown);
    expect(taken).toMatchObject(does === 'waits' ? { detail: { code: 'MOCK_BUSY' } } : { kind: 'owned' });
    expect(existsSync(join(line, ticket))).toBe(isKept);
  });

  it('the owner is a running server after that has published itself', async () => {
    const server = await mustOwn();
    expect(liveServer(machine.host, directory)).toBeUndefined();
    await server.publish({ url: 'http://127.0.0.1:9', ready });
    const live = { url: 'http://127.0.0.1:9', ready, pid: process.pid };
    expect(await take()).toEqual({ kind: 'live', live });
    expect(liveServer(machine.host, directory)).toEqual(live);
    await server.release();
    expect(liveServer(machine.host, directory)).toBeUndefined();
  });

  it('an error reports that the directory is unusable', async () => {
    const file = join(directory, 'a-file');
    writeFileSync(file, '');
    const error = await claimDirectory(machine.host, join(file, 'state'), {
      what: 'a test',
      waitMs: 0,
    }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ category: 'config', detail: { code: 'STATE_DIRECTORY' } });
  });

  it('a waiting command reports the owner once, after a moment', async () => {
    const first = await take(60_000, 'opsctl login');
    const heard: string[] = [];
    const error = await claimDirectory(withFasterClock(machine.host, 20), directory, {
      what: 'a test',
      waitMs: 60_000,
      onWait: (who) => heard.push(who),
    }).catch((thrown: unknown) => thrown);
    expect([heard, error]).toEqual([[`opsctl login (process ${process.pid})`], expect.any(AppError)]);
    if (first.kind === 'owned') await first.release();
  });

  it('an error names the owner when the wait takes too long', async () => {
    const first = await take(60_000, 'opsctl login');
    const error = await take(50).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).message).toContain(`opsctl login (process ${process.pid})`);
    expect((error as AppError).message).toMatch(/ 0\.05 s$/);
    expect((error as AppError).detail).toMatchObject({ code: 'MOCK_BUSY', retryable: true });
    if (first.kind === 'owned') await first.release();
  });

  it('an interrupted command stops waiting', async () => {
    const first = await mustOwn();
    const stop = new AbortController();
    const waiting = claimDirectory(machine.host, directory, {
      what: 'a test',
      waitMs: 60_000,
      signal: stop.signal,
    });
    stop.abort(new AppError('interrupted', 'interrupted'));
    await expect(waiting).rejects.toThrow('interrupted');
    expect(readdirSync(join(directory, 'waiting'))).toEqual([]);
    await first.release();
  });
});

describe('leftovers of an exited process', () => {
  const heirs = async (count: number): Promise<number> => {
    let inside = 0;
    let most = 0;
    const heir = async () => {
      const owner = await mustOwn();
      inside += 1;
      most = Math.max(most, inside);
      await machine.host.sleep(1);
      inside -= 1;
      await owner.release();
    };
    await Promise.all(Array.from({ length: count }, heir));
    return most;
  };

  it('exactly one of many processes replaces the lock of an exited process', async () => {
    writeFileSync(lockPath(directory), lockText(await deadPid()));
    expect(await heirs(12)).toBe(1);
    expect(left()).toEqual([]);
  });

  it('a lock is replaced if its process ID belongs to another process', async () => {
    writeFileSync(
      lockPath(directory),
      lockText(process.pid, { mark: 'an earlier start', server: { url: 'http://127.0.0.1:9', ready } }),
    );
    expect(liveServer(machine.host, directory)).toBeUndefined();
    expect(await heirs(3)).toBe(1);
  });

  it('a chain of claims of exited processes is replaced', async () => {
    const [a, b, c] = [await deadPid(), await deadPid(), await deadPid()];
    writeFileSync(lockPath(directory), lockText(a));
    writeFileSync(join(directory, `owner.json.claim-old-${a}`), lockText(b));
    writeFileSync(join(directory, `owner.json.claim-old-${b}`), lockText(c));
    expect(await heirs(5)).toBe(1);
    expect(left()).toEqual([]);
  });

  it('an unfinished lock is replaced after a time', async () => {
    writeFileSync(lockPath(directory), '');
    await expect(take(60)).rejects.toThrow('in use');
    const old = Date.now() / 1000 - 10;
    utimesSync(lockPath(directory), old, old);
    expect(await heirs(3)).toBe(1);
  });

  it('a place in the queue of an exited process is removed', async () => {
    mkdirSync(join(directory, 'waiting'));
    const ticket = join(directory, 'waiting', `00000000000001-${await deadPid()}--abc`);
    writeFileSync(ticket, '');
    await (await mustOwn()).release();
    expect(existsSync(ticket)).toBe(false);
  });

  it('a claim from an outdated read does not replace a newer lock', async () => {
    const dead = await deadPid();
    writeFileSync(lockPath(directory), lockText(dead));
    // The slow process reads the stale lock; before it claims the lock, another process takes over and publishes.
    let hasLooked = false;
    const { files } = machine.host;
    const slow: Host = Object.create(machine.host, {
      files: {
        value: {
          ...files,
          create: async (path: string, data: string, mode?: number) => {
            if (path.includes('claim-') && !hasLooked) {
              hasLooked = true;
              const winner = await mustOwn();
              await winner.publish({ url: 'http://127.0.0.1:9', ready });
            }
            return files.create(path, data, mode);
          },
        },
      },
    });
    expect((await take(60_000, 'slow', slow)).kind).toBe('live');
    expect(left()).toEqual(['owner.json']);
  });
});
