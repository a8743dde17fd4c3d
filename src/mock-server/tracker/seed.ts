import { timestamp, type Tracker } from './state.ts';
import type {
  StoredMember,
  StoredWorkflow,
  StateType,
  StoredCustomField,
  StoredIteration,
  StoredObjective,
} from './row.ts';
import { createEpic } from './epics.ts';
import { newLabel } from './epic-view.ts';
import { createStory } from './stories.ts';

/** Readable identifiers: the first group encodes the kind, the last one the number. */
const ids = {
  owner: '11111111-0000-4000-8000-000000000001',
  ben: '11111111-0000-4000-8000-000000000002',
  cleo: '11111111-0000-4000-8000-000000000003',
  workspace: '22222222-0000-4000-8000-000000000001',
  organization: '22222222-0000-4000-8000-000000000002',
  priority: '33333333-0000-4000-8000-000000000001',
  area: '33333333-0000-4000-8000-000000000002',
  keyResultDone: '55555555-0000-4000-8000-000000000001',
  keyResultCount: '55555555-0000-4000-8000-000000000002',
  group: '66666666-0000-4000-8000-000000000001',
  template: '77777777-0000-4000-8000-000000000001',
  document: '88888888-0000-4000-8000-000000000001',
  health: '99999999-0000-4000-8000-000000000001',
} as const;
/** Whole-number identifiers of what the API cannot make; all below the first that the sequence gives (101). */
const numbers = {
  workflow: 1,
  toDo: 11,
  doing: 12,
  done: 13,
  backlog: 10,
  epicWorkflow: 2,
  epicToDo: 21,
  epicDoing: 22,
  epicDone: 23,
  repository: 31,
} as const;

const DAY_MS = 86_400_000;
const none: never[] = [];
const noMentions = { mention_ids: none, member_mention_ids: none, group_mention_ids: none };
const fieldOf = (
  at: string,
  id: string,
  name: string,
  position: number,
  values: readonly [string, string][],
): StoredCustomField => ({
  id,
  name,
  description: `${name} of a story`,
  canonical_name: name.toLowerCase().replaceAll(' ', '_'),
  enabled: true,
  entity_type: 'custom-field',
  field_type: 'enum',
  icon_set_identifier: 'circle',
  position,
  created_at: at,
  updated_at: at,
  values: values.map(([value, colorKey], index) => ({
    id: `${id.replace('33333333', '44444444').slice(0, -2)}${position}${index + 1}`,
    value,
    color_key: colorKey,
    position: index,
    enabled: true,
    entity_type: 'custom-field-enum-value',
  })),
});
const seedFields = (state: Tracker, at: string): void => {
  const priority = fieldOf(at, ids.priority, 'Priority', 1, [
    ['Low', 'blue'],
    ['Medium', 'yellow'],
    ['High', 'red'],
  ]);
  const area = fieldOf(at, ids.area, 'Product Area', 2, [
    ['Web', 'green'],
    ['Mobile', 'purple'],
    ['Billing', 'orange'],
  ]);
  for (const field of [priority, area]) state.customFields.put(field.id, field);
};
const seedObjective = (state: Tracker, at: string): StoredObjective => {
  const { id: category } = put(state.categories, {
    id: state.env.store.next('tracker.ids', 101),
    name: 'Growth',
    color: '#2266cc',
    external_id: 'cat-growth',
    archived: false,
    entity_type: 'category',
    created_at: at,
    updated_at: at,
  });
  const objective = put(state.objectives, {
    id: state.env.store.next('tracker.ids'),
    name: 'Faster sign-up',
    description: 'A new customer is working within five minutes.',
    archived: false,
    category_ids: [category],
    completed: false,
    completed_at: null,
    completed_at_override: null,
    started: true,
    started_at: at,
    started_at_override: null,
    state: 'in progress',
    position: state.env.store.next('tracker.objective-position'),
    entity_type: 'objective',
    created_at: at,
    updated_at: at,
  });
  seedKeyResults(state, objective.id);
  return objective;
};
const seedKeyResults = (state: Tracker, objective: number): void => {
  put(state.keyResults, {
    id: ids.keyResultDone,
    name: 'The new form is live',
    objective_id: objective,
    type: 'boolean',
    initial_observed_value: { boolean_value: false },
    current_observed_value: { boolean_value: false },
    current_target_value: { boolean_value: true },
  });
  put(state.keyResults, {
    id: ids.keyResultCount,
    name: 'Sign-ups a week',
    objective_id: objective,
    type: 'numeric',
    initial_observed_value: { numeric_value: '100' },
    current_observed_value: { numeric_value: '150' },
    current_target_value: { numeric_value: '300' },
  });
};
const put = <T extends { id: number | string }>(
  collection: { put(id: number | string, record: T): void },
  record: T,
): T => {
  collection.put(record.id, record);
  return record;
};
const seedTeam = (state: Tracker, at: string): void => {
  put(state.repositories, {
    id: numbers.repository,
    name: 'web',
    full_name: 'acme/web',
    external_id: '4711',
    type: 'github',
    url: 'https://git.example.com/acme/web',
    entity_type: 'repository',
    created_at: at,
    updated_at: at,
  });
  put(state.groups, {
    id: ids.group,
    name: 'Platform',
    mention_name: 'platform',
    description: 'Keeps everything running',
    archived: false,
    color: '#0055aa',
    color_key: 'blue',
    default_workflow_id: numbers.workflow,
    display_icon_id: null,
    icon_at: null,
    entity_type: 'group',
    member_ids: [ids.owner, ids.ben],
    workflow_ids: [numbers.workflow],
  });
};
const seedProject = (state: Tracker, at: string) =>
  put(state.projects, {
    id: state.env.store.next('tracker.ids'),
    name: 'Web shop',
    abbreviation: 'web',
    description: 'The shop in the browser',
    archived: false,
    color: '#118833',
    external_id: 'proj-web',
    follower_ids: [ids.owner],
    iteration_length: 2,
    days_to_thermometer: 14,
    show_thermometer: true,
    start_time: at,
    team_id: 1,
    workflow_id: numbers.workflow,
    entity_type: 'project',
    created_at: at,
    updated_at: at,
  });
