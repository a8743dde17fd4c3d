import { decode, encode } from './deferred.ts';
import type { MockService, ServiceEntry, Environment } from './service.ts';
import type { Collection } from './store.ts';

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
/** What `GET /__opsctl/state` answers and `mock seed FILE` reads. */
export type SavedState = {
  readonly opsctl_state: 1;
  readonly collections: Readonly<Record<string, readonly (readonly [string | number, unknown])[]>>;
};

/** What the mock itself keeps; a reset leaves its clock and faults alone. */
const OWN = new Set(['mock.clock', 'mock.faults', 'mock.snapshots']);
const DIRECTORY = '*';

type Seeded = Collection<SeedKind | 'saved'>;

/** Each service is filled once with the kind of data that the state directory was begun with. */
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
    if (!OWN.has(collection.name)) for (const [key] of [...collection.held()]) collection.delete(key);
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

/** Reads such a text; undefined when it is something else. */
export const savedStateFrom = (text: string): SavedState | undefined => {
  try {
    const value = decode(text) as Partial<SavedState> | null;
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
