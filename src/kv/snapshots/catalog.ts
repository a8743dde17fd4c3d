import type { StoredSnapshot } from './snapshot-manifest.ts';

/** Which snapshots stay. A rule that is absent keeps nothing by itself; without any of the first three every snapshot young enough stays. */
export type Retention = {
  readonly keepLast?: number | undefined;
  readonly keepDaily?: number | undefined;
  readonly keepWeekly?: number | undefined;
  readonly maxAgeMs?: number | undefined;
};
export type Kept = { readonly snapshot: StoredSnapshot; readonly why: string };
export type Sorted = {
  readonly keep: readonly Kept[];
  readonly prune: readonly StoredSnapshot[];
};

const dayMs = 86_400_000;
const dayOf = ({ taken_at }: StoredSnapshot): string => taken_at.slice(0, 10);
/** The Monday of its week, in UTC. */
const weekOf = ({ taken_at }: StoredSnapshot): string => {
  const day = Math.floor(Date.parse(taken_at) / dayMs);
  return String(day - ((day + 3) % 7));
};

const newestFirst = (snapshots: readonly StoredSnapshot[]): StoredSnapshot[] =>
  [...snapshots].sort((a, b) =>
    a.taken_at === b.taken_at ? b.revision - a.revision : a.taken_at < b.taken_at ? 1 : -1,
  );

/** The newest snapshot of each of the last so many days or weeks that have one. */
const newestOfEach = (
  ordered: readonly StoredSnapshot[],
  count: number | undefined,
  spanOf: (snapshot: StoredSnapshot) => string,
): Set<string> => {
  const spans = new Map<string, string>();
  for (const snapshot of ordered)
    if (!spans.has(spanOf(snapshot))) spans.set(spanOf(snapshot), snapshot.name);
  return new Set([...spans.values()].slice(0, count ?? 0));
};

const isVerified = ({ manifest }: StoredSnapshot): boolean => manifest?.verified_at !== undefined;

/** Sorts the snapshots of one cluster into those that stay and those that go. The newest verified one always stays. Pure. */
export const retained = (
  snapshots: readonly StoredSnapshot[],
  { keepLast, keepDaily, keepWeekly, maxAgeMs }: Retention,
  nowMs: number,
): Sorted => {
  const ordered = newestFirst(snapshots);
  const hasCounts = [keepLast, keepDaily, keepWeekly].some((count) => count !== undefined);
  const rules: readonly (readonly [string, ReadonlySet<string>])[] = [
    ['last', new Set(ordered.slice(0, keepLast ?? 0).map(({ name }) => name))],
    ['daily', newestOfEach(ordered, keepDaily, dayOf)],
    ['weekly', newestOfEach(ordered, keepWeekly, weekOf)],
    ['age', new Set(hasCounts ? [] : ordered.map(({ name }) => name))],
  ];
  const isTooOld = ({ taken_at }: StoredSnapshot): boolean =>
    maxAgeMs !== undefined && nowMs - Date.parse(taken_at) > maxAgeMs;
  const lastVerified = ordered.find(isVerified)?.name;
  const [keep, prune]: [Kept[], StoredSnapshot[]] = [[], []];
  for (const snapshot of ordered) {
    const rule = isTooOld(snapshot) ? undefined : rules.find(([, names]) => names.has(snapshot.name))?.[0];
    const why = rule ?? (snapshot.name === lastVerified ? 'last verified' : undefined);
    if (why === undefined) prune.push(snapshot);
    else keep.push({ snapshot, why });
  }
  return { keep, prune };
};
