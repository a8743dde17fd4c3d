import type { JournalEntry } from './types.ts';

/** What the journal says was begun and ended. What is true now, the members say. */
export type Progress = {
  readonly begun: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
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
  begun: Set<string>;
  ended: Set<string>;
  /** When it was taken, by member. */
  taken: Map<string, number>;
  reverting?: Progress['reverting'];
  isCrossingConfirmed: boolean;
  hasCrossed: boolean;
};

const forget = (ids: Set<string>, isForgotten: (id: string) => boolean): void => {
  for (const id of [...ids]) if (isForgotten(id)) ids.delete(id);
};

const stepEnded = (fold: Fold, { step, at }: Extract<JournalEntry, { kind: 'end' }>): void => {
  fold.ended.add(step);
  if (step.endsWith('.snapshot')) fold.taken.set(step.slice(0, -'.snapshot'.length), Date.parse(at));
};

/** Who resumes at once after a crash need not wait for gigabytes again; and one that was taken ahead, or before a question, may be too old by now. */
const freshMs = 60_000;
/** The snapshot of a member does not predate the stop that it is to protect by more than a minute. Pure. */
export const hasFreshSnapshot = ({ snapshots }: Progress, member: string, now: number): boolean => {
  const taken = snapshots.get(member);
  return taken !== undefined && now >= taken && now - taken <= freshMs;
};

/** It begins again, and what was written since its snapshot was taken must be in the next one. */
const reverted = (fold: Fold, member: string): void => {
  Object.assign(fold, { reverting: undefined, isCrossingConfirmed: false });
  fold.taken.delete(member);
  for (const ids of [fold.begun, fold.ended]) forget(ids, (id) => id.startsWith(`${member}.`));
};

/** It runs the new version and has to show that it is good. */
const revertDropped = (fold: Fold, member: string): void => {
  fold.reverting = undefined;
  for (const ids of [fold.begun, fold.ended])
    forget(ids, (id) => id === `${member}.gate` || id === `${member}.settle`);
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
      reverted(fold, entry.member);
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