const seedIteration = (state: Tracker, at: string): StoredIteration => {
  const now = state.env.now();
  return put(state.iterations, {
    id: state.env.store.next('tracker.ids'),
    name: 'Sprint 1',
    description: 'Two weeks for the sign-up form',
    start_date: timestamp(now - 2 * DAY_MS).slice(0, 10),
    end_date: timestamp(now + 11 * DAY_MS).slice(0, 10),
    follower_ids: [ids.ben],
    group_ids: [ids.group],
    ...noMentions,
    label_ids: [],
    entity_type: 'iteration',
    created_at: at,
    updated_at: at,
  });
};
/** An epic that is linked with a roadmap of the planning tool. */
const seedEpic = (state: Tracker, label: string, objective: number): { readonly id: number } => {
  const epic = createEpic(state, {
    name: 'Sign-up in five minutes',
    description: 'From the first click to the first order.',
    epic_state_id: numbers.epicDoing,
    group_ids: [ids.group],
    labels: [{ name: label }],
    objective_ids: [objective],
    owner_ids: [ids.owner],
    follower_ids: [ids.ben],
    external_id: 'epic-signup',
  });
  return put(state.epics, {
    ...epic,
    planningtool_id: 'aaaaaaaa-0000-4000-8000-000000000001',
    planningtool_plugin_id: 'aaaaaaaa-0000-4000-8000-000000000002',
    planningtool_name: 'Roadmap 2026',
    planningtool_url: 'https://plans.example.com/roadmap/2026',
  });
};
/** spec/program#mock-server: a project, epic, iteration, label and group with two or more stories that have descriptions and external links. */
const seedDemo = (state: Tracker, at: string): void => {
  seedFields(state, at);
  const objective = seedObjective(state, at);
  seedTeam(state, at);
  const project = seedProject(state, at);
  const iteration = seedIteration(state, at);
  const label = newLabel(state, {
    name: 'onboarding',
    color: '#cc4400',
    description: 'First steps of a customer',
    external_id: 'lab-onboarding',
  });
  const epic = seedEpic(state, label.name, objective.id);
  state.iterations.put(iteration.id, { ...iteration, label_ids: [label.id] });
  seedStories(state, {
    epic_id: epic.id,
    project_id: project.id,
    iteration_id: iteration.id,
    group_id: ids.group,
    labels: [{ name: label.name }],
    owner_ids: [ids.ben],
  });
  seedTexts(state, at);
};
/** Three stories of one place; `story` is what they have in common. */
const seedStories = (state: Tracker, story: Omit<Parameters<typeof createStory>[1], 'name'>): void => {
  const priority = state.customFields.get(ids.priority)?.values[2];
  createStory(state, {
    ...story,
    name: 'Sign-up form with three fields',
    description: 'Name, e-mail and password; nothing else. cc @platform',
    story_type: 'feature',
    estimate: 4,
    workflow_state_id: numbers.doing,
    external_links: ['https://docs.example.com/sign-up', 'https://design.example.com/form'],
    custom_fields: priority === undefined ? [] : [{ field_id: ids.priority, value_id: priority.id }],
    tasks: [{ description: 'Draw the form', complete: true }, { description: 'Build the form' }],
  });
  createStory(state, {
    ...story,
    name: 'Welcome e-mail arrives twice',
    description: 'Seen since the last release.',
    story_type: 'bug',
    estimate: 2,
    workflow_state_id: numbers.done,
    external_links: ['https://docs.example.com/sign-up'],
  });
  createStory(state, {
    ...story,
    name: 'Measure the time to the first order',
    description: 'One chart a week.',
    story_type: 'chore',
    workflow_state_id: numbers.toDo,
    external_links: ['https://charts.example.com/first-order'],
  });
};
const seedTexts = (state: Tracker, at: string): void => {
  const contents = {
    name: 'Bug: ',
    description: 'What happened, and what should have?',
    story_type: 'bug',
    entity_type: 'story-contents',
  };
  const author = { author_id: ids.owner, created_at: at, updated_at: at };
  put(state.templates, {
    id: ids.template,
    name: 'Bug report',
    entity_type: 'entity-template',
    last_used_at: at,
    story_contents: contents,
    ...author,
  });
  put(state.documents, { id: ids.document, title: 'Release checklist', content: '# Before\n\n# After' });
};

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
