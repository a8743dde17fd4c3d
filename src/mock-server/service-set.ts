import { createHash } from 'node:crypto';
import { type AppError, type Problem, problem, usageError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { type Collection, decode, encode, type Store } from './store.ts';

export type SeedKind = 'demo' | 'empty';
export type ServiceSet = {
  /** The service of a path; a promise when it has to be loaded first. */
  find(path: string): MockService | Promise<MockService> | undefined;
  nameOf(path: string): string | undefined;
  loadAll(): Promise<readonly MockService[]>;
  /** Empties the whole state and fills it again, in one transaction. */
  reset(kind: SeedKind): Promise<void>;
  /** Replaces the state by a saved one. */
  restore(saved: SavedState): void;
};
/** The response to `GET /__opsctl/state` and the input of `mock seed FILE`. */
export type SavedState = {
  readonly opsctl_state: 1;
  readonly collections: Readonly<Record<string, readonly (readonly [string | number, unknown])[]>>;
};
/** What the mock itself keeps; a reset leaves its clock and faults alone. */
const OWN = new Set(['mock.clock', 'mock.faults', 'mock.snapshots']);
const DIRECTORY = '*';
type Seeded = Collection<SeedKind | 'saved'>;
/**
 * Each service is filled once, with the kind of data that was chosen when the state directory was created.
 */
const filler =
  ({ store }: Environment, seeded: Seeded, kind: SeedKind) =>
  (service: MockService): void => {
    if (seeded.has(service.name)) return;
    store.transact(() => {
      const begun = seeded.get(DIRECTORY) ?? kind;
      if (!seeded.has(DIRECTORY)) seeded.put(DIRECTORY, begun);
      seeded.put(service.name, begun);
      if (begun !== 'saved') service.seed(begun);
    });
  };
/** Each service is loaded at its first request, so one small request does not pay for what it does not touch. */
const loader = (env: Environment, fill: (service: MockService) => void) => {
  const loaded = new Map<string, MockService>();
  const loading = new Map<string, Promise<MockService>>();
  const loadOne = async (entry: ServiceEntry): Promise<MockService> => {
    const service = (await entry.load())(env);
    fill(service);
    loaded.set(entry.name, service);
    return service;
  };
  return (entry: ServiceEntry): MockService | Promise<MockService> => {
    const found = loaded.get(entry.name) ?? loading.get(entry.name);
    if (found !== undefined) return found;
    const promise = loadOne(entry).finally(() => loading.delete(entry.name));
    loading.set(entry.name, promise);
    return promise;
  };
};
const empty = ({ store }: Environment): void => {
  for (const collection of store.collections()) {
    if (!OWN.has(collection.name)) for (const [key] of [...collection.heldRecords()]) collection.delete(key);
  }
};
/** The services of one server. */
export const makeServiceSet = (
  entries: readonly ServiceEntry[],
  env: Environment,
  kind: SeedKind,
): ServiceSet => {
  const { store } = env;
  const seeded: Seeded = store.collection('mock.seeded');
  const fill = filler(env, seeded, kind);
  const get = loader(env, fill);
  return {
    find: (path) => {
      const entry = entries.find((one) => one.claims(path));
      return entry && get(entry);
    },
    nameOf: (path) => entries.find((one) => one.claims(path))?.name,
    loadAll: () => Promise.all(entries.map(get)),
    reset: async (to) => {
      const services = await Promise.all(entries.map(get));
      store.transact(() => {
        empty(env);
        seeded.put(DIRECTORY, to);
        for (const service of services) fill(service);
      });
    },
    restore: (saved) =>
      store.transact(() => {
        empty(env);
        for (const [name, records] of Object.entries(saved.collections)) {
          if (OWN.has(name)) continue;
          for (const [key, value] of records) store.collection(name).put(key, value);
        }
        seeded.put(DIRECTORY, 'saved');
      }),
  };
};
/** The whole state as the text of a `SavedState`; bytes get the form that the journal gives them. */
export const savedStateText = (env: Environment): string => {
  const kept = [...env.store.collections()].filter(({ name, size }) => !OWN.has(name) && size > 0);
  const texts = kept.map((collection) => {
    const records = [...collection.entries()].map(
      ([key, value]) => `[${JSON.stringify(key)},${encode(value)}]`,
    );
    return `${JSON.stringify(collection.name)}:[${records.join(',\n')}]`;
  });
  return `{"opsctl_state":1,"collections":{\n${texts.join(',\n')}\n}}\n`;
};
/** Parses such a text; undefined for other text. `parsed` is its JSON value if it is known: a large state is parsed once. */
export const savedStateFrom = (text: string, parsed?: unknown): SavedState | undefined => {
  try {
    const value = decode(text, parsed) as Partial<SavedState> | null;
    const collections = value?.opsctl_state === 1 ? value.collections : undefined;
    const isWhole =
      typeof collections === 'object' && collections !== null && Object.values(collections).every(isRecords);
    return isWhole ? (value as SavedState) : undefined;
  } catch {
    return undefined;
  }
};
const isRecords = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (pair) => Array.isArray(pair) && pair.length === 2 && ['string', 'number'].includes(typeof pair[0]),
  );

