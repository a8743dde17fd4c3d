import { bool, int, list, map, maybe, num, obj, oneOf, record, str, type Value } from '../core/field.ts';
import type { Outgoing } from '../platform/host.ts';
import { failureBody, JSON_TYPE } from './body.ts';
import type { Collection, Store } from './store.ts';
import type { Environment } from './service-set.ts';

/** A path with wildcards: `*` matches text without a slash, `**` any text. */
export const pathPattern = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '.*' : '[^/]*'))}$`,
  );

/** What can go wrong on purpose. `path` is a pattern: `*` is one segment's text, `**` anything. */
export const faultInput = obj({
  method: str(10, { min: 1, summary: 'Only requests with this method' }),
  path: str(500, {
    min: 1,
    summary: 'Only paths like this; * stands for text without a slash, ** for any text',
  }),
  status: int({ min: 200, max: 599, summary: 'Respond with this status' }),
  body: str(100_000, { summary: 'Respond with this body' }),
  headers: map(str(1000)),
  content_type: str(200, { summary: 'Respond with this content type' }),
  delay_ms: int({ min: 0, max: 600_000, summary: 'wait this long first' }),
  cut: bool({ summary: 'Close the connection instead of sending a response' }),
  when: {
    ...oneOf('before', 'after'),
    summary:
      'before: the request is not processed; after: it is processed, and the response is lost or replaced',
  },
  count: int({ min: 1, max: 1_000_000, summary: 'Number of requests that the fault affects (default: all)' }),
  skip: int({ min: 0, max: 1_000_000, summary: 'Number of matching requests that pass first' }),
  percent: num({
    min: 0,
    max: 100,
    summary: 'Percentage of the matching requests that the fault affects (default 100)',
  }),
  delay_max_ms: int({ min: 0, max: 600_000, summary: 'wait a random time between the delay and this' }),
  bytes_per_second: int({
    min: 1,
    max: 1_000_000_000,
    summary: 'Send the body of the response at this rate',
  }),
});
const faultRecord = record('Fault', {
  id: int(),
  hits: int(),
  passed: maybe(int()),
  method: maybe(str()),
  path: maybe(str()),
  status: maybe(int()),
  body: maybe(str()),
  headers: maybe(map(str())),
  content_type: maybe(str()),
  delay_ms: maybe(int()),
  cut: maybe(bool()),
  when: maybe(oneOf('before', 'after')),
  count: maybe(int()),
  skip: maybe(int()),
  percent: maybe(num()),
  delay_max_ms: maybe(int()),
  bytes_per_second: maybe(int()),
});
export const faultProfile = list(faultInput);
type FaultInput = Value<typeof faultInput>;
export type Fault = Value<typeof faultRecord>;
/** A number from 0 to 1, repeatable when the server was started with a seed. */
type Chance = () => number;
export const chanceFrom =
  (random: (bytes: number) => Uint8Array): Chance =>
  () =>
    new DataView(random(4).slice().buffer).getUint32(0) / 2 ** 32;
/** Whether a fault whose method and path match strikes this time: after those it lets pass, and by its percentage. */
const strikes = ({ skip = 0, percent = 100, passed = 0 }: Fault, chance: Chance): boolean =>
  passed >= skip && (percent >= 100 || chance() * 100 < percent);
/** Determines whether a fault applies to a request. Patterns are compiled once. */
const matcher = () => {
  const patterns = new Map<string, RegExp>();
  return (fault: Fault, method: string, path: string): boolean => {
    if (fault.method !== undefined && fault.method.toUpperCase() !== method) return false;
    if (fault.path === undefined) return true;
    const pattern = patterns.get(fault.path) ?? pathPattern(fault.path);
    patterns.set(fault.path, pattern);
    return pattern.test(path);
  };
};
/** One more request met the fault; it is gone when its count is used up. */
const countHit = (store: Store, faults: Collection<Fault>, fault: Fault): void => {
  const hits = fault.hits + 1;
  store.transact(() =>
    hits === fault.count ? faults.delete(fault.id) : faults.put(fault.id, { ...fault, hits }),
  );
};
/** Kept with the state: a fault that is set while no server runs meets the next command. */
export const makeFaults = (store: Store, chance: Chance) => {
  const faults = store.collection<Fault>('mock.faults');
  const matches = matcher();
  const insert = (input: FaultInput): Fault => {
    const fault: Fault = { ...input, id: store.next('mock.faults'), hits: 0 };
    faults.put(fault.id, fault);
    return fault;
  };
  return {
    list: (): Fault[] => [...faults.values()],
    add: (input: FaultInput): Fault => store.transact(() => insert(input)),
    /** Replaces all faults with the lines of a profile, in order. */
    replace: (inputs: readonly FaultInput[]): Fault[] =>
      store.transact(() => {
        for (const fault of faults.values()) faults.delete(fault.id);
        for (const input of inputs) insert(input);
        return [...faults.values()];
      }),
    remove: (id: number): boolean => store.transact(() => faults.delete(id)),
    clear: (): void =>
      store.transact(() => {
        for (const fault of faults.values()) faults.delete(fault.id);
      }),
    /** The first fault that this request meets; counted, and gone when its count is used up. */
    meet: (method: string, path: string): Fault | undefined => {
      if (faults.size === 0) return undefined;
      const fault = faults.find((one) => {
        if (!matches(one, method, path)) return false;
        if (strikes(one, chance)) return true;
        store.transact(() => faults.put(one.id, { ...one, passed: (one.passed ?? 0) + 1 }));
        return false;
      });
      if (fault === undefined) return undefined;
      countHit(store, faults, fault);
      return fault;
    },
  };
};
/** The wait of one request under a fault: the delay, or a random time between it and its maximum. */
export const faultDelayMs = ({ delay_ms: least = 0, delay_max_ms: most }: Fault, chance: Chance): number =>
  most === undefined || most <= least ? least : least + Math.round(chance() * (most - least));
export type Faults = ReturnType<typeof makeFaults>;
/**
 * True if the fault replaces the response. With a mere delay or another content type, the service responds.
 */
export const answersAlone = (fault: Fault): boolean =>
  fault.when !== 'after' &&
  (fault.status !== undefined ||
    fault.cut === true ||
    (fault.body !== undefined && fault.content_type === undefined));
/**
 * Returns the response under a fault; `made` is the response of the service, absent if the service did not
 * process the request.
 */
export const faultyAnswer = (fault: Fault, made: Outgoing | undefined, path: string): Outgoing => {
  if (fault.cut) return { status: made?.status ?? 200, headers: made?.headers, body: made?.body, cut: true };
  const status = fault.status ?? made?.status ?? 200;
  const body =
    fault.body ??
    (made && fault.status === undefined
      ? made.body
      : failureBody(path, status, `injected fault ${fault.id}: status ${status}`));
  const type = fault.content_type ?? (made && fault.status === undefined ? undefined : JSON_TYPE);
  return {
    status,
    headers: { ...made?.headers, ...(type === undefined ? {} : { 'content-type': type }), ...fault.headers },
    body,
  };
};

const WINDOW_MS = 60_000;
const FORGET_AT = 1000;

type Rate = {
  /** Counts a request of this token, or returns the milliseconds until the next request is allowed. */
  take(token: string): { readonly waitMs: number } | undefined;
};

type Window = { readonly times: Float64Array; next: number; filled: number };

/**
 * spec/tracker#limits-1: at most `perMinute` requests of one token in any 60 seconds; those over it are not processed and not
 * counted. Keeps the times of the last `perMinute` requests, so the window slides exactly.
 */
export const makeRate = (perMinute: number, now: () => number): Rate => {
  const windows = new Map<string, Window>();
  const isIdle = (window: Window, at: number): boolean => at - newest(window) >= WINDOW_MS;
  const newest = ({ times, next }: Window): number => times[(next + times.length - 1) % times.length] ?? 0;
  const windowOf = (token: string, at: number): Window => {
    const found = windows.get(token);
    // A clock that was set back would keep a token out until it catches up.
    if (found !== undefined && (found.filled === 0 || newest(found) <= at)) return found;
    if (windows.size >= FORGET_AT)
      for (const [key, window] of windows) if (isIdle(window, at)) windows.delete(key);
    const made: Window = { times: new Float64Array(perMinute), next: 0, filled: 0 };
    windows.set(token, made);
    return made;
  };
  return {
    take: (token) => {
      const at = now();
      const window = windowOf(token, at);
      const oldest = window.times[window.next] ?? 0;
      if (window.filled === perMinute && at - oldest < WINDOW_MS)
        return { waitMs: WINDOW_MS - (at - oldest) };
      window.times[window.next] = at;
      window.next = (window.next + 1) % perMinute;
      window.filled = Math.min(window.filled + 1, perMinute);
      return undefined;
    },
  };
};

/**
 * The clock of the rate limit: it follows the machine even if the mock clock is frozen, and jumps when the
 * mock clock is set forward.
 */
export const rateClock = ({ host, now }: Environment): (() => number) => {
  let ahead = Number.NEGATIVE_INFINITY;
  return () => {
    ahead = Math.max(ahead, now() - host.now());
    return host.elapsed() + ahead;
  };
};
