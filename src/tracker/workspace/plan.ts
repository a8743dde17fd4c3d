import type { Field } from '../../core/field.ts';
import { cutText, AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import { lookalikeHint, nearest, showForm, TextForms } from '../../core/text.ts';
import {
  contentsChange,
  contentsDiffer,
  type Current,
  kindNames,
  type RecordLookup,
  type Row,
  type Workspace,
  type WorkspaceKind,
  workspaceKinds,
} from './kinds.ts';

/** The rows of one list by one of their keys, in the order of the service. */
const byKey = (rows: readonly Row[], key: string): Map<unknown, Row[]> => {
  const found = new Map<unknown, Row[]>();
  for (const row of rows) {
    const same = found.get(row[key]);
    if (same === undefined) found.set(row[key], [row]);
    else same.push(row);
  }
  return found;
};
type Unclear = { readonly text: string; readonly hint: string };
type IsKept = (entry: Row, row: Row) => boolean;
const idsOf = (rows: readonly Row[]): string => rows.map(({ id }) => id).join(', ');
const hasKey = ({ external_id: key }: Row): boolean => key !== undefined && key !== null && key !== '';
/**
 * Finds the record of each entry: by external_id first, so that a changed name is a rename, and then by name. Of several
 * records with one name, an entry means the one that needs no change, or the only one that no other entry means.
 */
class Pairing {
  readonly pairs = new Map<Row, Row>();
  /** Entries that may mean several records. */
  readonly unclear = new Map<Row, Unclear>();
  /** Records without an entry that an entry describes as well as its own record. */
  readonly alike = new Set<Row>();
  readonly #taken = new Set<Row>();
  readonly #rows: readonly Row[];
  readonly #isKept: IsKept;
  constructor(wanted: readonly Row[], rows: readonly Row[], isKept: IsKept) {
    this.#rows = rows;
    this.#isKept = isKept;
    const byId = byKey(rows, 'external_id');
    for (const [key, entries] of byKey(wanted.filter(hasKey), 'external_id'))
      this.#pairGroup(entries, byId.get(key) ?? [], `the external_id ${JSON.stringify(key)}`);
    const byName = byKey(this.rest(), 'name');
    const open = wanted.filter((entry) => !this.pairs.has(entry) && !this.unclear.has(entry));
    for (const [name, entries] of byKey(open, 'name')) this.#pairNamed(entries, byName.get(name) ?? []);
  }
  rest = (): Row[] => this.#rows.filter((row) => !this.#taken.has(row));
  #pair(entry: Row, row: Row): void {
    this.pairs.set(entry, row);
    this.#taken.add(row);
  }
  /** A record that has another external_id is another record, or its external_id changed: only the author knows. */
  #pairNamed(entries: readonly Row[], rows: readonly Row[]): void {
    const keyed = entries.filter(hasKey);
    const others = keyed.length === 0 ? [] : rows.filter(hasKey);
    for (const entry of others.length === 0 ? [] : keyed)
      this.unclear.set(entry, {
        text: `has the external_id ${JSON.stringify(entry.external_id)} in the file and ${others.map((row) => JSON.stringify(row.external_id)).join(', ')} in the service (${idsOf(others)})`,
        hint: 'change the external_id of the record first, or give the entry another name',
      });
    for (const row of others) this.#taken.add(row);
    this.#pairGroup(
      entries.filter((entry) => !this.unclear.has(entry)),
      rows.filter((row) => !this.#taken.has(row)),
      'this name',
    );
  }
  /** An entry means a record of its own state first: a name that an archived record had is free for another record. */
  #pairGroup(entries: readonly Row[], rows: readonly Row[], what: string): void {
    const groups = [false, true].map((isArchived) => ({
      some: entries.filter(({ archived }) => (archived === true) === isArchived),
      alike: rows.filter(({ archived }) => (archived === true) === isArchived),
    }));
    if (groups.some(({ some, alike }) => alike.length === 0 || some.length > alike.length))
      this.#pairAlike(entries, rows, what);
    else for (const { some, alike } of groups) if (some.length > 0) this.#pairAlike(some, alike, what);
  }
  #pairAlike(entries: readonly Row[], rows: readonly Row[], what: string): void {
    const isOne = entries.length === 1 && rows.length === 1;
    const open = isOne ? entries : this.#pairUnchanged(entries, rows);
    const free = rows.filter((one) => !this.#taken.has(one));
    const [entry, row] = [open[0], free[0]];
    if (entry !== undefined && row !== undefined && open.length === 1 && free.length === 1)
      this.#pair(entry, row);
    else if (entry !== undefined && row !== undefined) this.#noteUnclear(open, free, what);
    else for (const one of free) if (entries.some((other) => this.#isKept(other, one))) this.alike.add(one);
  }
  #noteUnclear(entries: readonly Row[], rows: readonly Row[], what: string): void {
    const text = `may be any of ${rows.length} records with ${what}: ${idsOf(rows)}`;
    const hint = 'change one record at a time by its ID, or rename it';
    for (const entry of entries) this.unclear.set(entry, { text, hint });
    for (const row of rows) this.#taken.add(row);
  }
  /** Pairs entries with records that need no change. Returns the other entries. */
  #pairUnchanged(entries: readonly Row[], rows: readonly Row[]): Row[] {
    const pairFirst = (entry: Row, some: readonly (Row | undefined)[]): boolean => {
      const row = some.find((one) => one && !this.#taken.has(one) && this.#isKept(entry, one));
      if (row !== undefined) this.#pair(entry, row);
      return row !== undefined;
    };
    // A file lists the records in the order of the service unless a person moved them.
    const moved = entries.filter((entry, i) => !pairFirst(entry, [rows[i]]));
    return moved.filter((entry) => !pairFirst(entry, rows));
  }
}
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
    'story.state': { kind: 'workflowStates', key: 'name' },
  },
};
/** The value of `labels` or of `story.labels`: one name or a list of names. */
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
type Names = { readonly known: ReadonlySet<string>; readonly renamed: ReadonlyMap<string, string> };
/** What the things of one list will be called, and what they were called before. */
const namesAfter = (wanted: readonly Row[], rows: readonly Row[], key: string): Names => {
  const isEqual = (entry: Row, row: Row): boolean =>
    Object.entries(entry).every(
      ([field, value]) => !(field in row) || typeof value === 'object' || same(value, row[field]),
    );
  const records = new Pairing(wanted, rows, isEqual);
  const renamed = new Map<string, string>();
  for (const [entry, row] of records.pairs) {
    if (entry[key] !== undefined && row[key] !== entry[key])
      renamed.set(String(row[key]), String(entry[key]));
  }
  return { known: new Set([...wanted, ...records.rest()].map((row) => String(row[key]))), renamed };
};
/** For each list that others point into: its names after this plan. Lists that the file does not have cannot be checked. */
const namesOf = (workspace: Workspace, current: Current): ReadonlyMap<string, Names> => {
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
const afterRenames = (kindName: string, shown: Row, names: ReadonlyMap<string, Names>): Row => {
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
const dangling = (workspace: Workspace, names: ReadonlyMap<string, Names>): Problem[] =>
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

type FieldChange = { readonly from: unknown; readonly to: unknown };
export type Action = {
  readonly action: 'create' | 'update' | 'delete' | 'archive';
  readonly kind: string;
  readonly name: string;
  readonly id?: unknown;
  readonly changes: Readonly<Record<string, FieldChange>>;
};
export type PlanOptions = { readonly prune: boolean; readonly force: boolean };
export type Plan = {
  readonly actions: readonly Action[];
  readonly kept: number;
  readonly refused: readonly Problem[];
  readonly extra: readonly { readonly kind: string; readonly name: string }[];
};
const sortValues = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item !== 'object')
    ? [...new Set(value)].sort()
    : value;
/**
 * For an unset text, absent, null and empty are equivalent. The order of a list of names is not significant.
 */
const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(sortValues(a ?? '') ?? '') === JSON.stringify(sortValues(b ?? '') ?? '');
type ValueRow = { readonly value: string; readonly color_key?: unknown };
/** Without --prune a value that the file leaves out stays, behind those that it names. */
const keptValues = (wanted: unknown, now: unknown, prune: boolean): unknown => {
  if (prune || !Array.isArray(wanted)) return wanted;
  const left = ((now as ValueRow[] | undefined) ?? []).filter(
    (row) => !(wanted as ValueRow[]).some(({ value }) => value === row.value),
  );
  return [...wanted, ...left];
};
const sameValues = (wanted: unknown, now: unknown): boolean => {
  const a = wanted as ValueRow[];
  const b = now as ValueRow[];
  return (
    a.length === b.length &&
    a.every(
      (row, i) =>
        row.value === b[i]?.value && (row.color_key === undefined || same(row.color_key, b[i]?.color_key)),
    )
  );
};
/** Moments are the same however their offsets are written. */
const isAsWanted = (field: Field | undefined, name: string, to: unknown, now: unknown): boolean => {
  if (name === 'values') return sameValues(to, now);
  if (name === 'story') return !contentsDiffer((to ?? {}) as Row, (now ?? {}) as Row);
  const isMoment = field?.type === 'string' && field.format === 'datetime';
  return isMoment && typeof to === 'string' && typeof now === 'string'
    ? Date.parse(to) === Date.parse(now)
    : same(to, now);
};
const changesOf = (
  kind: WorkspaceKind,
  wanted: Row,
  shown: Row,
  prune: boolean,
): Record<string, FieldChange> => {
  const found: Record<string, FieldChange> = {};
  // --prune archives records that the service cannot delete. An entry that returns to the file undoes that.
  if (kind.remove === undefined && shown.archived === true && wanted.archived === undefined)
    found.archived = { from: true, to: false };
  for (const [name, given] of Object.entries(wanted)) {
    if (kind.once?.includes(name) || !(name in shown)) continue;
    const to = name === 'values' ? keptValues(given, shown.values, prune) : given;
    if (isAsWanted(kind.fields[name], name, to, shown[name])) continue;
    // A change keeps the parts of a story that the file has unchanged: their names may belong to several records.
    found[name] =
      name === 'story'
        ? contentsChange(to as Row, (shown.story ?? {}) as Row)
        : { from: shown[name] ?? null, to };
  }
  return found;
};
type Part = { actions: Action[]; kept: number; refused: Problem[]; extra: { kind: string; name: string }[] };
/** Everything that planning one list needs, and where it puts what it finds. */
type Planning = {
  readonly current: Current;
  readonly lookup: RecordLookup;
  readonly options: PlanOptions;
  readonly names: ReadonlyMap<string, Names>;
  readonly part: Part;
  readonly forms: Map<string, TextForms>;
};
const planRest = (
  kindName: string,
  kind: WorkspaceKind,
  records: Pairing,
  { lookup, options, part }: Planning,
): void => {
  for (const row of records.rest()) {
    const name = String(row.name);
    if (!options.prune || kindName === 'custom_fields') {
      part.extra.push({ kind: kindName, name });
      continue;
    }
    if (records.alike.has(row)) {
      const text = `is not pruned: an entry of the file describes the record ${row.id} as well as another one`;
      part.refused.push(problem(`${kindName}: ${name}`, 'rule', text, 'delete one of them by its ID'));
      continue;
    }
    const usedBy = kind.usedBy(row, lookup);
    if (usedBy !== undefined && !options.force) {
      part.refused.push(
        problem(
          `${kindName}: ${name}`,
          'rule',
          `is used by ${usedBy} and is not pruned`,
          '--force prunes it anyway',
        ),
      );
    } else if (kind.remove !== undefined)
      part.actions.push({ action: 'delete', kind: kindName, name, id: row.id, changes: {} });
    else if (row.archived !== true)
      part.actions.push({
        action: 'archive',
        kind: kindName,
        name,
        id: row.id,
        changes: { archived: { from: false, to: true } },
      });
  }
};
/** The service finds labels and categories by their names, which are unique. */
const FOUND_BY_SERVICE: ReadonlySet<string> = new Set(['labels', 'categories']);
/** Records that a changed field names. Of two with one name, only the author of the file knows which one it means. */
const ambiguousNames = (
  kindName: string,
  name: string,
  changes: Readonly<Record<string, FieldChange>>,
  { lookup, current }: Planning,
): Problem[] =>
  Object.entries(references[kindName] ?? {}).flatMap(([path, { kind, key }]) => {
    const [field = ''] = path.split('.');
    if (FOUND_BY_SERVICE.has(kind) || changes[field] === undefined) return [];
    const { templates, ...own } = lookup;
    const lists: Current = { ...current, ...own, ...templates };
    return namesAt({ [field]: changes[field].to }, path).flatMap((wanted) => {
      const ids = (lists[kind] ?? []).flatMap((row) => (row[key] === wanted ? [row.id] : []));
      const text = `${path} names ${JSON.stringify(wanted)}, which ${ids.length} ${kind} have: ${ids.join(', ')}`;
      return ids.length < 2
        ? []
        : [problem(`${kindName}: ${name}`, 'rule', text, 'rename all but one of them')];
    });
  });
/** Stories keep the ID of a value of a custom field. Of two values with one text, none is chosen. */
const ambiguousValues = (
  kindName: string,
  name: string,
  { values }: Readonly<Record<string, FieldChange>>,
): Problem[] => {
  const textsIn = (rows: unknown): unknown[] =>
    Array.isArray(rows) ? (rows as ValueRow[]).map(({ value }) => value) : [];
  const [now, wanted] = [textsIn(values?.from), textsIn(values?.to)];
  const doubled = [now, wanted].flatMap((all) => all.filter((text, i) => all.indexOf(text) < i));
  return [...new Set(doubled)].map((text) =>
    problem(
      `${kindName}: ${name}`,
      'rule',
      `values contains ${JSON.stringify(text)} twice`,
      'rename all but one of them',
    ),
  );
};
/** The names of a list by their canonical form: a name that looks like another one would be a second record. */
const formsOf = (kindName: string, { current, forms }: Planning): TextForms => {
  const known =
    forms.get(kindName) ?? new TextForms((current[kindName] ?? []).map(({ name }) => String(name)));
  forms.set(kindName, known);
  return known;
};
const planNew = (kindName: string, kind: WorkspaceKind, entry: Row, planning: Planning): void => {
  const { part } = planning;
  const name = String(entry.name);
  const forms = formsOf(kindName, planning);
  const other = forms.findOther(name);
  forms.note(name);
  if (other !== undefined)
    part.refused.push(
      problem(
        `${kindName}: ${name}`,
        'rule',
        `is ${showForm(name)}, which looks the same as ${showForm(other)}`,
        lookalikeHint,
      ),
    );
  if (kind.create === undefined) {
    part.refused.push(
      problem(`${kindName}: ${name}`, 'rule', 'does not exist, and the service has no way to create it'),
    );
    return;
  }
  const changes = Object.fromEntries(Object.entries(entry).map(([field, to]) => [field, { from: null, to }]));
  part.refused.push(
    ...ambiguousNames(kindName, name, changes, planning),
    ...ambiguousValues(kindName, name, changes),
  );
  part.actions.push({ action: 'create', kind: kindName, name, changes });
};
const planKind = (
  kindName: string,
  wanted: readonly Row[],
  rows: readonly Row[],
  planning: Planning,
): void => {
  const kind = workspaceKinds[kindName];
  if (kind === undefined) return;
  const { lookup, options, names, part } = planning;
  const changesFor = (entry: Row, row: Row): Record<string, FieldChange> =>
    changesOf(kind, entry, afterRenames(kindName, kind.show(row, lookup), names), options.prune);
  const records = new Pairing(wanted, rows, (entry, row) => Object.keys(changesFor(entry, row)).length === 0);
  for (const entry of wanted) {
    const row = records.pairs.get(entry);
    const unclear = records.unclear.get(entry);
    if (unclear !== undefined) {
      part.refused.push(problem(`${kindName}: ${entry.name}`, 'rule', unclear.text, unclear.hint));
      continue;
    }
    if (row === undefined) {
      planNew(kindName, kind, entry, planning);
      continue;
    }
    const changes = changesFor(entry, row);
    part.refused.push(
      ...ambiguousNames(kindName, String(row.name), changes, planning),
      ...ambiguousValues(kindName, String(row.name), changes),
    );
    if (Object.keys(changes).length === 0) part.kept += 1;
    else part.actions.push({ action: 'update', kind: kindName, name: String(row.name), id: row.id, changes });
  }
  planRest(kindName, kind, records, planning);
};
/** A name or a key may occur as often as in the service (two sprints with the same name), otherwise once. */
const findDoubled = (workspace: Workspace, current: Current): Problem[] =>
  Object.entries(workspace).flatMap(([kind, entries = []]) =>
    ['name', 'external_id'].flatMap((field) => {
      const there = byKey(current[kind] ?? [], field);
      return [
        ...byKey(
          entries.map((entry, i) => ({ ...entry, i })),
          field,
        ),
      ].flatMap(([value, same]) => {
        if (value === undefined || value === null || value === '') return [];
        const [first] = same;
        return same
          .slice(Math.max(1, there.get(value)?.length ?? 0))
          .map(({ i }) =>
            problem(
              `${kind}[${i}].${field}`,
              'rule',
              `repeats ${JSON.stringify(value)} of ${kind}[${first?.i}]`,
              field === 'name'
                ? 'remove one of the two entries'
                : 'give each record its own external_id, or remove the key',
            ),
          );
      });
    }),
  );
/**
 * Returns the minimal list of changes that make the service match the file. Deletes come last, in reverse
 * order. Pure.
 */
export const planWorkspace = (
  workspace: Workspace,
  current: Current,
  lookup: RecordLookup,
  options: PlanOptions,
): Plan => {
  const names = namesOf(workspace, current);
  const problems = [...findDoubled(workspace, current), ...dangling(workspace, names)];
  if (problems.length > 0) throw usageError('the workspace file contradicts itself', problems);
  const forms = new Map<string, TextForms>();
  const part: Part = { actions: [], kept: 0, refused: [], extra: [] };
  for (const kind of kindNames) {
    const wanted = workspace[kind];
    if (wanted !== undefined)
      planKind(kind, wanted, current[kind] ?? [], { current, lookup, options, names, part, forms });
  }
  const removals = part.actions.filter(({ action }) => action === 'delete').reverse();
  return { ...part, actions: [...part.actions.filter(({ action }) => action !== 'delete'), ...removals] };
};
/** An incomplete plan is not applied at all. */
export const refusal = (plan: Plan): AppError | undefined =>
  plan.refused.length === 0
    ? undefined
    : new AppError('unsafe', 'the plan is rejected; no changes were made', {
        code: 'PLAN_REFUSED',
        problems: plan.refused,
      });
const formatValue = (value: unknown): string => cutText(JSON.stringify(value) ?? '', 60);
const sign = { create: '+', update: '~', delete: '-', archive: '-' } as const;
/** The plan as people read it: one line an action, its changes below. */
export const planText = (plan: Plan): string => {
  const lines = plan.actions.flatMap(({ action, kind, name, changes }) => [
    `${sign[action]} ${action} ${kind}: ${name}`,
    ...(action === 'update'
      ? Object.entries(changes).map(
          ([field, { from, to }]) => `    ${field}: ${formatValue(from)} → ${formatValue(to)}`,
        )
      : []),
  ]);
  // `tracker apply` rejects the whole plan because of them.
  const refused = plan.refused.map(({ path, message, hint }) =>
    [`! ${path} ${message}`, ...(hint === undefined ? [] : [`(${hint})`])].join(' '),
  );
  const extra =
    plan.extra.length > 0
      ? [`${plan.extra.length} more in the service than in the file; --prune removes them`]
      : [];
  const counts = [
    `${plan.actions.length} to change`,
    ...(refused.length > 0 ? [`${refused.length} rejected`] : []),
    `${plan.kept} match the file`,
  ].join(', ');
  const isEqual = plan.actions.length + refused.length === 0;
  const total = isEqual ? `no changes needed: ${plan.kept} match the file` : counts;
  return `${[...lines, ...refused, ...extra, total].join('\n')}\n`;
};
