import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Tracker } from '../state.ts';
import {
  epicsExist,
  filesExist,
  groupsExist,
  iterationsExist,
  linkedFilesExist,
  membersExist,
  projectsExist,
  storiesExist,
  workflowStateExists,
} from './references.ts';
import { iterationsAreOn } from './features.ts';

type StoryInput = {
  readonly epic_id?: number | null;
  readonly file_ids?: readonly number[];
  readonly follower_ids?: readonly string[];
  readonly group_id?: string | null;
  readonly iteration_id?: number | null;
  readonly linked_file_ids?: readonly number[];
  readonly owner_ids?: readonly string[];
  readonly project_id?: number | null;
  readonly requested_by_id?: string;
  readonly workflow_state_id?: number;
  readonly tasks?: readonly { readonly owner_ids?: readonly string[] }[];
};

/** spec/tracker#errors-1 "unprocessable": every record that a story (or the contents of a story template) names exists. */
export const storyReferencesExist = (state: Tracker, input: StoryInput, at = ''): void => {
  epicsExist(state, `${at}epic_id`, input.epic_id);
  filesExist(state, `${at}file_ids`, input.file_ids);
  membersExist(state, `${at}follower_ids`, input.follower_ids);
  groupsExist(state, `${at}group_id`, input.group_id);
  iterationsExist(state, `${at}iteration_id`, input.iteration_id);
  linkedFilesExist(state, `${at}linked_file_ids`, input.linked_file_ids);
  membersExist(state, `${at}owner_ids`, input.owner_ids);
  projectsExist(state, `${at}project_id`, input.project_id);
  membersExist(state, `${at}requested_by_id`, input.requested_by_id);
  workflowStateExists(state, input.workflow_state_id);
  for (const [index, task] of (input.tasks ?? []).entries())
    membersExist(state, `${at}tasks[${index}].owner_ids`, task.owner_ids);
  // spec/tracker#states-6: with it off, nothing new goes into an iteration.
  if (typeof input.iteration_id === 'number') iterationsAreOn(state);
};

/** spec/tracker#stories story links, spec/tracker#errors-1: a link joins two different stories that exist. */
export const linkJoinsTwoStories = (state: Tracker, subjectId: number, objectId: number): void => {
  storiesExist(state, 'subject_id', subjectId);
  storiesExist(state, 'object_id', objectId);
  if (subjectId !== objectId) return;
  throw new HttpError(422, 'A story cannot be linked to itself.', {
    problems: [problem('object_id', 'rule', 'is the subject itself')],
  });
};

/** spec/tracker#stories-4: a story is a part of another story that exists, and never of one of its own parts. */
export const parentIsAnotherStory = (
  state: Tracker,
  parent: number | null | undefined,
  self?: number,
): void => {
  if (parent === null || parent === undefined) return;
  storiesExist(state, 'parent_story_id', parent);
  const seen = new Set<number>();
  for (let at: number | null | undefined = parent; typeof at === 'number' && !seen.has(at); ) {
    if (at === self)
      throw new HttpError(422, 'A story cannot be a part of itself.', {
        problems: [problem('parent_story_id', 'rule', 'is the story itself or one of its parts')],
      });
    seen.add(at);
    at = state.stories.get(at)?.parent_story_id;
  }
};
