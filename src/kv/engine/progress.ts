import { childPath, pathPart } from '../../core/file-name.ts';
import { next } from '../../core/next.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError, firstReason, messageOf } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type Store, firstAnswer } from '../client/etcd-client.ts';
import {
  type FoundRun,
  findRuns,
  isRunId,
  runDirectory,
  asEntry,
  heldRunError,
  unfinishedError,
} from './journal.ts';
import type {
  ClusterFile,
  HostFacts,
  JournalEntry,
  JournalStepId,
  MemberStatus,
  Owner,
  Plan,
  PlanOptions,
} from './model.ts';
import { memberOfStep, stepId } from './steps.ts';
import { join } from 'node:path';

/** The data that another machine needs to resume a run: its journal without explanatory entries. */
type SharedProgress = {
  readonly format: 1;
  readonly cluster: string;
  readonly run: string;
  readonly written_at: string;
  readonly entries: readonly JournalEntry[];
};

/** The progress key has the same prefix as the lock key. */
const progressKey = 'opsctl/upgrade-progress';
const fileIn = (directory: string, { name }: ClusterFile): string =>
  childPath(directory, pathPart(`${name}.upgrade-progress.json`));
/** A journal of hundreds of steps has tens of kilobytes. The store accepts values up to 1.5 MiB. */
const mostBytes = 512 * 1024;

/** The facts of a host that a resumed run reads from its plan. */
const planFacts = ['v2_bytes', 'new_binary_version'] as const satisfies readonly (keyof HostFacts)[];
const memberOf = ({ host, listed_ids: _, ...member }: MemberStatus): MemberStatus => {
  const kept = planFacts.flatMap((key) => (host?.[key] === undefined ? [] : [[key, host[key]] as const]));
  return kept.length === 0 ? member : { ...member, host: Object.fromEntries(kept) };
};
/**
 * Removes commands and configurations, which may contain secrets. A resume creates them again from the
 * cluster file.
 */
const planOf = (plan: Plan): Plan => ({
  ...plan,
  findings: [],
  steps: plan.steps.map(({ replaces: _, ...step }) => ({ ...step, commands: [] })),
  observation: { ...plan.observation, members: plan.observation.members.map(memberOf) },
});
const entryOf = (entry: JournalEntry): JournalEntry =>
  entry.kind === 'opened' ? { ...entry, plan: planOf(entry.plan) } : entry;

/** Serializes the progress. Pure. */
const sharedText = (cluster: string, run: string, at: string, entries: readonly JournalEntry[]): string =>
  JSON.stringify({
    format: 1,
    cluster,
    run,
    written_at: at,
    entries: entries.map(entryOf),
  } satisfies SharedProgress);

/** Returns undefined if the text is not progress of this format and cluster. Pure. */
const sharedFrom = (text: string | undefined, cluster: string): SharedProgress | undefined => {
  try {
    const found = JSON.parse(text ?? '') as SharedProgress;
    const isOurs = found.format === 1 && found.cluster === cluster && isRunId(found.run);
    return isOurs && Array.isArray(found.entries)
      ? { ...found, entries: found.entries.map(asEntry) }
      : undefined;
  } catch {
    return undefined;
  }
};

export type Sharing = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly stores: readonly Store[];
  readonly run: string;
  readonly entries: readonly JournalEntry[];
};
export type Shared = {
  /** Schedules a write after a journal line and does not wait for it. */
  touch(): void;
  /** Writes before a member stops, because another machine that takes over must know about the stop. */
  flush(): Promise<void>;
  /** Removes the progress of a finished run, or keeps it for the machine that resumes the run. */
  end(isOver: boolean): Promise<void>;
};

const writeFile = async ({ host, cluster }: Sharing, text: string): Promise<void> => {
  const directory = cluster.snapshot_dir;
  if (directory === undefined) return;
  await host.files
    .makeDirectory(directory, 0o700)
    .then(() => host.files.replace(fileIn(directory, cluster), `${text}\n`, 0o600))
    .catch(() => {});
};

const removeFile = ({ host, cluster }: Pick<Sharing, 'host' | 'cluster'>): Promise<void> =>
  cluster.snapshot_dir === undefined
    ? Promise.resolve()
    : host.files.remove(fileIn(cluster.snapshot_dir, cluster)).catch(() => {});

