import { hexId } from '../../client/hex-id.ts';
import type { ListedMember, Store } from '../../client/etcd-client.ts';
import { bad, good, skipped } from './gate-verdict.ts';
import type { Check, Verdict } from './gate-verdict.ts';

/** Later patches of 3.4 and 3.5, and every 3.6: it says more than /health, which is true on a member that cannot vote. */
export const isReady: Check = async ({ store }) => {
  const { status, text } = await store.connection.get('/readyz');
  if (status === 404) return skipped('this version has no /readyz');
  return status === 200
    ? good('/readyz says ok')
    : bad(`/readyz answers ${status}: ${text.trim().slice(0, 200)}`);
};

const listed = (store: Store): Promise<ListedMember[] | undefined> => store.members().catch(() => undefined);
const inWords = ({ id, is_learner }: ListedMember): string => `${hexId(id)}${is_learner ? ' (learner)' : ''}`;
const sorted = (rows: readonly ListedMember[]): string[] => rows.map(inWords).toSorted();

/**
 * The version before kept the truth about members in its old data, the new one in its new data; the two may disagree after faults that were
 * mended long ago. So the first member of the new version must list exactly the members that the others list, learners too.
 */
export const membershipIsKept: Check = async ({ run, store, others }) => {
  const own = await store.members();
  for (const { name, store: other } of others) {
    const theirs = await listed(other);
    if (theirs !== undefined) return sameAs(name, own, theirs);
  }
  const before = run.plan.observation.listed;
  return others.length === 0 && before.length > 0
    ? sameAs('it did before', own, before)
    : skipped('no other member could be asked for its list');
};
const sameAs = (whom: string, own: readonly ListedMember[], theirs: readonly ListedMember[]): Verdict => {
  const [here, there] = [sorted(own), sorted(theirs)];
  return here.join() === there.join()
    ? good(`lists the same ${own.length} members as ${whom}`)
    : bad(`lists ${here.join(', ')}, not the same as ${whom}: ${there.join(', ')}`);
};
