import { createHash } from 'node:crypto';
import { problem, usageError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import type { Environment, MockOptions } from './service-set.ts';
import type { Store } from './store.ts';

/** How the mock's time differs from the machine's; kept with the state, so that a restart does not travel back. */
type Setting = { readonly offsetMs: number; readonly frozenAtMs?: number };
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** From now on it is this time; with `frozen` it stays so. */
  set(ms: number, frozen?: boolean): void;
  advance(ms: number): void;
  /** Back to the machine's time. */
  clear(): void;
  state(): { readonly time: string; readonly offset_ms: number; readonly frozen: boolean };
};
export const makeClock = (store: Store, machineNow: () => number): Clock => {
  const settings = store.collection<Setting>('mock.clock');
  const put = (setting: Setting) => store.transact(() => settings.put('clock', setting));
  const now = (): number => {
    const setting = settings.get('clock');
    return setting === undefined ? machineNow() : (setting.frozenAtMs ?? machineNow() + setting.offsetMs);
  };
  const set = (ms: number, frozen = false) =>
    put({ offsetMs: ms - machineNow(), ...(frozen ? { frozenAtMs: ms } : {}) });
  return {
    now,
    set,
    advance: (ms) => set(now() + ms, settings.get('clock')?.frozenAtMs !== undefined),
    clear: () => void store.transact(() => settings.delete('clock')),
    state: () => ({
      time: new Date(now()).toISOString(),
      offset_ms: Math.round(now() - machineNow()),
      frozen: settings.get('clock')?.frozenAtMs !== undefined,
    }),
  };
};

export type RandomBytes = (bytes: number) => Uint8Array;
const POOL_BYTES = 4096;
/** Asks the machine for a page at a time: an identifier a request would otherwise be a system call a request. */
const poolBytes = (source: RandomBytes): RandomBytes => {
  let pool = new Uint8Array(0);
  let at = 0;
  return (bytes) => {
    if (bytes > POOL_BYTES) return source(bytes);
    if (at + bytes > pool.length) {
      pool = new Uint8Array(source(POOL_BYTES));
      at = 0;
    }
    at += bytes;
    return pool.slice(at - bytes, at);
  };
};
/** The same bytes for the same seed. The start's number is part of it, so that a restart on kept state repeats no identifier. */
const seedBytes = (seed: string, store: Store): RandomBytes => {
  const start = store.transact(() => store.next('mock.seeded-starts'));
  let block = 0;
  return poolBytes((bytes) => {
    const blocks: number[] = [];
    while (blocks.length < bytes) {
      blocks.push(...createHash('sha256').update(`${seed}/${start}/${block}`).digest());
      block += 1;
    }
    return Uint8Array.from(blocks.slice(0, bytes));
  });
};
export const randomFor = (source: RandomBytes, seed: string | undefined, store: Store): RandomBytes =>
  seed === undefined ? poolBytes(source) : seedBytes(seed, store);
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Version 4 of RFC 9562. */
export const uuidFrom = (random: RandomBytes): string => {
  const bytes = random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  let text = '';
  for (let i = 0; i < 16; i++)
    text += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + hex[bytes[i] ?? 0];
  return text;
};

export type MadeEnvironment = {
  readonly env: Environment;
  readonly clock: Clock;
  listensAt(origin: string): void;
  /** Informs background work that the server stops. Resolves when all of it has finished. */
  settled(): Promise<void>;
};
export const makeEnvironment = (
  host: Host,
  store: Store,
  options: MockOptions,
  idSeed: string | undefined,
): MadeEnvironment => {
  const clock = makeClock(store, host.now);
  const random = randomFor((bytes) => host.random(bytes), idSeed, store);
  const stop = new AbortController();
  const work = new Set<Promise<void>>();
  let origin = '';
  const env: Environment = {
    host,
    store,
    options,
    now: clock.now,
    random,
    uuid: () => uuidFrom(random),
    origin: () => origin,
    stopping: stop.signal,
    later: (start) => {
      // A delivery that fails is the receiver's affair; the one who starts it keeps account of it.
      const running = start()
        .catch(() => {})
        .finally(() => work.delete(running));
      work.add(running);
    },
  };
  return {
    env,
    clock,
    listensAt: (url) => {
      origin = url;
    },
    settled: async () => {
      stop.abort();
      while (work.size > 0) await Promise.all(work);
    },
  };
};

/**
 * The defaults of a server without flags (spec/program#mock-server). The tokens give access only to the mock
 * server of this machine.
 */
export const defaultOptions: MockOptions = {
  ratePerMinute: 200,
  labelsAuth: 'any',
  stateIn: 'both',
  labelDeletePolicy: 'any',
  trackerToken: 'mock-tracker-token',
};
export const labelsToken = 'mock-labels-token';

export type Seed = { readonly kind: 'demo' | 'empty' } | { readonly kind: 'file'; readonly path: string };
export const seedOf = (text: string | undefined): Seed =>
  text === undefined || text === 'demo' || text === 'empty'
    ? { kind: text ?? 'demo' }
    : { kind: 'file', path: text };
/** The text of a seed file, or a usage error that names the flag or argument. */
export const seedText = (found: string | undefined, path: string, name: string): string => {
  if (found !== undefined) return found;
  throw usageError(
    'there is no such seed',
    [problem(name, 'rule', `must be demo, empty or a file; the file ${path} does not exist`)],
    ['opsctl mock state > FILE writes one'],
  );
};
