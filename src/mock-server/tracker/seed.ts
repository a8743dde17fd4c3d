import { timestamp, type Tracker } from './state.ts';
import type { StoredMember, StoredWorkflow, StateType } from './row.ts';
import { ids, numbers, seedDemo } from './seed-demo.ts';

const memberOf = (
  at: string,
  id: string,
  name: string,
  mention: string,
  role: string,
  disabled: boolean,
): StoredMember => ({
  id,
  created_at: at,
  updated_at: at,
  disabled,
  entity_type: 'member',
  role,
  state: disabled ? 'disabled' : 'full',
  profile: {
    id: id.replace('11111111', '11111112'),
    name,
    mention_name: mention,
    email_address: `${mention}@example.com`,
    avatar_hash: null,
    deactivated: disabled,
    is_owner: role === 'owner',
    two_factor_auth_activated: role === 'owner',
    display_icon: null,
    entity_type: 'profile',
  },
});

const seedMembers = (state: Tracker, at: string): void => {
  const members = [
    memberOf(at, ids.owner, 'Ana Ortiz', 'ana', 'owner', false),
    memberOf(at, ids.ben, 'Ben Okafor', 'ben', 'member', false),
    memberOf(at, ids.cleo, 'Cleo Lind', 'cleo', 'member', true),
  ];
  for (const member of members) state.members.put(member.id, member);
};

const seedWorkflow = (state: Tracker, at: string): void => {
  const stateOf = (
    id: number,
    name: string,
    type: StateType,
    position: number,
  ): StoredWorkflow['states'][number] => ({
    id,
    name,
    description: '',
    color: '#7a869a',
    verb: null,
    type,
    position,
    num_stories: 0,
    num_story_templates: 0,
    entity_type: 'workflow-state',
    created_at: at,
    updated_at: at,
  });
  state.workflows.put(numbers.workflow, {
    id: numbers.workflow,
    name: 'Engineering',
    description: 'From backlog to done',
    team_id: 1,
    project_ids: [],
    states: [
      stateOf(numbers.backlog, 'Backlog', 'backlog', 0),
      stateOf(numbers.toDo, 'Ready', 'unstarted', 1),
      stateOf(numbers.doing, 'In Progress', 'started', 2),
      stateOf(numbers.done, 'Completed', 'done', 3),
    ],
    default_state_id: numbers.toDo,
    auto_assign_owner: false,
    entity_type: 'workflow',
    created_at: at,
    updated_at: at,
  });
};

const seedEpicWorkflow = (state: Tracker, at: string): void => {
  const epicStateOf = (id: number, name: string, type: string, position: number) => ({
    id,
    name,
    description: '',
    color: '#7a869a',
    type,
    position,
    entity_type: 'epic-state',
    created_at: at,
    updated_at: at,
  });
  state.epicWorkflow.put('epic-workflow', {
    id: numbers.epicWorkflow,
    created_at: at,
    updated_at: at,
    entity_type: 'epic-workflow',
    default_epic_state_id: numbers.epicToDo,
    epic_states: [
      epicStateOf(numbers.epicToDo, 'To Do', 'unstarted', 1),
      epicStateOf(numbers.epicDoing, 'In Progress', 'started', 2),
      epicStateOf(numbers.epicDone, 'Done', 'done', 3),
    ],
  });
};

/**
 * spec/program#mock-server: what the API cannot make is there in any case (members, workflows, the workspace); `demo` adds records to
 * work with.
 */
export const seedTracker = (state: Tracker, kind: 'demo' | 'empty'): void => {
  const at = timestamp(state.env.now());
  seedMembers(state, at);
  seedWorkflow(state, at);
  seedEpicWorkflow(state, at);
  state.workspace.put('workspace', {
    owner: ids.owner,
    organization2: { id: ids.organization },
    workspace2: {
      id: ids.workspace,
      name: 'Acme',
      url_slug: 'acme',
      utc_offset: '+00:00',
      created_at: at,
      default_workflow_id: numbers.workflow,
      estimate_scale: [0, 1, 2, 4, 8],
    },
  });
  if (kind === 'demo') seedDemo(state, at);
};
