import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Tracker } from '../state.ts';

type Id = number | string;
type Known = { has(id: Id): boolean };

/** spec/tracker#errors-1 "unprocessable": a body that fits the schema but names a record that does not exist. */
const exists = (
  known: Known,
  kind: string,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => {
  if (ids === null || ids === undefined) return;
  for (const id of typeof ids === 'object' ? ids : [ids]) {
    if (known.has(typeof id === 'string' ? id.toLowerCase() : id)) continue;
    throw new HttpError(422, `There is no ${kind} ${id}.`, {
      problems: [problem(field, 'rule', `names ${kind} ${id}, which does not exist`)],
    });
  }
};

export const membersExist = (
  { members }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(members, 'member', field, ids);
export const groupsExist = (
  { groups }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(groups, 'group', field, ids);
export const objectivesExist = (
  { objectives }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(objectives, 'objective', field, ids);
export const epicsExist = (
  { epics }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(epics, 'epic', field, ids);
export const iterationsExist = (
  { iterations }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(iterations, 'iteration', field, ids);
export const projectsExist = (
  { projects }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(projects, 'project', field, ids);
export const storiesExist = (
  { stories }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(stories, 'story', field, ids);
export const filesExist = (
  { files }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(files, 'file', field, ids);
export const linkedFilesExist = (
  { linkedFiles }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(linkedFiles, 'linked file', field, ids);
export const workflowsExist = (
  { workflows }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(workflows, 'workflow', field, ids);
export const templatesExist = (
  { templates }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(templates, 'entity template', field, ids);

/** spec/tracker#states: "create or update with epic_state_id: id from the epic workflow". */
export const epicStateIsInWorkflow = (state: Tracker, id: number | undefined): void => {
  const ids = new Set<Id>(
    [...state.epicWorkflow.values()].flatMap((workflow) => workflow.epic_states.map((each) => each.id)),
  );
  exists(ids, 'state of the epic workflow', 'epic_state_id', id);
};
/** spec/tracker#records: a story is in a state of a workflow. */
export const workflowStateExists = (state: Tracker, id: number | undefined): void => {
  const ids = new Set<Id>(
    [...state.workflows.values()].flatMap((workflow) => workflow.states.map((each) => each.id)),
  );
  exists(ids, 'workflow state', 'workflow_state_id', id);
};
