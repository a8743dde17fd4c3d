import {
  bool,
  datetime,
  int,
  list,
  maybe,
  obj,
  oneOf,
  orNull,
  record,
  str,
  uuid,
  url,
} from '../../core/field.ts';
import { labelSlim, linkedFile, uploadedFile } from './fields.ts';

/** spec/tracker#records: StoryLink as part of a story; `type` is `subject` or `object`. */
const storyLinkInStory = record('TypedStoryLink', {
  id: int(),
  subject_id: int(),
  object_id: int(),
  type: str(),
  verb: str(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
const storyCustomField = obj({ field_id: uuid(), value: str(), value_id: uuid() }, { complete: true });

/** What StorySlim and Story share. */
const common = {
  app_url: str(),
  archived: bool(),
  blocked: bool(),
  blocker: bool(),
  completed: bool(),
  completed_at: orNull(datetime()),
  completed_at_override: orNull(datetime()),
  created_at: datetime(),
  custom_fields: list(storyCustomField),
  cycle_time: orNull(int()),
  deadline: orNull(datetime()),
  description: maybe(str(100_000)),
  entity_type: str(),
  epic_id: orNull(int()),
  estimate: orNull(int()),
  external_id: orNull(str(1024)),
  external_links: list(str()),
  follower_ids: list(uuid()),
  group_id: orNull(uuid()),
  group_mention_ids: list(uuid()),
  id: int(),
  iteration_id: orNull(int()),
  label_ids: list(int()),
  labels: list(labelSlim),
  lead_time: orNull(int()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
  moved_at: orNull(datetime()),
  name: str(512),
  owner_ids: list(uuid()),
  position: int(),
  previous_iteration_ids: list(int()),
  project_id: orNull(int()),
  requested_by_id: uuid(),
  started: bool(),
  started_at: orNull(datetime()),
  started_at_override: orNull(datetime()),
  stats: obj({ num_related_documents: int() }, { complete: true }),
  story_links: list(storyLinkInStory),
  story_template_id: orNull(uuid()),
  story_type: str(),
  updated_at: datetime(),
  workflow_id: int(),
  workflow_state_id: int(),
} as const;

/** What the slim form has instead of the records themselves. */
const slimOnly = {
  comment_ids: list(int()),
  file_ids: list(int()),
  linked_file_ids: list(int()),
  num_tasks_completed: int(),
  task_ids: list(int()),
} as const;

/** spec/tracker#records StorySlim. */
export const storySlim = record('StorySlim', { ...common, ...slimOnly });

/** spec/tracker#records: Task. */
export const task = record('Task', {
  id: int(),
  story_id: int(),
  description: str(2048),
  complete: bool(),
  completed_at: orNull(datetime()),
  position: int(),
  owner_ids: list(uuid()),
  group_mention_ids: list(uuid()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
  external_id: orNull(str(128)),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records: StoryComment. */
export const storyComment = record('StoryComment', {
  id: int(),
  story_id: int(),
  text: orNull(str(100_000)),
  author_id: uuid(),
  app_url: str(),
  deleted: bool(),
  entity_type: str(),
  external_id: orNull(str(128)),
  position: int(),
  parent_id: orNull(int()),
  reactions: list(obj({ emoji: str(), permission_ids: list(uuid()) }, { complete: true })),
  blocker: bool(),
  unblocks_parent: bool(),
  group_mention_ids: list(uuid()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records: Full Story. Repositories are read-only here, so a story never has branches, commits or pull requests. */
const nested = {
  branches: list(obj({}, { complete: true })),
  comments: list(storyComment),
  commits: list(obj({}, { complete: true })),
  files: list(uploadedFile),
  linked_files: list(linkedFile),
  pull_requests: list(obj({}, { complete: true })),
  tasks: list(task),
} as const;
export const story = record('Story', {
  ...common,
  ...nested,
  parent_story_id: maybe(orNull(int())),
  sub_task_story_ids: maybe(list(int())),
});

/** spec/tracker#records: story search result, in full or slim detail. */
export const storySearchResult = record('StorySearchResult', {
  ...common,
  ...slimOnly,
  branches: maybe(nested.branches),
  comments: maybe(nested.comments),
  commits: maybe(nested.commits),
  files: maybe(nested.files),
  linked_files: maybe(nested.linked_files),
  pull_requests: maybe(nested.pull_requests),
  tasks: maybe(nested.tasks),
});

export const storyVerb = oneOf('blocks', 'duplicates', 'relates to');
export const storyLink = record('StoryLink', {
  id: int(),
  subject_id: int(),
  object_id: int(),
  verb: storyVerb,
  subject_workflow_state_id: int(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records: WorkflowState and Workflow. */
export const workflowState = record('WorkflowState', {
  id: int(),
  name: str(),
  description: str(),
  color: str(),
  verb: orNull(str()),
  type: oneOf('backlog', 'unstarted', 'started', 'done'),
  position: int(),
  num_stories: int(),
  num_story_templates: int(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
export const workflow = record('Workflow', {
  id: int(),
  name: str(),
  description: str(),
  team_id: int(),
  project_ids: list(int()),
  states: list(workflowState),
  default_state_id: int(),
  auto_assign_owner: bool(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records Group.display_icon and Member.profile.display_icon. */
const icon = record('Icon', {
  id: uuid(),
  url: str(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records Group (a team). */
export const group = record(
  'Group',
  {
    id: uuid(),
    name: str(63),
    mention_name: str(63),
    description: str(4096),
    app_url: str(),
    archived: bool(),
    color: orNull(str()),
    color_key: orNull(str()),
    default_workflow_id: maybe(orNull(int())),
    display_icon: orNull(icon),
    entity_type: str(),
    member_ids: list(uuid()),
    workflow_ids: list(int()),
    num_epics_started: int(),
    num_stories: int(),
    num_stories_backlog: int(),
    num_stories_started: int(),
  },
  'mention_name',
);

/** spec/tracker#records Member. spec/tracker#enums for role and state. */
export const member = record(
  'Member',
  {
    id: uuid(),
    created_at: datetime(),
    updated_at: datetime(),
    disabled: bool(),
    entity_type: str(),
    group_ids: list(uuid()),
    role: str(),
    state: oneOf('full', 'partial', 'disabled', 'imported'),
    profile: record('Profile', {
      id: uuid(),
      name: str(),
      mention_name: str(),
      email_address: orNull(str()),
      avatar_hash: orNull(str()),
      deactivated: bool(),
      is_owner: bool(),
      two_factor_auth_activated: bool(),
      display_icon: orNull(icon),
      entity_type: str(),
    }),
  },
  'profile.mention_name',
);

/** spec/tracker#records MemberInfo. */
export const memberInfo = record(
  'MemberInfo',
  {
    id: uuid(),
    name: str(),
    mention_name: str(),
    role: str(),
    is_owner: bool(),
    organization2: record('BasicOrganization', { id: uuid() }),
    workspace2: record('BasicWorkspace', {
      id: uuid(),
      name: str(),
      url_slug: str(),
      utc_offset: str(),
      created_at: datetime(),
      default_workflow_id: int(),
      estimate_scale: list(int()),
    }),
  },
  'mention_name',
);

/** spec/tracker#records Repository. spec/tracker#enums for the type. */
export const repository = record('Repository', {
  id: int(),
  name: str(),
  full_name: str(),
  external_id: str(),
  type: str(),
  url: str(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

export const customFieldValue = record('CustomFieldEnumValue', {
  id: uuid(),
  value: str(),
  color_key: orNull(str()),
  position: int(),
  enabled: bool(),
  entity_type: str(),
});
/**
 * spec/tracker#records CustomField. Only the update body defines `enabled` of a value. Responses also contain
 * it, so that clients can see it.
 */
export const customField = record('CustomField', {
  id: uuid(),
  name: str(63),
  description: str(),
  canonical_name: orNull(str()),
  enabled: bool(),
  entity_type: str(),
  field_type: str(),
  icon_set_identifier: orNull(str(63)),
  position: int(),
  created_at: datetime(),
  updated_at: datetime(),
  values: list(customFieldValue),
});

/** spec/tracker#records DocSlim. */
export const docSlim = record('DocSlim', { id: uuid(), title: orNull(str(256)), app_url: str() });

/** spec/tracker#records EntityTemplate. spec/tracker#records: every field of the contents may be absent. */
const storyContents = record('StoryContents', {
  custom_fields: maybe(list(storyCustomField)),
  deadline: maybe(datetime()),
  description: maybe(str(100_000)),
  entity_type: maybe(str()),
  epic_id: maybe(int()),
  estimate: maybe(int()),
  external_links: maybe(list(str())),
  files: maybe(list(uploadedFile)),
  follower_ids: maybe(list(uuid())),
  group_id: maybe(uuid()),
  iteration_id: maybe(int()),
  label_ids: maybe(list(int())),
  labels: maybe(list(labelSlim)),
  linked_files: maybe(list(linkedFile)),
  name: maybe(str(512)),
  owner_ids: maybe(list(uuid())),
  project_id: maybe(int()),
  story_type: maybe(str()),
  tasks: maybe(
    list(
      obj(
        {
          complete: bool(),
          description: str(2048),
          external_id: orNull(str(128)),
          owner_ids: list(uuid()),
          position: int(),
        },
        { complete: true, name: 'StoryContentsTask' },
      ),
    ),
  ),
  workflow_state_id: maybe(int()),
});
export const entityTemplate = record('EntityTemplate', {
  id: uuid(),
  name: str(128),
  author_id: uuid(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
  last_used_at: datetime(),
  story_contents: storyContents,
});

/** spec/tracker#webhooks: the service's record of a webhook. Responses never contain the secret. */
export const webhook = record('Webhook', {
  id: int(),
  entity_type: str(),
  type: str(),
  webhook_url: url(2048),
  disabled: bool(),
  creator_id: uuid(),
  has_secret: bool(),
  created_at: datetime(),
  updated_at: datetime(),
});
