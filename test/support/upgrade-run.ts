/** A run on a fake machine, for the single steps. Tests set the responses of its network and read its journal and its events. */
import { accessWith } from '../../src/kv/engine/access.ts';
import type { Driver } from '../../src/kv/upgrade/supervisors/driver.ts';
import { type Run, RunState } from '../../src/kv/upgrade/run.ts';
import type { JournalEntry, Unstamped } from '../../src/kv/engine/model.ts';
import type { FakeHost } from './fake-host.ts';
import { clusterFile, planned } from './observations.ts';

export type FakeRun = Run & { readonly written: JournalEntry[]; readonly told: Unstamped[] };

export const runOn = (host: FakeHost, patch: Partial<Run> = {}, driver: Partial<Driver> = {}): FakeRun => {
  const [written, told] = [[] as JournalEntry[], [] as Unstamped[]];
  const put = (entry: object): void => void written.push({ at: '', ...entry } as JournalEntry);
  return {
    ...{
      id: 'run',
      directory: '/state/run',
      host,
      cluster: clusterFile(),
      plan: planned(),
      access: accessWith(host, undefined, undefined),
    },
    ...{
      driver: { logTail: async () => [], ...driver } as Driver,
      canKill: false,
      holdLock: async () => {},
      shareProgress: async () => {},
      signal: new AbortController().signal,
      members: {
        add: () => {},
        remove: () => {},
        isWatched: () => true,
        goodSince: () => 0,
        restartsOf: () => 0,
        signal: () => new AbortController().signal,
        finish: async () => {},
      },
      isResume: false,
      state: new RunState(),
    },
    journal: {
      path: '/state/run/journal.jsonl',
      entries: written,
      write: put,
      tell: put,
      failure: () => undefined,
      close: () => {},
    },
    emit: (event) => void told.push(event),
    ...patch,
    ...{ written, told },
  };
};
