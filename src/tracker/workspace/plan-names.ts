import { nearest } from '../../core/nearest.ts';
import { type Problem, problem } from '../../core/problem.ts';
import type { Current, Row, Workspace } from './kinds.ts';

/** The rows of one list by one of their keys, in the order of the service. */
const byKey = (rows: readonly Row[], key: string): Map<unknown, Row[]> => {
  const found = new Map<unknown, Row[]>();
  for (const row of rows) {
    const same = found.get(row[key]);
    if (same === undefined) found.set(row[key], [row]);
    else same.push(row);
  }
  // The last is taken off first: cheap however many are called alike.
  for (const same of found.values()) same.reverse();
  return found;
};

/**
 * Finds the record of an entry: by external_id first, so that a changed name is a rename; then by name. Each record answers for
 * one entry.
 */
export const matcher = (rows: readonly Row[]) => {
  const [byId, byName] = [byKey(rows, 'external_id'), byKey(rows, 'name')];
  const taken = new Set<Row>();
  const next = (index: Map<unknown, Row[]>, key: unknown): Row | undefined => {
    const same = index.get(key) ?? [];
    for (let last = same.at(-1); last !== undefined; last = same.at(-1)) {
      if (!taken.has(last)) return last;
      same.pop();
    }
    return undefined;
  };
  return {
    take(wanted: Row): Row | undefined {
      const row =
        (wanted.external_id === undefined ? undefined : next(byId, wanted.external_id)) ??
        next(byName, wanted.name);
      if (row !== undefined) taken.add(row);
      return row;
    },
    rest: (): Row[] => rows.filter((row) => !taken.has(row)),
  };
};

/** Lists of names in one list of the file that point into another. */
const references: Readonly<
  Record<string, Readonly<Record<string, { readonly kind: string; readonly key: string }>>>
> = {
  objectives: { categories: { kind: 'categories', key: 'name' } },
  epics: {
    labels: { kind: 'labels', key: 'name' },
    groups: { kind: 'groups', key: 'mention_name' },
    objectives: { kind: 'objectives', key: 'name' },
  },
  iterations: { labels: { kind: 'labels', key: 'name' }, groups: { kind: 'groups', key: 'mention_name' } },
  entity_templates: {
    'story.labels': { kind: 'labels', key: 'name' },
    'story.linked_files': { kind: 'linked_files', key: 'name' },
    'story.epic': { kind: 'epics', key: 'name' },
    'story.iteration': { kind: 'iterations', key: 'name' },
    'story.project': { kind: 'projects', key: 'name' },
    'story.group': { kind: 'groups', key: 'mention_name' },
  },
};
/** What stands at `labels` or at `story.labels`: one name or a list of them. */
const at = (entry: Row, path: string): unknown => {
  const [first = '', second] = path.split('.');
  return second === undefined ? entry[first] : (entry[first] as Row | undefined)?.[second];
};
const namesAt = (entry: Row, path: string): string[] => {
  const value = at(entry, path);
  return Array.isArray(value) ? (value as string[]) : typeof value === 'string' ? [value] : [];
};
const withAt = (entry: Row, path: string, value: unknown): Row => {
  const [first = '', second] = path.split('.');
  return { ...entry, [first]: second === undefined ? value : { ...(entry[first] as Row), [second]: value } };
};
export type Names = { readonly known: ReadonlySet<string>; readonly renamed: ReadonlyMap<string, string> };

/** What the things of one list will be called, and what they were called before. */
const namesAfter = (wanted: readonly Row[], rows: readonly Row[], key: string): Names => {
  const records = matcher(rows);
  const renamed = new Map<string, string>();
  for (const entry of wanted) {
    const row = records.take(entry);
    if (row === undefined) continue;
    if (entry[key] !== undefined && row[key] !== entry[key])
      renamed.set(String(row[key]), String(entry[key]));
  }
  return { known: new Set([...wanted, ...records.rest()].map((row) => String(row[key]))), renamed };
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
  let out = shown;
  for (const [field, { kind }] of Object.entries(references[kindName] ?? {})) {
    const { renamed } = names.get(kind) ?? { renamed: new Map<string, string>() };
    const value = at(out, field);
    const after = (name: string): string => renamed.get(name) ?? name;
    if (Array.isArray(value)) out = withAt(out, field, (value as string[]).map(after));
    else if (typeof value === 'string') out = withAt(out, field, after(value));
  }
  return out;
};

export const dangling = (workspace: Workspace, names: ReadonlyMap<string, Names>): Problem[] =>
  Object.entries(references).flatMap(([kindName, fields]) =>
    (workspace[kindName] ?? []).flatMap((entry, i) =>
      Object.entries(fields).flatMap(([field, { kind }]) => {
        const found = names.get(kind);
        const unknown = found ? namesAt(entry, field).filter((name) => !found.known.has(name)) : [];
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
