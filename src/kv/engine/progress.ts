import { next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import type { FoundRun } from './journal.ts';
import type { ClusterFile, JournalEntry, JournalStepId, Plan, PlanOptions } from './model.ts';
import { memberOfStep, stepId } from './steps.ts';

/** What the journal says was begun and ended. What is true now, the members say. */
export type Progress = {
  readonly begun: ReadonlySet<JournalStepId>;
  readonly ended: ReadonlySet<JournalStepId>;
  /** When the snapshot of each member was there, in milliseconds since 1970. */
  readonly snapshots: ReadonlyMap<string, number>;
  /** A member whose revert to the old version was begun and not finished. */
  readonly reverting?: { readonly member: string; readonly reason: string };
  /** The operator has confirmed the point of no return. It counts until the run ends or a member is reverted. */
  readonly isCrossingConfirmed: boolean;
  /** The cluster's version was seen to have moved. */
  readonly hasCrossed: boolean;
};
type Fold = {
  begun: Set<JournalStepId>;
  ended: Set<JournalStepId>;
  /** When it was taken, by member. */
  taken: Map<string, number>;
  reverting?: Progress['reverting'];
  isCrossingConfirmed: boolean;
  hasCrossed: boolean;
};
const forget = (ids: Set<JournalStepId>, isForgotten: (id: JournalStepId) => boolean): void => {
  for (const id of [...ids]) if (isForgotten(id)) ids.delete(id);
};
const stepEnded = (fold: Fold, { step, at }: Extract<JournalEntry, { kind: 'end' }>): void => {
  fold.ended.add(step);
  const member = memberOfStep(step, 'snapshot');
  if (member !== undefined) fold.taken.set(member, Date.parse(at));
};
/** Who resumes at once after a crash need not wait for gigabytes again; and one that was taken ahead, or before a question, may be too old by now. */
const freshMs = 60_000;
/** The snapshot of a member does not predate the stop that it is to protect by more than a minute. Pure. */
export const hasFreshSnapshot = ({ snapshots }: Progress, member: string, now: number): boolean => {
  const taken = snapshots.get(member);
  return taken !== undefined && now >= taken && now - taken <= freshMs;
};
/** It begins again, and what was written since its snapshot was taken must be in the next one. */
const revertMember = (fold: Fold, member: string): void => {
  Object.assign(fold, { reverting: undefined, isCrossingConfirmed: false });
  fold.taken.delete(member);
  for (const ids of [fold.begun, fold.ended]) forget(ids, (id) => id.startsWith(`${member}.`));
};
/** It runs the new version and has to show that it is good. */
const revertDropped = (fold: Fold, member: string): void => {
  fold.reverting = undefined;
  for (const ids of [fold.begun, fold.ended])
    forget(ids, (id) => id === stepId(member, 'gate') || id === stepId(member, 'settle'));
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
      break;
    case 'revert-dropped':
      revertDropped(fold, entry.member);
      break;
    case 'crossing-confirmed':
      fold.isCrossingConfirmed = true;
      break;
    case 'crossed':
      fold.hasCrossed = true;
      break;
    case 'closed':
      // Said for what was seen then; whoever goes on later decides anew.
      fold.isCrossingConfirmed = false;
      break;
    default:
  }
};
/** Folds the journal. Pure. */
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

/** Runs are kept by the cluster's name: a run of another cluster of that name must not go on here. */
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
    `run ${run} of a cluster ${cluster.name} was made for other members (${then}) than the cluster file names (${now})`,
    {
      code: 'OTHER_CLUSTER',
      tryThis: [
        'give each cluster file a name of its own',
        'take the cluster file that the run was made with',
      ],
    },
  );
};

export type Holds = Pick<PlanOptions, 'hold_last' | 'hold_after'>;
/** What the run says that it holds for; undefined when its last end was another one. */
export const heldBy = (entries: readonly JournalEntry[]): string | undefined => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && last.outcome === 'held' ? last.message : undefined;
};
/** It holds for a time when users are not affected: who names such a time may go on. */
export const isHeldForWindow = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && (last.held_for === 'window' || last.held_for === 'impact');
};
/** The holds that the plan or the last resume asked for, less those that were held since. */
const holdsLeft = (plan: Plan, entries: readonly JournalEntry[]): Holds => {
  const at = entries.findLastIndex((entry) => entry.kind === 'resumed' && entry.holds !== undefined);
  const asked = entries[at];
  const wanted: Holds = asked?.kind === 'resumed' && asked.holds !== undefined ? asked.holds : plan.options;
  const wasHeld = entries
    .slice(Math.max(0, at))
    .some((entry) => entry.kind === 'closed' && entry.outcome === 'held' && entry.held_for === undefined);
  return wasHeld ? { hold_last: false } : wanted;
};
/** Who goes on after a hold wants what comes after it; a run that was stopped before its hold still holds there. `after` counts from here. */
export const resumedOptions = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { last, after }: { readonly last?: boolean | undefined; readonly after?: number | undefined },
): Holds & Pick<PlanOptions, 'hold_after'> => {
  const left = holdsLeft(plan, entries);
  const { ended } = progressOf(entries);
  const done = plan.order.filter((name) => ended.has(stepId(name, 'gate'))).length;
  const hold_after = after === undefined ? left.hold_after : done + after;
  return { hold_last: last ?? left.hold_last, ...{ hold_after } };
};

/**
 * What repeats a command until it succeeds must not pass a hold: somebody put it there to look first. `isNamed`: a flag says that the hold is
 * known; `hasWindow`: a new window is given, which is what a run that holds for its window waits for.
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
      next(['kv', 'resume', '--yes', '--past-hold'], ', to go on up to the last member of the old version'),
      next(['kv', 'resume', '--yes', '--accept-point-of-no-return'], ', to go on to the end'),
      next(['kv', 'rollback']),
    ],
  });
};