/**
 * Shares the progress of a run with other machines. An error never stops the run, because the local journal
 * is authoritative. The shared copy is for the loss of this machine.
 */
export const shareProgress = (sharing: Sharing): Shared => {
  const { host, cluster, stores, run, entries } = sharing;
  let [written, isOver] = [0, false];
  let writing: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    const count = entries.length;
    const text = sharedText(cluster.name, run, new Date(host.now()).toISOString(), entries);
    // Text that is too long counts as written. Otherwise opsctl would retry forever.
    if (Buffer.byteLength(text) <= mostBytes) {
      await firstAnswer(stores, (store) => store.put(progressKey, text)).catch(() => {});
      await writeFile(sharing, text);
    }
    written = count;
  };
  const soon = (): Promise<void> => {
    writing ??= write().finally(() => {
      writing = undefined;
      if (!isOver && written < entries.length) void soon();
    });
    return writing;
  };
  const flush = async (): Promise<void> => {
    for (let tries = 0; written < entries.length && tries < 2; tries += 1) await soon();
  };
  return {
    touch: () => {
      if (!isOver) void soon();
    },
    flush,
    end: async (isFinal) => {
      if (!isFinal) return flush();
      isOver = true;
      await writing;
      await removeShared({ host, cluster, stores });
    },
  };
};

export const removeShared = async (sharing: Pick<Sharing, 'host' | 'cluster' | 'stores'>): Promise<void> => {
  await Promise.all([
    firstAnswer(sharing.stores, (store) => store.del(progressKey)).catch(() => {}),
    removeFile(sharing),
  ]);
};

export const PROGRESS_UNREAD = 'PROGRESS_UNREAD';
/** In this case opsctl does not know whether another machine has a run of this cluster. */
const unread = (cluster: string, error: unknown): AppError =>
  new AppError(
    error instanceof AppError ? error.category : 'network',
    `cannot read from the cluster whether another machine has an unfinished run of cluster ${cluster}: ${messageOf(error)}`,
    {
      code: PROGRESS_UNREAD,
      retryable: true,
      cause: error,
      tryThis: [next(['kv', 'status']), 'run the same command on the machine that started the run'],
    },
  );

/**
 * Returns a run of this cluster that another machine started or resumed. Reads it from the store or from the
 * snapshot directory. Throws PROGRESS_UNREAD if the store did not respond and the snapshot directory has no
 * progress.
 */
export const sharedRun = async (
  { host, cluster, stores }: Pick<Sharing, 'host' | 'cluster' | 'stores'>,
  state: string,
): Promise<(FoundRun & { readonly owner?: Owner }) | undefined> => {
  const kept = await Promise.any(
    stores.map((store) => store.range(progressKey, { isSerializable: true })),
  ).catch((error: unknown) => unread(cluster.name, firstReason(error)));
  const file =
    cluster.snapshot_dir === undefined
      ? undefined
      : await host.files.read(fileIn(cluster.snapshot_dir, cluster)).catch(() => undefined);
  const stored = kept instanceof AppError ? undefined : kept.kvs[0]?.value;
  const found = [sharedFrom(stored, cluster.name), sharedFrom(file, cluster.name)]
    .filter((one) => one !== undefined)
    .toSorted((a, b) => b.entries.length - a.entries.length)[0];
  if (found === undefined && kept instanceof AppError) throw kept;
  if (found === undefined) return undefined;
  const runs = await findRuns(host, state, cluster.name);
  const known = runs.find(({ run }) => run === found.run);
  if (known !== undefined && known.entries.length >= found.entries.length) return undefined;
  const begun = found.entries.findLast((entry) => entry.kind === 'opened' || entry.kind === 'resumed');
  const { run, entries } = found;
  const shared = { run, entries, directory: runDirectory(state, cluster.name, run) };
  return begun === undefined ? shared : { ...shared, owner: begun.owner };
};

/** Writes the journal of the run on this machine, which can then resume, roll back or abort it. */
export const adoptRun = async (
  sharing: Pick<Sharing, 'host' | 'cluster' | 'stores'>,
  state: string,
): Promise<{ readonly run: string; readonly owner?: Owner } | undefined> => {
  const shared = await sharedRun(sharing, state);
  if (shared === undefined) return undefined;
  const { files } = sharing.host;
  await files.makeDirectory(shared.directory, 0o700);
  const lines = shared.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  await files.replace(join(shared.directory, 'journal.jsonl'), lines, 0o600);
  return shared;
};

