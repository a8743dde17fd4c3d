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
  url,
  uuid,
} from '../../core/field.ts';
import { labelSlim, linkedFile, uploadedFile } from './fields.ts';
import { storyCustomField } from './story-records.ts';

/** spec/tracker#records Group.display_icon and Member.profile.display_icon. */
const icon = record('Icon', {
  id: uuid(),
  url: str(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});

/** spec/tracker#records Group (a team). */
export const group = record('Group', {
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
});

/** spec/tracker#records Member. spec/tracker#enums for role and state. */
export const member = record('Member', {
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
});

/** spec/tracker#records MemberInfo. */
export const memberInfo = record('MemberInfo', {
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
});

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
