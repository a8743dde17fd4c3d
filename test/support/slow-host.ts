/**
 * A host whose effects need longer than the tasks that follow a missing `await`, and whose files need their directory, as
 * on a real disk. After a command has ended, `pending` lists the effects that are still in progress.
 */
import { basename, dirname } from 'node:path';
import type { Host } from '../../src/platform/host.ts';

const CHANGES = [
  ...(['replace', 'replaceStream', 'create', 'truncate', 'makeDirectory'] as const),
  ...(['setMode', 'rename', 'copy', 'remove'] as const),
] as const;
const NEEDS_DIRECTORY = new Set<string>(['replace', 'replaceStream', 'create']);
const noDirectory = (path: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
/** Lets all other tasks run first. */
export const pause = async (turns = 5): Promise<void> => {
  for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
};
/** More turns than the rest of a command needs. */
const LONG = 400;

/** Slows every effect, or only the effect with this number (from 1), which then takes longer than the rest of a command. */
export const slowHost = (
  host: Host,
  effect?: number,
): { readonly host: Host; pending(): string[]; count(): number } => {
  const running = new Set<{ readonly label: string }>();
  let count = 0;
  const slow = async <T>(label: string, act: () => Promise<T>): Promise<T> => {
    const one = { label };
    running.add(one);
    count += 1;
    const isLong = effect === count;
    try {
      await pause(effect === undefined ? undefined : isLong ? LONG : 0);
      return await act();
    } finally {
      running.delete(one);
    }
  };
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
  return {
    host: { ...host, files, network: { ...host.network, request } },
    pending: () => [...running].map(({ label }) => label),
    count: () => count,
  };
};

/**
 * Runs an engine once with each of its effects slow, on a new world each time. `run` receives the change of the host, and
 * returns what is wrong at its end. Returns all faults and the effects that the end of the run cut off.
 */
export const brokenIfSlow = async (
  run: (slow: (host: Host) => Host) => Promise<readonly string[]>,
): Promise<string[]> => {
  const runWith = async (effect: number) => {
    let made: ReturnType<typeof slowHost> | undefined;
    const faults = await run((host) => {
      made = slowHost(host, effect);
      return made.host;
    });
    const left = (made?.pending() ?? []).map((label) => `${label} was cut off`);
    return {
      broken: [...faults, ...left].map((one) => `effect ${effect}: ${one}`),
      count: made?.count() ?? 0,
    };
  };
  const { broken, count } = await runWith(0);
  for (let effect = 1; effect <= count; effect += 1) broken.push(...(await runWith(effect)).broken);
  return broken;
};