/** The steps that the journal records as started and finished. Only the members know the current state. */
export type Progress = {
  readonly begun: ReadonlySet<JournalStepId>;
  readonly ended: ReadonlySet<JournalStepId>;
  /** Time of each member's snapshot, in milliseconds since 1970. */
  readonly snapshots: ReadonlyMap<string, number>;
  /** A member whose revert to the old version started but did not finish. */
  readonly reverting?: { readonly member: string; readonly reason: string };
  /**
   * The operator has confirmed the point of no return. The confirmation is valid until the run ends or a
   * member is reverted.
   */
  readonly isCrossingConfirmed: boolean;
  /** The cluster version has changed. */
  readonly hasCrossed: boolean;
};
type Fold = {
  begun: Set<JournalStepId>;
  ended: Set<JournalStepId>;
  /** Snapshot time by member. */
  taken: Map<string, number>;
  reverting?: Progress['reverting'];
  isCrossingConfirmed: boolean;
  hasCrossed: boolean;
};
type Backward = { readonly kind: 'reverted' | 'revert-dropped'; readonly member: string };
/**
 * Removes the steps that a member must perform again: all after its revert; its health check if the revert was
 * dropped, because it then runs the new version.
 */
export const forgetSteps = <Id extends string>(ids: Set<Id>, { kind, member }: Backward): void => {
  for (const id of [...ids]) {
    const isHealth = id === stepId(member, 'gate') || id === stepId(member, 'settle');
    const isOwn = id.slice(0, Math.max(0, id.lastIndexOf('.'))) === member;
    if (kind === 'reverted' ? isOwn : isHealth) ids.delete(id);
  }
};
const stepEnded = (fold: Fold, { step, at }: Extract<JournalEntry, { kind: 'end' }>): void => {
  fold.ended.add(step);
  const member = memberOfStep(step, 'snapshot');
  if (member !== undefined) fold.taken.set(member, Date.parse(at));
};
/**
 * An immediate resume after a crash does not repeat a large snapshot. An early snapshot, or a snapshot before
 * a prompt, may be too old.
 */
const freshMs = 60_000;
/**
 * Returns whether the snapshot of a member is at most one minute older than the stop that it protects. Pure.
 */
export const hasFreshSnapshot = ({ snapshots }: Progress, member: string, now: number): boolean => {
  const taken = snapshots.get(member);
  return taken !== undefined && now >= taken && now - taken <= freshMs;
};
/** Restarts the steps of the member. The next snapshot must contain the writes since its last snapshot. */
const revertMember = (fold: Fold, member: string): void => {
  Object.assign(fold, { reverting: undefined, isCrossingConfirmed: false });
  fold.taken.delete(member);
};
const take = (fold: Fold, entry: JournalEntry): void => {
  switch (entry.kind) {
    case 'begin':
      fold.begun.add(entry.step);
      break;
    case 'end':
      stepEnded(fold, entry);
      break;
    case 'reverting':
      fold.reverting = { member: entry.member, reason: entry.reason };
      break;
    case 'reverted':
      revertMember(fold, entry.member);
      for (const ids of [fold.begun, fold.ended]) forgetSteps(ids, entry);
      break;
    case 'revert-dropped':
      fold.reverting = undefined;
      for (const ids of [fold.begun, fold.ended]) forgetSteps(ids, entry);
      break;
    case 'crossing-confirmed':
      fold.isCrossingConfirmed = true;
      break;
    case 'crossed':
      fold.hasCrossed = true;
      break;
    case 'closed':
      // The confirmation applied to the state at that time. A later resume asks for a new confirmation.
      fold.isCrossingConfirmed = false;
      break;
    default:
  }
};
/** Folds the journal entries into the progress. Pure. */
export const progressOf = (entries: readonly JournalEntry[]): Progress => {
  const fold: Fold = {
    begun: new Set(),
    ended: new Set(),
    taken: new Map(),
    isCrossingConfirmed: false,
    hasCrossed: false,
  };
  for (const entry of entries) take(fold, entry);
  const { reverting, taken, ...rest } = fold;
  const progress = { ...rest, snapshots: taken };
  return reverting === undefined ? progress : { ...progress, reverting };
};

