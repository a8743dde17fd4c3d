import { type Problem, problem } from '../core/problem.ts';
import type { FieldDef, LiveField } from './definition.ts';

type Wanted = { readonly id?: string; readonly was?: string; readonly name: string };
type Live = { readonly id: string; readonly name: string };
export type Pair<W, L> = { readonly wanted: W; readonly live: L | undefined; readonly path: string };
export type Matched<W, L> = {
  readonly pairs: readonly Pair<W, L>[];
  readonly missing: readonly L[];
  readonly problems: readonly Problem[];
};
const byName = <L extends Live>(all: readonly L[], name: string, taken: ReadonlySet<L>): L[] =>
  all.filter((l) => l.name === name && !taken.has(l));
type Taking<W, L> = {
  readonly path: string;
  readonly problems: Problem[];
  readonly taken: Set<L>;
  readonly found: Map<W, L>;
};
const take = <W extends Wanted, L extends Live>(taking: Taking<W, L>, one: W, hit: L, i: number): void => {
  const { path, problems, taken, found } = taking;
  if (taken.has(hit)) {
    const text = `means the same as another entry ("${hit.name}", id ${hit.id})`;
    problems.push(problem(`${path}[${i}]`, 'rule', text));
  }
  taken.add(hit);
  found.set(one, hit);
};
const takeByName = <W extends Wanted, L extends Live>(
  taking: Taking<W, L>,
  live: readonly L[],
  one: W,
  i: number,
): void => {
  const { taken, path, problems } = taking;
  const [hit] = [
    ...byName(live, one.was ?? one.name, taken),
    ...(one.was === undefined ? [] : byName(live, one.name, taken)),
  ];
  if (hit === undefined) return;
  const ids = byName(live, hit.name, taken).map(({ id }) => id);
  if (ids.length > 1) {
    const text = `"${hit.name}" is the name of ${ids.length} parts: ${ids.join(', ')}`;
    problems.push(problem(`${path}[${i}]`, 'rule', text, 'give the id'));
  }
  take(taking, one, hit, i);
};
/**
 * Which part of the service each part of the file means: by id, else by the old name in `was`, else by name. An id that
 * the service does not know came from another place, and the name decides.
 */
export const match = <W extends Wanted, L extends Live>(
  wanted: readonly W[],
  live: readonly L[],
  path: string,
): Matched<W, L> => {
  const taking: Taking<W, L> = { path, problems: [], taken: new Set(), found: new Map() };
  const { problems, taken, found } = taking;
  for (const [i, one] of wanted.entries()) {
    const hit = one.id === undefined ? undefined : live.find((l) => l.id === one.id);
    if (hit) take(taking, one, hit, i);
  }
  for (const [i, one] of wanted.entries()) if (!found.has(one)) takeByName(taking, live, one, i);
  const pairs = wanted.map((one, i) => ({ wanted: one, live: found.get(one), path: `${path}[${i}]` }));
  return { pairs, missing: live.filter((l) => !taken.has(l)), problems };
};

/** The longest increasing subsequence of positions, as indexes of the list. */
type Run = { readonly last: number; readonly places: readonly number[] };
const longest = (runs: readonly Run[]): readonly number[] =>
  runs.reduce<readonly number[]>((best, { places }) => (places.length > best.length ? places : best), []);
/** The positions that may stay: a longest rising run of them. */
const staying = (positions: readonly number[]): ReadonlySet<number> => {
  const runs: Run[] = [];
  for (const [i, position] of positions.entries()) {
    const before = longest(runs.filter(({ last }) => last < position));
    runs.push({ last: position, places: [...before, i] });
  }
  return new Set(longest(runs));
};
export type MatchLocation = {
  /** Id of the part that follows; '' is the end. */ readonly before: string;
  readonly isMoved: boolean;
};
/**
 * Where each wanted part goes, given where the existing ones stand now (undefined: new). As few existing parts as possible move.
 * Moves are to be sent from the last to the first, then the new parts from the first to the last: then every `before` stands right.
 */
export const placesFrom = (
  wanted: readonly (string | undefined)[],
  live: readonly string[],
): MatchLocation[] => {
  const existing = wanted.flatMap((id, i) => (id === undefined ? [] : [{ id, i }]));
  const stays = staying(existing.map(({ id }) => live.indexOf(id)));
  const moved = new Set(existing.filter((_, n) => !stays.has(n)).map(({ i }) => i));
  return wanted.map((_, i) => ({
    before: wanted.slice(i + 1).find((id) => id !== undefined) ?? '',
    isMoved: moved.has(i),
  }));
};

/** 0 in a file means "as many as the service allows". The service returns the actual number. */
export const isSameEntries = (wanted: number | null, live: number | undefined): boolean =>
  wanted === (live ?? null) || (wanted === 0 && live !== undefined);
const typeProblem = (wanted: FieldDef, live: LiveField, path: string): Problem[] =>
  wanted.type === live.type
    ? []
    : [
        problem(
          `${path}.type`,
          'rule',
          `field ${live.name} was published as a ${live.type} field; its type is frozen`,
          'add a new field and disable this one',
        ),
      ];
const entriesProblem = (wanted: FieldDef, live: LiveField, path: string): Problem[] => {
  const { maxEntries } = wanted;
  if (maxEntries === undefined || isSameEntries(maxEntries, live.maxEntries)) return [];
  if (maxEntries === null || live.maxEntries === undefined) {
    const then = live.maxEntries === undefined ? 'for one value' : 'for several values';
    return [problem(`${path}.maxEntries`, 'rule', `field ${live.name} was published ${then}; that is fixed`)];
  }
  const floor = live.publishedEntries ?? live.maxEntries;
  const text = `field ${live.name} was published with maxEntries ${floor}; it cannot shrink to ${maxEntries}`;
  return maxEntries < floor ? [problem(`${path}.maxEntries`, 'rule', text)] : [];
};
/** spec/labels#lifecycle-7, judged before anything is sent. */
export const frozenProblems = (wanted: FieldDef, live: LiveField, path: string): Problem[] => {
  if (live.state === 'UNPUBLISHED_DRAFT') return [];
  const type = typeProblem(wanted, live, path);
  return type.length > 0 ? type : entriesProblem(wanted, live, path);
};
