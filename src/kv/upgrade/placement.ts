import { after } from '../../core/next.ts';
import { dirname, join } from 'node:path';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError, writeFailureReason } from '../../core/problem.ts';
import { storedObject } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import type { Journal } from '../engine/journal.ts';
import type { ClusterFile, JournalEntry, MemberSpec, Outcome, Placement } from '../engine/model.ts';
import { configBefore } from './configuration/migrate.ts';
import type { Driver, StartedMember, Which } from './supervisors/driver.ts';

/**
 * Records by the version that the member left: a rollback or a restore to that version starts from its
 * record, regardless of the run that wrote it.
 */
type Kept = Readonly<Record<string, Placement>>;
/**
 * Shared by all runs of a cluster: the run that reverts a member may differ from the run that upgraded it.
 */
const recordPath = (runDirectory: string, member: string): string =>
  childPath(join(dirname(runDirectory), 'placements'), pathPart(`${member}.json`));
const readKept = async ({ files }: Pick<Host, 'files'>, path: string): Promise<Kept> => {
  const text = await files.read(path);
  // An unreadable record is never treated as empty and never overwritten: without it, the old version of the
  // member is unknown.
  return text === undefined
    ? {}
    : storedObject<Kept>(path, text, {}, [
        after('check which program the member runs, then move the file away:', ['kv', 'status']),
      ]);
};
type Owner = { readonly host: Host; readonly directory: string; readonly journal: Journal };
const unwritable = (member: string, path: string, cause: unknown): AppError =>
  new AppError(
    'stopped',
    `${member} was not stopped: cannot write the record ${path} of its current program: ${writeFailureReason(cause)}`,
    {
      code: 'PLACEMENT_UNWRITABLE',
      tryThis: [after('free space on its disk, then', ['kv', 'resume'])],
      cause,
    },
  );
/** Written before the stop: afterwards, only the record contains the old start of the member. */
export const recordPlacement = async (
  { host, directory, journal }: Owner,
  placement: Placement,
): Promise<void> => {
  const path = recordPath(directory, placement.member);
  const kept = await readKept(host, path);
  const text = `${JSON.stringify({ ...kept, [placement.previous.minor]: placement }, null, 2)}\n`;
  try {
    await host.files.makeDirectory(dirname(path), 0o700);
    await host.files.replace(path, text, 0o600);
  } catch (error) {
    throw unwritable(placement.member, path, error);
  }
  journal.write({ kind: 'placed', placement });
};
/**
 * The placement of the member on `from`: from the record of this run, otherwise of the last run that moved
 * the member to another version.
 */
export const placementOf = async (
  {
    host,
    directory,
    journal,
  }: Pick<Owner, 'host' | 'directory'> & { readonly journal?: Pick<Journal, 'entries'> },
  member: string,
  from: Minor,
): Promise<Placement | undefined> => {
  const entry = journal?.entries.findLast(
    (one) =>
      one.kind === 'placed' && one.placement.member === member && one.placement.previous.minor === from,
  );
  if (entry?.kind === 'placed') return entry.placement;
  return (await readKept(host, recordPath(directory, member)))[from];
};

/** The parts of a run or a restore that a switch needs. */
export type Switching = {
  readonly host: Host;
  readonly driver: Driver;
  /** Directory of the run. Records and configurations of earlier versions are stored next to it. */
  readonly directory: string;
  readonly journal?: Pick<Journal, 'entries'>;
};
/**
 * Returns the stored configuration of the previous version. A run of an earlier opsctl stored it in the run's
 * directory.
 */
const keptText = async (
  { host, driver, directory }: Switching,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<string | undefined> => {
  const kept = placement?.previous.config;
  return kept === undefined ? configBefore(host, directory, member.name) : driver.readFile(member, kept);
};
export const configOn = async (
  switching: Switching & { readonly plan: { readonly from: Minor } },
  member: MemberSpec,
): Promise<string | undefined> =>
  keptText(switching, member, await placementOf(switching, member.name, switching.plan.from));
const restoreConfig = async (
  switching: Switching,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<void> => {
  const { driver } = switching;
  const path = member.config_file;
  if (path === undefined) return;
  const before = await keptText(switching, member, placement);
  if (before !== undefined && before !== (await driver.readFile(member, path)))
    await driver.writeFile(member, path, before);
};
/**
 * Runs between a stop and a start: selects program, image or unit of that version, restores the old
 * configuration for the old version, then starts it.
 */
export const startVersion = async (
  switching: Switching,
  member: MemberSpec,
  which: Which,
  from: Minor,
): Promise<StartedMember> => {
  const { driver } = switching;
  const placement = await placementOf(switching, member.name, from);
  await driver.activate(member, which, placement);
  if (which === 'old') await restoreConfig(switching, member, placement);
  return driver.start(member, which, placement);
};

/** Returns the last placement of each member, and whether the member was reverted afterwards. */
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
/**
 * Members whose staged version will not be used again: all members of a finished run, otherwise the reverted
 * members. Pure.
 */
export const chooseDiscarded = (entries: readonly JournalEntry[], outcome: Outcome): Placement[] => {
  const isOver = outcome === 'done' || outcome === 'aborted';
  return [...placements(entries).values()].flatMap(({ placement, isBack }) =>
    isOver || isBack ? [placement] : [],
  );
};
/** Files that stay only use disk space, so an unreachable host is not a failure. */
export const discardStaged = async (
  { driver, cluster }: { readonly driver: Driver; readonly cluster: ClusterFile },
  entries: readonly JournalEntry[],
  outcome: Outcome,
): Promise<void> => {
  await Promise.all(
    chooseDiscarded(entries, outcome).map(async (placement) => {
      const member = cluster.members.find(({ name }) => name === placement.member);
      if (member !== undefined) await driver.discard(member, placement).catch(() => {});
    }),
  );
};
