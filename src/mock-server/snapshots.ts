import { type SavedState, savedStateFrom } from './service-set.ts';
import type { Store } from './store.ts';

type Snapshot = {
  readonly name: string;
  readonly saved_at: string;
  readonly bytes: number;
  readonly text: string;
};
export type SnapshotRow = Omit<Snapshot, 'text'>;

/** Where the server keeps its own records; a reset or a restore leaves them alone. */
const SNAPSHOT_COLLECTION = 'mock.snapshots';

const row = ({ name, saved_at, bytes }: Snapshot): SnapshotRow => ({ name, saved_at, bytes });

/** States of all services under a name, kept with the state of the server. */
export const makeSnapshots = (store: Store) => {
  const kept = store.collection<Snapshot>(SNAPSHOT_COLLECTION);
  return {
    list: (): SnapshotRow[] => [...kept.values()].map(row),
    /** Replaces a snapshot of the same name. */
    save: (name: string, text: string, nowMs: number): SnapshotRow =>
      store.transact(() => {
        const made: Snapshot = { name, saved_at: new Date(nowMs).toISOString(), bytes: text.length, text };
        kept.put(name, made);
        return row(made);
      }),
    get: (name: string): SavedState | undefined => {
      const found = kept.get(name);
      return found && savedStateFrom(found.text);
    },
    remove: (name: string): boolean => store.transact(() => kept.delete(name)),
  };
};
export type Snapshots = ReturnType<typeof makeSnapshots>;
