import { oldestRevision } from './compacted-revision.ts';
import type { Store } from './etcd-client.ts';

/** What can be read now, in revisions. */
export const newestAndOldest = async (
  store: Store,
): Promise<{ readonly oldest: number; readonly newest: number }> => {
  const { revision } = await store.range('opsctl/none');
  return { newest: revision, oldest: await oldestRevision(store, revision) };
};
