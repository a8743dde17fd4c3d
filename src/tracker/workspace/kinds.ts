import { countText } from '../../core/format.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { bare, type Field, type Fields, list, obj, orNull, req, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { problem, usageError } from '../../core/problem.ts';

type Rows = { readonly create?: Operation; readonly update: Operation };
/**
 * The fields of one list of a workspace file, derived from the rows that will apply them. The file allows a
 * value only if both the create and the update accept it, so that no value fails in the middle of an apply.
 * Names that identify the entries are required.
 */
const fieldsOfRows = ({ create, update }: Rows, names: readonly string[]): Fields =>
  Object.fromEntries(
    names.map((name): [string, Field] => {
      const made = create?.body?.[name];
      const changed = update.body?.[name];
      const field = changed ?? made;
      if (field === undefined) throw new Error(`neither ${update.path} nor its create has ${name}`);
      return [name, made?.required || name === 'name' ? req(field) : field];
    }),
  );
/** A list of names for inputs or IDs: each name has the limits of its record. */
const namesOfRecords = (named: Operation, key: string): Field => {
  const field = named.body?.[key];
  if (field === undefined) throw new Error(`${named.path} has no ${key}`);
  const { required: _, ...name } = bare(field) as Field & { required?: true };
  return list(name as Field);
};

const { table } = tracker;
const contents = bare(table['entity-templates'].update.body.story_contents);
const rows: Fields = contents.type === 'object' ? contents.fields : {};
const taskRow = (): Fields => {
  const tasks = rows.tasks === undefined ? undefined : bare(rows.tasks);
  const item = tasks?.type === 'array' ? bare(tasks.items) : undefined;
  return item?.type === 'object' ? item.fields : {};
};
const of = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, rows[name] ?? str()]));
const name = str(undefined, { min: 1 });
/** What a template puts into a story: the values of the endpoint, and everything else by the names of the other lists. */
const storyFields: Fields = {
  ...of('name', 'description', 'story_type', 'deadline', 'estimate', 'external_links'),
  state: name,
  epic: orNull(name),
  iteration: orNull(name),
  project: orNull(name),
  group: orNull(name),
  labels: namesOfRecords(table.labels.create, 'name'),
  linked_files: list(name),
  owner_ids: list(name),
  follower_ids: list(name),
  custom_fields: list(obj({ field: req(name), value: req(name) })),
  tasks: list(obj({ ...taskRow(), owner_ids: list(name) })),
};
/**
 * Keys of a template's contents that refer to one record of another list: the field of the endpoint, the list
 * and its key.
 */
const storyReferences = {
  epic: { body: 'epic_id', kind: 'epics', key: 'name' },
  iteration: { body: 'iteration_id', kind: 'iterations', key: 'name' },
  project: { body: 'project_id', kind: 'projects', key: 'name' },
  group: { body: 'group_id', kind: 'groups', key: 'mention_name' },
} as const;

export type Row = Readonly<Record<string, unknown>>;
/** What must be known to turn the ids of a template into names and back. */
export type TemplateLookup = {
  readonly epics: readonly Row[];
  readonly iterations: readonly Row[];
  readonly projects: readonly Row[];
  readonly groups: readonly Row[];
  readonly custom_fields: readonly Row[];
  readonly linked_files: readonly Row[];
  readonly workflowStates: readonly Row[];
};
type Given = { readonly [name: string]: unknown };
const givenRows = (value: unknown): readonly Given[] => value as readonly Given[];
const givenNames = (value: unknown): readonly string[] => value as readonly string[];
const PLAIN = [
  'name',
  'description',
  'story_type',
  'deadline',
  'estimate',
  'external_links',
  'owner_ids',
  'follower_ids',
] as const;
const nameOf = (rows: readonly Row[], id: unknown, key = 'name'): unknown =>
  rows.find((row) => row.id === id)?.[key] ?? id;
