import { type Fields, bool, color, date, int, list, obj, oneOf, orNull, req, str } from '../core/field.ts';
import type { Operation } from '../core/operation.ts';
import { tracker } from '../api-specs/tracker/index.ts';

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
};

/** One list of a workspace file: its fields, its endpoints, and how a record of the service reads in the file. */
export type WorkspaceKind = {
  readonly fields: Fields;
  readonly list: Operation;
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
const number = (row: Row, ...path: string[]): number =>
  Number(path.reduce<unknown>((at, key) => (at as Row | undefined)?.[key], row) ?? 0);
const stories = (count: number): string | undefined =>
  count > 0 ? `${count} ${count === 1 ? 'story' : 'stories'}` : undefined;

const long = str(100_000);
const value = obj({ value: req(str(63, { min: 1 })), color_key: orNull(str()) });

/** In the order in which they are applied: what others refer to comes first. */
export const workspaceKinds: Readonly<Record<string, WorkspaceKind>> = {
  labels: {
    ...table.labels,
    remove: table.labels.delete,
    fields: {
      name: req(str(128, { min: 1 })),
      external_id: str(128, { min: 1 }),
      color: orNull(color()),
      description: str(1024),
      archived: bool(),
    },
    once: ['external_id'],
    show: (row) => pick(row, ['name', 'external_id', 'color', 'description', 'archived']),
    usedBy: (row) =>
      stories(number(row, 'stats', 'num_stories_total')) ??
      (number(row, 'stats', 'num_epics') > 0 ? `${number(row, 'stats', 'num_epics')} epics` : undefined),
  },
  categories: {
    ...table.categories,
    remove: table.categories.delete,
    fields: {
      name: req(str(128, { min: 1 })),
      external_id: str(128, { min: 1 }),
      color: orNull(color()),
      archived: bool(),
    },
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
      name: req(str(63, { min: 1 })),
      mention_name: req(str(63, { min: 1 })),
      description: str(4096),
      color: orNull(color()),
      member_ids: list(str(undefined, { min: 1 })),
      workflow_ids: list(int()),
      archived: bool(),
    },
    show: (row) =>
      pick(row, ['name', 'mention_name', 'description', 'color', 'member_ids', 'workflow_ids', 'archived']),
    usedBy: (row) => stories(number(row, 'num_stories')),
  },
  custom_fields: {
    list: table['custom-fields'].list,
    update: table['custom-fields'].update,
    fields: {
      name: req(str(63, { min: 1 })),
      description: str(),
      enabled: bool(),
      icon_set_identifier: str(63),
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
      name: req(str(256, { min: 1 })),
      description: long,
      state: oneOf('to do', 'in progress', 'done'),
      categories: list(str(128)),
      archived: bool(),
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
    fields: {
      name: req(str(128, { min: 1 })),
      external_id: str(128),
      team_id: req(int()),
      abbreviation: str(63),
      color: color(),
      description: long,
      archived: bool(),
    },
    once: ['external_id'],
    show: (row) =>
      pick(row, ['name', 'external_id', 'team_id', 'abbreviation', 'color', 'description', 'archived']),
    usedBy: (row) => stories(number(row, 'stats', 'num_stories')),
  },
  iterations: {
    ...table.iterations,
    remove: table.iterations.delete,
    fields: {
      name: req(str(256, { min: 1 })),
      start_date: req(date()),
      end_date: req(date()),
      description: long,
      labels: list(str(128)),
      groups: list(str(63)),
    },
    show: (row, { groups }) => ({
      ...pick(row, ['name', 'start_date', 'end_date']),
      // The list of iterations is slim: without a description there is nothing to compare.
      ...(row.description === undefined ? {} : { description: row.description }),
      labels: names(row.labels),
      groups: ((row.group_ids as unknown[] | undefined) ?? []).map(
        (id) => groups.find((group) => group.id === id)?.mention_name ?? id,
      ),
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
};
export const kindNames = Object.keys(workspaceKinds);