/**
 * Throws if the run belongs to another cluster. Runs are stored by cluster name, and two clusters may have
 * the same name.
 */
export const refuseOtherMembers = (
  cluster: ClusterFile,
  { run }: Pick<FoundRun, 'run'>,
  { observation }: Pick<Plan, 'observation'>,
): void => {
  const urls = (members: readonly { readonly name: string; readonly client_url: string }[]): string =>
    members
      .map(({ name, client_url }) => `${name} ${client_url}`)
      .sort()
      .join(', ');
  const [then, now] = [urls(observation.members), urls(cluster.members)];
  if (then === now) return;
  throw new AppError(
    'unsafe',
    `run ${run} of a cluster ${cluster.name} has other members (${then}) than the cluster file (${now})`,
    {
      code: 'OTHER_CLUSTER',
      tryThis: ['give each cluster file its own name', 'use the cluster file of that run'],
    },
  );
};

export type HoldOptions = Pick<PlanOptions, 'hold_last' | 'hold_after'>;
/** Returns why the run holds. Returns undefined if the run did not end with a hold. */
export const heldBy = (entries: readonly JournalEntry[]): string | undefined => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && last.outcome === 'held' ? last.message : undefined;
};
/**
 * Returns whether the run holds until a time without user impact. A resume that specifies such a time may
 * continue.
 */
export const isHeldForWindow = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && (last.held_for === 'window' || last.held_for === 'impact');
};
/** Returns the holds of the plan or the last resume that the run has not reached yet. */
const holdsLeft = (plan: Plan, entries: readonly JournalEntry[]): HoldOptions => {
  const at = entries.findLastIndex((entry) => entry.kind === 'resumed' && entry.holds !== undefined);
  const asked = entries[at];
  const wanted: HoldOptions =
    asked?.kind === 'resumed' && asked.holds !== undefined ? asked.holds : plan.options;
  const wasHeld = entries
    .slice(Math.max(0, at))
    .some((entry) => entry.kind === 'closed' && entry.outcome === 'held' && entry.held_for === undefined);
  return wasHeld ? { hold_last: false } : wanted;
};
/**
 * Returns the holds of a resumed run. A resume after a hold continues past it. A run that stopped before its
 * hold still holds there. `after` counts from the current position.
 */
export const resumedOptions = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { last, after }: { readonly last?: boolean | undefined; readonly after?: number | undefined },
): HoldOptions & Pick<PlanOptions, 'hold_after'> => {
  const left = holdsLeft(plan, entries);
  const { ended } = progressOf(entries);
  const done = plan.order.filter((name) => ended.has(stepId(name, 'gate'))).length;
  const hold_after = after === undefined ? left.hold_after : done + after;
  return { hold_last: last ?? left.hold_last, ...{ hold_after } };
};

/**
 * Refuses to pass a hold without an explicit flag. A script that repeats a command until it succeeds must not
 * pass a hold that an operator set. `isNamed`: a flag acknowledges the hold. `hasWindow`: the command
 * specifies a new window, which a run that holds for its window waits for.
 */
export const refuseUnseenHold = (
  { run, entries }: Pick<FoundRun, 'run' | 'entries'>,
  { isNamed, hasWindow }: { readonly isNamed: boolean; readonly hasWindow: boolean },
): void => {
  const held = heldBy(entries);
  if (held === undefined || isNamed || (hasWindow && isHeldForWindow(entries))) return;
  throw new AppError('stopped', `run ${run} holds: ${held}`, {
    code: 'HELD',
    tryThis: [
      ...(isHeldForWindow(entries)
        ? [next(['kv', 'resume', '--yes', '--until', 'TIME'], ', in the next window')]
        : []),
      next(
        ['kv', 'resume', '--yes', '--past-hold'],
        ', to continue up to the last member of the old version',
      ),
      next(['kv', 'resume', '--yes', '--accept-point-of-no-return'], ', to continue to the end'),
      next(['kv', 'rollback']),
    ],
  });
};
/**
 * Who holds a run. hold-last and hold-after: the operator set the hold at the start. operator: the operator declined
 * a member. last-member: nobody confirmed the point of no return. window: the run waits for its next window.
 */
