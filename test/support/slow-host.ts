/**
 * A host whose effects need longer than the tasks that follow a missing `await`, and whose files need their directory, as
 * on a real disk. After a command has ended, `pending` lists the effects that are still in progress.
 */
import { basename, dirname } from 'node:path';
import { type Host, NetworkError } from '../../src/platform/host.ts';

const CHANGES = [
  ...(['replace', 'replaceStream', 'create', 'truncate', 'makeDirectory'] as const),
  ...(['setMode', 'rename', 'copy', 'remove'] as const),
] as const;
const NEEDS_DIRECTORY = new Set<string>(['replace', 'replaceStream', 'create']);
const noDirectory = (path: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
const noSpace = (): Error =>
  Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', syscall: 'write' });
const lostConnection = (): Error => new NetworkError('RESET', 'the connection was closed', true);
/** Lets all other tasks run first. */
export const pause = async (turns = 5): Promise<void> => {
  for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
};
/** More turns than the rest of a command needs. */
const LONG = 400;

export type SlowHost = {
  readonly host: Host;
  pending(): string[];
  count(): number;
  /** Adds an effect that is no effect of the host, such as a call of a driver. */
  slow<T>(label: string, act: () => Promise<T>): Promise<T>;
  /** The effects that began before an earlier effect was complete, as sentences. */
  readonly overlaps: readonly string[];
};

/** Slows every effect, or only the effect with this number (from 1), which then takes longer than the rest of a command. */
export const slowHost = (host: Host, effect?: number): SlowHost => {
  const running = new Set<{ readonly label: string; readonly isSleep: boolean }>();
  const overlaps: string[] = [];
  let count = 0;
  /** Adds the effect to the list of running effects until it is complete. */
  const watch = async <T>(label: string, isSleep: boolean, act: () => Promise<T>): Promise<T> => {
    const one = { label, isSleep };
    overlaps.push(...[...running].map((earlier) => `${label} began before the end of ${earlier.label}`));
    running.add(one);
    try {
      return await act();
    } finally {
      running.delete(one);
    }
  };
  const slow = <T>(label: string, act: () => Promise<T>): Promise<T> =>
    watch(label, false, async () => {
      count += 1;
      await pause(effect === undefined ? undefined : effect === count ? LONG : 0);
      return act();
    });
  const files = { ...host.files };
  const calls = files as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of CHANGES) {
    const original = calls[name] as (...args: unknown[]) => Promise<unknown>;
    calls[name] = (path, ...rest) =>
      slow(`${name} ${basename(String(path))}`, async () => {
        const isThere = (await host.files.info(dirname(String(path)))) !== undefined;
        if (NEEDS_DIRECTORY.has(name) && !isThere) throw noDirectory(String(path));
        return original(path, ...rest);
      });
  }
  const request: Host['network']['request'] = (one) =>
    slow(`${one.method} ${new URL(one.url).pathname}`, () => host.network.request(one));
  const sleep: Host['sleep'] = (ms, signal) =>
    watch(`sleep ${ms}`, true, async () => {
      await host.sleep(ms, signal);
      // A pause takes longer than the slow effect that would follow a missing \`await\`.
      await pause(20);
    });
  return {
    host: { ...host, files, sleep, network: { ...host.network, request } },
    overlaps,
    slow,
    pending: () => [...running].filter(({ isSleep }) => !isSleep).map(({ label }) => label),
    count: () => count,
  };
};

/**
 * Runs an engine once with each of its effects slow, on a new world each time. `run` receives the change of the host, and
 * returns what is wrong at its end. Returns all faults and the effects that the end of the run cut off. An engine whose
 * effects are sequential names the few that may overlap in `mayOverlap`; all others must be complete before the next begins.
 */
export const brokenIfSlow = async (
  run: (slow: (host: Host) => Host) => Promise<readonly string[]>,
  mayOverlap = /.*/,
): Promise<string[]> => {
  const runWith = async (effect: number) => {
    let made: SlowHost | undefined;
    const faults = await run((host) => {
      made = slowHost(host, effect);
      return made.host;
    });
    const left = (made?.pending() ?? []).map((label) => `${label} was cut off`);
    const overlaps = (made?.overlaps ?? []).filter((one) => !mayOverlap.test(one));
    return {
      broken: [...faults, ...left, ...overlaps].map((one) => `effect ${effect}: ${one}`),
      count: made?.count() ?? 0,
    };
  };
  const { broken, count } = await runWith(0);
  for (let effect = 1; effect <= count; effect += 1) broken.push(...(await runWith(effect)).broken);
  return broken;
};

/**
 * Runs an engine once with each of its effects failing, on a new world each time. Returns the files and locks that the run
 * left open. A lock may be left if the failing effect is its removal. `run` returns what is wrong at its end, which counts
 * only for the run without a failure.
 */
export const leftIfFails = async (
  run: (change: (host: Host) => Host) => Promise<readonly string[]>,
): Promise<string[]> => {
  const runWith = async (effect: number): Promise<{ readonly left: string[]; readonly count: number }> => {
    const open = new Map<object, string>();
    const locks = new Set<string>();
    let [count, failed] = [0, ''];
    const enter = (label: string, error: () => Error): void => {
      count += 1;
      if (count !== effect) return;
      failed = label;
      throw error();
    };
    const attempt = async <T>(label: string, error: () => Error, act: () => Promise<T>): Promise<T> => {
      enter(label, error);
      return act();
    };
    const faults = await run((host) => {
      const files = { ...host.files };
      const calls = files as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      for (const name of CHANGES) {
        const original = calls[name] as (...args: unknown[]) => Promise<unknown>;
        calls[name] = (path, ...rest) =>
          attempt(`${name} ${basename(String(path))}`, noSpace, () => original(path, ...rest));
      }
      const { create, remove } = files;
      files.create = async (path, data, mode, passing) => {
        const isCreated = await create(path, data, mode, passing);
        if (isCreated && passing === true) locks.add(path);
        return isCreated;
      };
      files.remove = async (path) => {
        await remove(path);
        locks.delete(path);
      };
      files.append = (path, mode) => {
        const file = host.files.append(path, mode);
        open.set(file, `${basename(path)} is open`);
        return {
          ...file,
          write: (data) => {
            enter(`write ${basename(path)}`, noSpace);
            file.write(data);
          },
          close: () => {
            open.delete(file);
            file.close();
          },
        };
      };
      const request: Host['network']['request'] = (one) =>
        attempt(`${one.method} ${new URL(one.url).pathname}`, lostConnection, () =>
          host.network.request(one),
        );
      return { ...host, files, network: { ...host.network, request } };
    });
    const held = [...locks].map((path) => basename(path)).filter((name) => failed !== `remove ${name}`);
    const left = [...open.values(), ...held.map((name) => `${name} is left`)].map(
      (one) => `${failed} failed: ${one}`,
    );
    return { left: effect === 0 ? [...faults, ...left] : left, count };
  };
  const { left, count } = await runWith(0);
  if (count === 0) left.push('the run had no effect');
  for (let effect = 1; effect <= count; effect += 1) left.push(...(await runWith(effect)).left);
  return left;
};
