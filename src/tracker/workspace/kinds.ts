import { type Fields, list, obj, req, str, bare } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { type TemplateLookup, contentsShown } from './template-contents.ts';
import { storyFields } from './template-fields.ts';
import { fieldsOfRows, namesOfRecords } from './fields.ts';

const { table } = tracker;
export type Row = Readonly<Record<string, unknown>>;
/** A workspace file: only the lists that stand in it are looked at. */
export type Workspace = Readonly<Record<string, readonly Row[] | undefined>>;
/** What the service has, by list. */
export type Current = Readonly<Record<string, readonly Row[]>>;
/** What must be known to turn ids into names and back. */
export type Lookup = {
  readonly groups: readonly Row[];
  readonly epics: readonly Row[];
  readonly objectives: readonly Row[];
  /** States of the epic workflow. */
  readonly epicStates: readonly Row[];
  /** Only where the file has templates. */
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
  readonly show: (row: Row, lookup: Lookup) => Row;
  /** Why a record must not be pruned without --force; undefined when nothing uses it. */
  readonly usedBy: (row: Row, lookup: Lookup) => string | undefined;
};

const rows = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : []);
const names = (value: unknown): unknown[] => rows(value).map((row) => row.name);
const pick = (row: Row, keys: readonly string[]): Row =>
  Object.fromEntries(keys.map((key) => [key, row[key]]));
/** Ids of one record as the names that the file has for them. */
const namesFor = (ids: unknown, among: readonly Row[], key: string): unknown[] =>
  ((ids as unknown[] | undefined) ?? []).map((id) => among.find((one) => one.id === id)?.[key] ?? id);
const number = (row: Row, ...path: string[]): number =>
  Number(path.reduce<unknown>((at, key) => (at as Row | undefined)?.[key], row) ?? 0);
const stories = (count: number): string | undefined =>
  count > 0 ? `${count} ${count === 1 ? 'story' : 'stories'}` : undefined;

/** One value of a custom field: what its row takes but the id, which the service gives. */
const valueFields = (): Fields => {
  const values = bare(table['custom-fields'].update.body.values);
  const item = bare(values.type === 'array' ? values.items : values);
  if (item.type !== 'object') throw new Error('values of a custom field are objects');
  const { value: text = str(), color_key: color = str() } = item.fields;
  return { value: req(text), color_key: { ...color, nullable: true } };
};
const value = obj(valueFields());

/** In the order in which they are applied: what others refer to comes first. */
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
        rows(objective.categories).some(({ id }) => id === row.id),
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
      values: rows(row.values).map((v) => pick(v, ['value', 'color_key'])),
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
      // The list of iterations is slim: without a description there is nothing to compare.
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
    usedBy: (row) => stories(rows(row.story_ids).length),
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
