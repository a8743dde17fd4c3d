import { AppError } from '../../core/problem.ts';
import type { Store } from './etcd-client.ts';

export const isCompacted = (error: unknown): boolean =>
  error instanceof AppError && /required revision has been compacted/.test(error.message);
/**
 * The oldest revision that can still be read: where the last compaction was, or 1. No call tells it, but a read at a compacted
 * revision is refused: halving what is left finds it in some twenty reads of one key that need not exist.
 */
export const oldestRevision = async (store: Pick<Store, 'range'>, newest: number): Promise<number> => {
  const isReadable = (revision: number): Promise<boolean> =>
    store.range('opsctl/none', { revision, isSerializable: true, keysOnly: true, limit: 1 }).then(
      () => true,
      (error: unknown) => {
        if (isCompacted(error)) return false;
        throw error;
      },
    );
  if (await isReadable(1)) return 1;
  let [compacted, readable] = [1, newest];
  while (readable - compacted > 1) {
    const middle = Math.floor((compacted + readable) / 2);
    if (await isReadable(middle)) readable = middle;
    else compacted = middle;
  }
  return readable;
};

/** What can be read now, in revisions. */
export const newestAndOldest = async (
  store: Store,
): Promise<{ readonly oldest: number; readonly newest: number }> => {
  const { revision } = await store.range('opsctl/none');
  return { newest: revision, oldest: await oldestRevision(store, revision) };
};