export type HeldBy = 'hold-last' | 'hold-after' | 'operator' | 'last-member' | 'window';
/** Returns who holds the run; undefined if the run is not held. Pure. */
export const holderOf = (entries: readonly JournalEntry[]): HeldBy | undefined => {
  const last = entries.at(-1);
  if (last?.kind !== 'closed' || last.outcome !== 'held') return undefined;
  if (last.held_for !== undefined) return last.held_for === 'operator' ? 'operator' : 'window';
  const [first] = entries;
  const begun = entries.findLast((entry) => entry.kind === 'resumed' && entry.holds !== undefined);
  const holds: HoldOptions | undefined =
    begun?.kind === 'resumed' ? begun.holds : first?.kind === 'opened' ? first.plan.options : undefined;
  if (holds?.hold_after !== undefined) return 'hold-after';
  return holds?.hold_last === true ? 'hold-last' : 'last-member';
};
/** Members that responded after the hold, as an observation shows them. */
export type ClusterState = {
  readonly taken_at: string;
  readonly members: readonly Pick<MemberStatus, 'name' | 'is_reachable' | 'server_version' | 'started_at'>[];
};
/**
 * Every process that the restart had not replaced runs its new program and started after the hold. A later start alone
 * is no evidence: a member that crashed starts its old program again. Without a new version nothing here shows a
 * finished restart, and the run stays held. The starts are times of the members' clocks and the hold is a time of this
 * machine's clock; a difference is acceptable because the version must fit too.
 */
const isRestarted = (
  plan: Plan,
  ended: ReadonlySet<string>,
  at: string,
  { members }: ClusterState,
): boolean =>
  members
    .filter(({ name }) => plan.order.includes(name) && !ended.has(stepId(name, 'gate')))
    .every(({ name, server_version, started_at }) => {
      const before = plan.observation.members.find((one) => one.name === name);
      const fresh = before?.host?.new_binary_version;
      const isFresh = server_version === fresh && fresh !== before?.server_version;
      return isFresh && Date.parse(started_at ?? '') > Date.parse(at);
    });
/**
 * Returns whether a held run has no work left: no member runs its old version, because the run was finished
 * elsewhere; or no member runs its new version although the run had upgraded one, because the cluster was rolled back
 * or restored elsewhere. A restart is over if every pending member was restarted with its new program. A member that
 * does not respond, or an observation before the hold, proves neither. Pure.
 */
export const isHoldOver = (entries: readonly JournalEntry[], seen: ClusterState): boolean => {
  const { taken_at, members } = seen;
  const [first, last] = [entries[0], entries.at(-1)];
  if (first?.kind !== 'opened' || last === undefined || members.length === 0) return false;
  if (!(Date.parse(taken_at) > Date.parse(last.at))) return false;
  if (members.some((one) => !one.is_reachable || one.server_version === undefined)) return false;
  const { plan } = first;
  const { ended } = progressOf(entries);
  if (plan.from === plan.to) return isRestarted(plan, ended, last.at, seen);
  const minors: readonly (string | undefined)[] = members.map((one) => minorOf(one.server_version));
  if (!minors.includes(plan.from)) return true;
  return plan.order.some((name) => ended.has(stepId(name, 'gate'))) && !minors.includes(plan.to);
};
/**
 * The rule for a new run after an earlier run of the cluster:
 * - An unfinished run refuses every new run, because it may have left a member down.
 * - A held run refuses every new run, because the new plan would pass the hold. Only `kv resume` with a flag or an
 *   answer that acknowledges the hold, `kv rollback` and `kv abort` continue or end it. A fleet and its workflows do
 *   this only for a hold of --hold-last (`holderOf`), which the operator sets to continue later.
 * - A held run is over when it was resumed to its end, rolled back or aborted, when `kv restore` rebuilt the cluster,
 *   or when the members show that another machine did this (`isHoldOver`).
 * - A run that stopped, failed or reached the end of its window refuses no new run: a job may repeat the command in
 *   each window.
 */
export const refuseNewRun = (newest: FoundRun | undefined, seen: ClusterState): void => {
  if (newest === undefined) return;
  const { entries } = newest;
  if (entries.at(-1)?.kind !== 'closed') throw unfinishedError(newest);
  const by = holderOf(entries);
  if (by === undefined || by === 'window' || isHoldOver(entries, seen)) return;
  throw heldRunError(newest, by);
};
