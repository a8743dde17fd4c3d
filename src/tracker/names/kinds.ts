import type { Operation } from '../../core/operation.ts';
import { customFields } from '../../api-specs/tracker/workspace.ts';
import { categories } from '../../api-specs/tracker/categories.ts';
import { entityTemplates } from '../../api-specs/tracker/entity-templates.ts';
import { epicWorkflow } from '../../api-specs/tracker/epic-workflow.ts';
import { epics } from '../../api-specs/tracker/epics.ts';
import { groups } from '../../api-specs/tracker/groups.ts';
import { iterations } from '../../api-specs/tracker/planning.ts';
import { labels } from '../../api-specs/tracker/labels.ts';
import { members } from '../../api-specs/tracker/members.ts';
import { objectives } from '../../api-specs/tracker/objectives.ts';
import { projects } from '../../api-specs/tracker/projects.ts';
import { repositories } from '../../api-specs/tracker/repositories.ts';
import { workflows } from '../../api-specs/tracker/story-parts.ts';

/** One thing that has an id and names. */
export type Named = { readonly id: string | number; readonly names: readonly string[] };
export type Kind = {
  readonly list: Operation;
  readonly query?: Readonly<Record<string, unknown>>;
  /** Records of one answer as ids and names; the first name is what completion offers. */
  readonly read: (answer: unknown) => Named[];
};

type Row = Record<string, unknown>;
const rows = (answer: unknown): Row[] => (Array.isArray(answer) ? (answer as Row[]) : []);
const texts = (...values: unknown[]): string[] =>
  values.filter((value): value is string => typeof value === 'string' && value !== '');
const byName = (answer: unknown): Named[] =>
  rows(answer).map((row) => ({ id: row.id as string | number, names: texts(row.name) }));
const named = (list: Operation): Kind => ({ list, read: byName });

const member = (row: Row): Named => {
  const profile = (row.profile ?? {}) as Row;
  return { id: row.id as string, names: texts(profile.mention_name, profile.name, profile.email_address) };
};
const states = (field: string) => (answer: unknown) =>
  (Array.isArray(answer) ? rows(answer) : [answer as Row]).flatMap((workflow) => byName(workflow?.[field]));

/** Everything of the tracker that people call by name. */
export const kinds: Readonly<Record<string, Kind>> = {
  category: named(categories.list),
  'custom-field': named(customFields.list),
  'entity-template': named(entityTemplates.list),
  epic: named(epics.list),
  'epic-state': { list: epicWorkflow.get, read: states('epic_states') },
  group: {
    list: groups.list,
    read: (answer) =>
      rows(answer).map((row) => ({ id: row.id as string, names: texts(row.mention_name, row.name) })),
  },
  iteration: named(iterations.list),
  label: { list: labels.list, query: { slim: true }, read: byName },
  member: { list: members.list, read: (answer) => rows(answer).map(member) },
  objective: named(objectives.list),
  project: named(projects.list),
  repository: {
    list: repositories.list,
    read: (answer) =>
      rows(answer).map((row) => ({ id: row.id as number, names: texts(row.full_name, row.name) })),
  },
  workflow: named(workflows.list),
  'workflow-state': { list: workflows.list, read: states('states') },
};
