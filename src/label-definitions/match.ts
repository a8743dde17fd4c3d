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

/**
 * Which part of the service each part of the file means: by id, else by the old name in `was`, else by name. An id that
 * the service does not know came from another place, and the name decides.
 */
export const match = <W extends Wanted, L extends Live>(
  wanted: readonly W[],
  live: readonly L[],
  path: string,
): Matched<W, L> => {
  const problems: Problem[] = [];
  const taken = new Set<L>();
  const found = new Map<W, L>();
  const take = (one: W, hit: L, at: string): void => {
    if (taken.has(hit))
      problems.push(problem(at, 'rule', `means the same as another entry ("${hit.name}", id ${hit.id})`));
    taken.add(hit);
    found.set(one, hit);
  };
  for (const [i, one] of wanted.entries()) {
    const hit = one.id === undefined ? undefined : live.find((l) => l.id === one.id);
    if (hit) take(one, hit, `${path}[${i}]`);
  }
  for (const [i, one] of wanted.entries()) {
    if (found.has(one)) continue;
    const at = `${path}[${i}]`;
    const hits = [
      ...byName(live, one.was ?? one.name, taken),
      ...(one.was === undefined ? [] : byName(live, one.name, taken)),
    ];
    const [hit] = hits;
    if (hit === undefined) continue;
    if (byName(live, hit.name, taken).length > 1) {
      const ids = byName(live, hit.name, taken).map((l) => l.id);
      problems.push(
        problem(
          at,
          'rule',
          `"${hit.name}" is the name of ${ids.length} parts: ${ids.join(', ')}`,
          'give the id',
        ),
      );
    }
    take(one, hit, at);
  }
  const pairs = wanted.map((one, i) => ({ wanted: one, live: found.get(one), path: `${path}[${i}]` }));
  return { pairs, missing: live.filter((l) => !taken.has(l)), problems };
};