/** The ID of the record that a name means; a name without a record stays. Of several records, none is chosen. */
export const idOf = (rows: readonly Row[], name: unknown, key = 'name'): unknown => {
  const found = rows.filter((row) => row[key] === name);
  if (found.length > 1)
    throw usageError(`${JSON.stringify(name)} is the name of ${found.length} records`, [
      problem(
        key,
        'rule',
        `is ${JSON.stringify(name)} in ${found.map(({ id }) => id).join(', ')}`,
        'rename all but one of them',
      ),
    ]);
  return name === null ? null : (found[0]?.id ?? name);
};
const taskShown = ({ description, complete, external_id: externalId, owner_ids: owners }: Given): Row => ({
  description,
  complete: complete ?? false,
  ...(externalId ? { external_id: externalId } : {}),
  owner_ids: owners ?? [],
});
const valueShown = (fields: readonly Row[], { field_id: id, value }: Given): Row => ({
  field: nameOf(fields, id),
  value,
});
/** The contents of a template as the file has them: only what the template sets. */
const contentsShown = (contents: Given, lookup: TemplateLookup): Row => {
  const out: Record<string, unknown> = {};
  for (const key of PLAIN) if (contents[key] !== undefined) out[key] = contents[key];
  for (const [key, { body, kind, key: by }] of Object.entries(storyReferences))
    if (contents[body] !== undefined) out[key] = nameOf(lookup[kind], contents[body], by);
  if (contents.workflow_state_id !== undefined)
    out.state = nameOf(lookup.workflowStates, contents.workflow_state_id);
  for (const key of ['labels', 'linked_files'])
    if (contents[key] !== undefined) out[key] = givenRows(contents[key]).map(({ name }) => name);
  if (contents.custom_fields !== undefined)
    out.custom_fields = givenRows(contents.custom_fields).map((one) => valueShown(lookup.custom_fields, one));
  if (contents.tasks !== undefined) out.tasks = givenRows(contents.tasks).map(taskShown);
  return out;
};
const comparable = (key: string, value: unknown): string => {
  if (key === 'tasks') return JSON.stringify(givenRows(value).map(taskShown));
  if (key === 'deadline' && typeof value === 'string') return String(Date.parse(value));
  if (Array.isArray(value)) return JSON.stringify(value.map((one) => JSON.stringify(one)).sort());
  return JSON.stringify(value ?? '');
};
/** The values of the file that differ from the template. A key that the file omits stays unchanged. */
export const contentsDiffer = (wanted: Given, now: Given): boolean =>
  Object.entries(wanted).some(
    ([key, value]) =>
      comparable(key, value ?? '') !== comparable(key, now[key] ?? (key === 'tasks' ? [] : '')),
  );
/** The change of the keys of a template whose values differ. */
export const contentsChange = (wanted: Given, now: Given): { readonly from: Row; readonly to: Row } => {
  const keys = Object.keys(wanted).filter((key) => contentsDiffer({ [key]: wanted[key] }, now));
  const pickKeys = (given: Given): Row =>
    Object.fromEntries(keys.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])));
  return { from: pickKeys(now), to: pickKeys(wanted) };
};
/**
 * The contents in the form of the endpoint. A create has no null, because a missing value cannot be unset.
 */
export const contentsBody = (wanted: Given, lookup: TemplateLookup, isNew: boolean): Row => {
  const out: Record<string, unknown> = {};
  for (const key of PLAIN) if (wanted[key] !== undefined) out[key] = wanted[key];
  for (const [key, { body, kind, key: by }] of Object.entries(storyReferences))
    if (wanted[key] !== undefined) out[body] = idOf(lookup[kind], wanted[key], by);
  if (wanted.state !== undefined) out.workflow_state_id = idOf(lookup.workflowStates, wanted.state);
  if (wanted.labels !== undefined) out.labels = givenNames(wanted.labels).map((name) => ({ name }));
  if (wanted.linked_files !== undefined)
    out.linked_file_ids = givenNames(wanted.linked_files).map((name) => idOf(lookup.linked_files, name));
  if (wanted.custom_fields !== undefined)
    out.custom_fields = givenRows(wanted.custom_fields).map(({ field, value }) => ({
      field_id: idOf(lookup.custom_fields, field),
      value,
    }));
  if (wanted.tasks !== undefined) out.tasks = wanted.tasks;
  return isNew ? Object.fromEntries(Object.entries(out).filter(([, value]) => value !== null)) : out;
};