/** A request after the server has read it. Header names are in lower case. */
export type MockRequest = {
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  /** Without `?`; still encoded. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly remoteAddress: string;
  readonly isTls: boolean;
};
export type MockReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
};
/** Choices made when the server starts; every one is a flag of `mock serve`. */
export type MockOptions = {
  /** Requests a minute of the tracker; undefined is off. */
  readonly ratePerMinute: number | undefined;
  readonly labelsAuth: 'any' | 'oauth';
  readonly stateIn: 'both' | 'fragment' | 'query';
  readonly labelDeletePolicy: 'any' | 'disabled-first';
  /** Requests a minute of one user of the label service; undefined is off. */
  readonly labelsQuota?: { readonly reads: number; readonly writes: number };
  /** Labels that one organization may have; undefined is any number. */
  readonly labelsAtMost?: number;
  readonly trackerToken: string;
  /**
   * Whether a 429 contains the time of the next attempt. No rate headers are documented, so this is off by
   * default.
   */
  readonly rateRetryAfter?: boolean;
  /**
   * Whether responses contain the limit in a header. No such header is documented, so this is off by default.
   */
  readonly rateHeaders?: boolean;
  /**
   * Whether each token has a separate workspace. Workspaces are created by their first request and never
   * saved.
   */
  readonly workspacePerToken?: boolean;
  /**
   * Whether the server rejects what the documents do not allow and the default mode accepts: other content types, times
   * without a zone (spec/tracker#choices-20), a revocation that is not a form (spec/sign-in#choices-7).
   */
  readonly isStrict?: boolean;
  /** Additional host names of the server; `*` allows any. */
  readonly allowHosts?: readonly string[];
};
/** What every service of the mock shares. */
export type Environment = {
  readonly host: Host;
  readonly store: Store;
  readonly options: MockOptions;
  /** The settable clock: milliseconds since 1970. */
  now(): number;
  /** Random bytes; repeatable when the server was started with a seed. */
  random(bytes: number): Uint8Array;
  uuid(): string;
  /** `http://127.0.0.1:PORT`, known once the server listens. */
  origin(): string;
  /** Work after the response (deliveries of events). The server waits for it when it stops. */
  later(work: () => Promise<void>): void;
  /** Aborted when the server stops: background work does not retry after that. */
  readonly stopping?: AbortSignal;
};
export type MockService = {
  readonly name: string;
  /** Determines whether a path belongs to this service. The first matching service gets the request. */
  owns(path: string): boolean;
  handle(request: MockRequest): MockReply | Promise<MockReply>;
  /** Fills an empty store. */
  seed(kind: 'demo' | 'empty'): void;
  /** What the control interface asks of this service alone; undefined for a path that it does not know. */
  control?(path: string, input: unknown): ControlAnswer | undefined;
};
/** The response of a service to the control interface: the value, or the reason for its absence. */
export type ControlAnswer =
  | { readonly value: unknown }
  | { readonly status: 400 | 404; readonly message: string; readonly problems?: readonly Problem[] };
/** A service that is loaded when the first request for it comes. */
export type ServiceEntry = {
  readonly name: string;
  /** Checked without loading the service; the first matching entry gets the path. */
  claims(path: string): boolean;
  load(): Promise<(env: Environment) => MockService>;
};

/**
 * Entries that the server records while it works. They are formatted (and masked) only on demand, so that
 * recording is cheap. The last ten thousand entries leave the young generation, so each is one object with
 * inline numbers: a property that is added later, a text or a fraction would be an additional object to move
 * and to mark.
 */
export type LogEntry = {
  /** Of its request, from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The block that has the body, from `bodyAt` on; undefined for a body that is not kept. */
  bodyIn: Uint8Array | undefined;
  bodyAt: number;
  bodyBytes: number | undefined;
  service: string | undefined;
  fault: number | undefined;
  status: number | undefined;
  /** Whether the response has the header `Deprecation`. */
  isDeprecated?: boolean;
  /** Microseconds, whole. */
  tookUs: number | undefined;
};

/** Headers of every page and redirect. RFC 6749 10.13 and RFC 9700: no framing, no caching, no referrer. */
export const pageHeaders = (styleHash: string, formAction = "'none'"): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${styleHash}; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
});

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

type RandomBytes = (bytes: number) => Uint8Array;
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

type MadeEnvironment = {
  readonly env: Environment;
  readonly clock: Clock;
  listensAt(origin: string): void;
  /** Informs background work that the server stops. Resolves when all of it has finished. */
  settle(): Promise<void>;
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
    settle: async () => {
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
export const makeNoSeedError = (path: string, name: string): AppError =>
  usageError(
    `seed not found: ${path}`,
    [problem(name, 'rule', 'must be demo, empty or a file that exists')],
    ['opsctl mock state > FILE writes a seed file'],
  );
