import { nearest } from '../core/nearest.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { Current, Row, Workspace } from './kinds.ts';

/** By external_id first, so that a changed name is a rename; then by name. Each record answers for one entry. */
export const match = (wanted: Row, rows: readonly Row[], taken: ReadonlySet<Row>): Row | undefined => {
  const free = rows.filter((row) => !taken.has(row));
  const byId =
    wanted.external_id === undefined ? undefined : free.find((row) => row.external_id === wanted.external_id);
  return byId ?? free.find((row) => row.name === wanted.name);
};

/** Lists of names in one list of the file that point into another. */
const references: Readonly<
  Record<string, Readonly<Record<string, { readonly kind: string; readonly key: string }>>>
> = {
  objectives: { categories: { kind: 'categories', key: 'name' } },
  iterations: { labels: { kind: 'labels', key: 'name' }, groups: { kind: 'groups', key: 'mention_name' } },
};
export type Names = { readonly known: ReadonlySet<string>; readonly renamed: ReadonlyMap<string, string> };

/** What the things of one list will be called, and what they were called before. */
const namesAfter = (wanted: readonly Row[], rows: readonly Row[], key: string): Names => {
  const taken = new Set<Row>();
  const renamed = new Map<string, string>();
  for (const entry of wanted) {
    const row = match(entry, rows, taken);
    if (row === undefined) continue;
    taken.add(row);
    if (entry[key] !== undefined && row[key] !== entry[key])
      renamed.set(String(row[key]), String(entry[key]));
  }
  const others = rows.filter((row) => !taken.has(row));
  return { known: new Set([...wanted, ...others].map((row) => String(row[key]))), renamed };
};

/** For each list that others point into: its names after this plan. Lists that the file does not have cannot be checked. */
export const namesOf = (workspace: Workspace, current: Current): ReadonlyMap<string, Names> => {
  const found = new Map<string, Names>();
  for (const fields of Object.values(references)) {
    for (const { kind, key } of Object.values(fields)) {
      const wanted = workspace[kind];
      if (wanted !== undefined) found.set(kind, namesAfter(wanted, current[kind] ?? [], key));
    }
  }
  return found;
};

/** A record as it will read once the renames of this plan are done. */
export const afterRenames = (kindName: string, shown: Row, names: ReadonlyMap<string, Names>): Row => {
  const out: Record<string, unknown> = { ...shown };
  for (const [field, { kind }] of Object.entries(references[kindName] ?? {})) {
    const { renamed } = names.get(kind) ?? { renamed: new Map<string, string>() };
    if (Array.isArray(out[field]))
      out[field] = (out[field] as string[]).map((name) => renamed.get(name) ?? name);
  }
  return out;
};

export const dangling = (workspace: Workspace, names: ReadonlyMap<string, Names>): Problem[] =>
  Object.entries(references).flatMap(([kindName, fields]) =>
    (workspace[kindName] ?? []).flatMap((entry, i) =>
      Object.entries(fields).flatMap(([field, { kind }]) => {
        const found = names.get(kind);
        const unknown = found
          ? ((entry[field] as string[] | undefined) ?? []).filter((name) => !found.known.has(name))
          : [];
        return unknown.map((name) => {
          const hint = found?.renamed.get(name) ?? nearest(name, found?.known ?? []);
          return problem(
            `${kindName}[${i}].${field}`,
            'rule',
            `names ${JSON.stringify(name)}, which is not in ${kind}`,
            hint && `did you mean ${hint}?`,
          );
        });
      }),
    ),
  );