/** A workspace file. Only the lists in the file are compared. */
export type Workspace = Readonly<Record<string, readonly Row[] | undefined>>;
/** What the service has, by list. */
export type Current = Readonly<Record<string, readonly Row[]>>;
/** What must be known to turn ids into names and back. */
export type RecordLookup = {
  readonly groups: readonly Row[];
  readonly epics: readonly Row[];
  readonly objectives: readonly Row[];
  /** States of the epic workflow. */
  readonly epicStates: readonly Row[];
  /** Only if the file contains templates. */
  readonly templates?: TemplateLookup;
};
/** One list of a workspace file: its fields, its endpoints, and how a record of the service reads in the file. */
export type WorkspaceKind = {
  readonly fields: Fields;
  readonly list: Operation;
  /** Asks the list for what it leaves out otherwise. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly create?: Operation;
  readonly update: Operation;
  readonly remove?: Operation;
  /** Only sent when a record is made: the service has no way to change them. */
  readonly once?: readonly string[];
  readonly show: (row: Row, lookup: RecordLookup) => Row;
  /** Returns why a record must not be pruned without --force; undefined if no record uses it. */
  readonly usedBy: (row: Row, lookup: RecordLookup) => string | undefined;
};
const rowsKinds = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : []);
const names = (value: unknown): unknown[] => rowsKinds(value).map((row) => row.name);
const pick = (row: Row, keys: readonly string[]): Row =>
  Object.fromEntries(keys.map((key) => [key, row[key]]));
/** Ids of one record as the names that the file has for them. */
const namesFor = (ids: unknown, among: readonly Row[], key: string): unknown[] =>
  ((ids as unknown[] | undefined) ?? []).map((id) => among.find((one) => one.id === id)?.[key] ?? id);
const number = (row: Row, ...path: string[]): number =>
  Number(path.reduce<unknown>((at, key) => (at as Row | undefined)?.[key], row) ?? 0);
const stories = (count: number): string | undefined =>
  count > 0 ? countText(count, 'story', 'stories') : undefined;
