import { type Problem, problem } from '../core/problem.ts';

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
