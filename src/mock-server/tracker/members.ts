import type { Value } from '../../core/field.ts';
import type { epicWorkflow } from '../../api-specs/tracker/epic-workflow.ts';
import type { members } from '../../api-specs/tracker/members.ts';
import type { repositories } from '../../api-specs/tracker/repositories.ts';
import type { member } from '../../api-specs/tracker/workspace-records.ts';
import type { Handlers } from '../table-service.ts';
import { found, ownerId } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredMember } from './row.ts';

const memberRecord = (state: Tracker, one: StoredMember): Value<typeof member> => ({
  ...one,
  group_ids: state.groups.filter(({ member_ids: ids }) => ids.includes(one.id)).map(({ id }) => id),
});

export const memberHandlers: Handlers<{ members: typeof members }, Tracker>['members'] = {
  // spec/tracker#members: "the authenticated member".
  me: ({ state }) => {
    const { id, role, profile } = found(state.members, ownerId(state));
    const { organization2, workspace2 } = found(state.workspace, 'workspace');
    return {
      id,
      name: profile.name,
      mention_name: profile.mention_name,
      role,
      is_owner: profile.is_owner,
      organization2,
      workspace2,
    };
  },
  // spec/tracker#members: "disabled bool (true: only disabled members; false: only enabled)"; all without it.
  list: ({ state, query }) =>
    state.members
      .filter(({ disabled }) => query.disabled === undefined || disabled === query.disabled)
      .map((one) => memberRecord(state, one)),
  get: ({ state, params }) => memberRecord(state, found(state.members, params['member-public-id'])),
};

export const repositoryHandlers: Handlers<{ repositories: typeof repositories }, Tracker>['repositories'] = {
  list: ({ state }) => [...state.repositories.values()],
  get: ({ state, params }) => found(state.repositories, params['repo-public-id']),
};

export const epicWorkflowHandlers: Handlers<
  { 'epic-workflow': typeof epicWorkflow },
  Tracker
>['epic-workflow'] = {
  get: ({ state }) => found(state.epicWorkflow, 'epic-workflow'),
};