/** One value of a custom field: what its row takes but the id, which the service gives. */
const valueFields = (): Fields => {
  const values = bare(table['custom-fields'].update.body.values);
  const item = bare(values.type === 'array' ? values.items : values);
  if (item.type !== 'object') throw new Error('values of a custom field are objects');
  const { value: text = str(), color_key: color = str() } = item.fields;
  return { value: req(text), color_key: { ...color, nullable: true } };
};
const value = obj(valueFields());
/** In the order of application: referenced records come first. */
export const workspaceKinds: Readonly<Record<string, WorkspaceKind>> = {
  labels: {
    ...table.labels,
    remove: table.labels.delete,
    fields: fieldsOfRows(table.labels, ['name', 'external_id', 'color', 'description', 'archived']),
    once: ['external_id'],
    show: (row) => pick(row, ['name', 'external_id', 'color', 'description', 'archived']),
    usedBy: (row) =>
      stories(number(row, 'stats', 'num_stories_total')) ??
      (number(row, 'stats', 'num_epics') > 0 ? `${number(row, 'stats', 'num_epics')} epics` : undefined),
  },
  categories: {
    ...table.categories,
    remove: table.categories.delete,
    fields: fieldsOfRows(table.categories, ['name', 'external_id', 'color', 'archived']),
    once: ['external_id'],
    show: (row) => pick(row, ['name', 'external_id', 'color', 'archived']),
    usedBy: (row, { objectives }) => {
      const using = objectives.filter((objective) =>
        rowsKinds(objective.categories).some(({ id }) => id === row.id),
      ).length;
      return using > 0 ? `${using} objectives` : undefined;
    },
  },
  groups: {
    ...table.groups,
    fields: {
      ...fieldsOfRows(table.groups, [
        'name',
        'mention_name',
        'description',
        'color',
        'workflow_ids',
        'archived',
      ]),
      // Members by id or by name.
      member_ids: list(str(undefined, { min: 1 })),
    },
    show: (row) =>
      pick(row, ['name', 'mention_name', 'description', 'color', 'member_ids', 'workflow_ids', 'archived']),
    usedBy: (row) => stories(number(row, 'num_stories')),
  },
  custom_fields: {
    list: table['custom-fields'].list,
    update: table['custom-fields'].update,
    fields: {
      ...fieldsOfRows({ update: table['custom-fields'].update }, [
        'name',
        'description',
        'enabled',
        'icon_set_identifier',
      ]),
      values: list(value),
    },
    show: (row) => ({
      ...pick(row, ['name', 'description', 'enabled', 'icon_set_identifier']),
      values: rowsKinds(row.values).map((v) => pick(v, ['value', 'color_key'])),
    }),
    usedBy: () => 'its values',
  },
  objectives: {
    ...table.objectives,
    remove: table.objectives.delete,
    fields: {
      ...fieldsOfRows(table.objectives, ['name', 'description', 'state', 'archived']),
      categories: namesOfRecords(table.categories.create, 'name'),
    },
    show: (row) => ({
      ...pick(row, ['name', 'description', 'state']),
      categories: names(row.categories),
      archived: row.archived,
    }),
    usedBy: (row, { epics }) => {
      const using = epics.filter((epic) =>
        (epic.objective_ids as unknown[] | undefined)?.includes(row.id),
      ).length;
      return using > 0 ? `${using} epics` : undefined;
    },
  },
  projects: {
    ...table.projects,
    remove: table.projects.delete,
    fields: fieldsOfRows(table.projects, [
      'name',
      'external_id',
      'team_id',
      'abbreviation',
      'color',
      'description',
      'archived',
    ]),
    once: ['external_id'],
    show: (row) =>
      pick(row, ['name', 'external_id', 'team_id', 'abbreviation', 'color', 'description', 'archived']),
    usedBy: (row) => stories(number(row, 'stats', 'num_stories')),
  },
  iterations: {
    ...table.iterations,
    remove: table.iterations.delete,
    fields: {
      ...fieldsOfRows(table.iterations, ['name', 'start_date', 'end_date', 'description']),
      labels: namesOfRecords(table.labels.create, 'name'),
      groups: namesOfRecords(table.groups.create, 'mention_name'),
    },
    show: (row, { groups }) => ({
      ...pick(row, ['name', 'start_date', 'end_date']),
      // The list of iterations is slim: it has no descriptions to compare.
      ...(row.description === undefined ? {} : { description: row.description }),
      labels: names(row.labels),
      groups: namesFor(row.group_ids, groups, 'mention_name'),
    }),
    usedBy: (row) => {
      const stats = (row.stats ?? {}) as Row;
      return stories(
        ['num_stories_backlog', 'num_stories_done', 'num_stories_started', 'num_stories_unstarted'].reduce(
          (sum, key) => sum + Number(stats[key] ?? 0),
          0,
        ),
      );
    },
  },
  epics: {
    ...table.epics,
    remove: table.epics.delete,
    query: { includes_description: true },
    fields: {
      ...fieldsOfRows(table.epics, [
        'name',
        'external_id',
        'description',
        'deadline',
        'planned_start_date',
        'archived',
      ]),
      // The state by its name in the epic workflow, everything else by the names of the other lists.
      state: str(undefined, { min: 1 }),
      owner_ids: list(str(undefined, { min: 1 })),
      labels: namesOfRecords(table.labels.create, 'name'),
      groups: namesOfRecords(table.groups.create, 'mention_name'),
      objectives: namesOfRecords(table.objectives.create, 'name'),
    },
    show: (row, { groups, objectives, epicStates }) => ({
      ...pick(row, [
        'name',
        'external_id',
        'description',
        'deadline',
        'planned_start_date',
        'archived',
        'owner_ids',
      ]),
      state: epicStates.find(({ id }) => id === row.epic_state_id)?.name ?? row.epic_state_id,
      labels: names(row.labels),
      groups: namesFor(row.group_ids, groups, 'mention_name'),
      objectives: namesFor(row.objective_ids, objectives, 'name'),
    }),
    usedBy: (row) => stories(number(row, 'stats', 'num_stories_total')),
  },
  linked_files: {
    ...table['linked-files'],
    remove: table['linked-files'].delete,
    fields: fieldsOfRows(table['linked-files'], [
      'name',
      'type',
      'url',
      'description',
      'thumbnail_url',
      'size',
      'content_type',
    ]),
    once: ['content_type'],
    show: (row) => pick(row, ['name', 'type', 'url', 'description', 'thumbnail_url', 'size', 'content_type']),
    usedBy: (row) => stories(rowsKinds(row.story_ids).length),
  },
  entity_templates: {
    ...table['entity-templates'],
    remove: table['entity-templates'].delete,
    fields: {
      ...fieldsOfRows(table['entity-templates'], ['name']),
      story: req(obj(storyFields)),
    },
    show: (row, { templates }) => ({
      ...pick(row, ['name']),
      story: templates === undefined ? {} : contentsShown((row.story_contents ?? {}) as Row, templates),
    }),
    usedBy: () => undefined,
  },
};
export const kindNames = Object.keys(workspaceKinds);
