import type { Driver } from './supervisors/driver.ts';
import type { ClusterFile, JournalEntry, Outcome, Placement } from '../engine/types.ts';

/** The last placement of each member, and whether the member was reverted after it. */
const placements = (
  entries: readonly JournalEntry[],
): Map<string, { placement: Placement; isBack: boolean }> => {
  const found = new Map<string, { placement: Placement; isBack: boolean }>();
  for (const entry of entries) {
    if (entry.kind === 'placed')
      found.set(entry.placement.member, { placement: entry.placement, isBack: false });
    const known = entry.kind === 'reverted' ? found.get(entry.member) : undefined;
    if (known !== undefined) found.set(known.placement.member, { ...known, isBack: true });
  }
  return found;
};

/** Members whose staged version nobody will start any more: all of a run that is over, else those that were reverted. Pure. */
export const discarded = (entries: readonly JournalEntry[], outcome: Outcome): Placement[] => {
  const isOver = outcome === 'done' || outcome === 'aborted';
  return [...placements(entries).values()].flatMap(({ placement, isBack }) =>
    isOver || isBack ? [placement] : [],
  );
};

/** What is left behind costs room and nothing else: a host that cannot be reached is no reason to fail. */
export const discardStaged = async (
  { driver, cluster }: { readonly driver: Driver; readonly cluster: ClusterFile },
  entries: readonly JournalEntry[],
  outcome: Outcome,
): Promise<void> => {
  await Promise.all(
    discarded(entries, outcome).map(async (placement) => {
      const member = cluster.members.find(({ name }) => name === placement.member);
      if (member !== undefined) await driver.discard(member, placement).catch(() => {});
    }),
  );
};
