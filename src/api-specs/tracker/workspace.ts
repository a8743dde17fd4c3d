import { bool, help, int, list, obj, orNull, req, secret, str, url, uuid } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import { description, createStoryContents, name128, updateStoryContents } from './fields.ts';
import { epicWorkflow as epicWorkflowRecord } from './planning-records.ts';
import {
  storySlim,
  customField,
  member,
  memberInfo,
  repository,
  webhook,
  entityTemplate,
} from './records.ts';

const id = { 'custom-field-public-id': req(help(uuid(), 'The custom field')) } as const;
const columns = ['id', 'name', 'enabled', 'position'] as const;
/** spec/tracker#custom-fields-2: order is the sort order, omitted is deleted, no id is new. */
const values = list(
  obj({ id: uuid(), value: str(undefined, { min: 1 }), color_key: orNull(str()), enabled: bool() }),
  {
    summary: 'All values in order: omitted values are deleted, values without an ID are created',
  },
);
export const customFields = {
  list: op({
    method: 'GET',
    path: '/custom-fields',
    summary: 'List custom fields',
    cites: 'spec/tracker#custom-fields',
    ok: 200,
    returns: list(customField),
    cli: { columns },
  }),
  get: op({
    method: 'GET',
    path: '/custom-fields/{custom-field-public-id}',
    summary: 'Show a custom field',
    cites: 'spec/tracker#custom-fields',
    params: id,
    ok: 200,
    returns: customField,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/custom-fields/{custom-field-public-id}',
    summary: 'Change a custom field and its values',
    cites: 'spec/tracker#custom-fields',
    params: id,
    body: {
      after_id: help(uuid(), 'Move the record after this field'),
      before_id: help(uuid(), 'Move the record before this field'),
      description,
      enabled: help(bool(), 'Only enabled fields can be applied to stories'),
      icon_set_identifier: help(str(63, { min: 1 }), 'Icon'),
      name: help(str(63, { min: 1 }), 'Name'),
      values,
    },
    ok: 200,
    returns: customField,
    errors: ['DataConflictError'],
    cli: {
      columns,
      examples: ['opsctl tracker custom-fields update 33333333-0000-4000-8000-000000000001 --enabled false'],
    },
  }),
  delete: op({
    method: 'DELETE',
    path: '/custom-fields/{custom-field-public-id}',
    summary: 'Delete a custom field',
    cites: 'spec/tracker#custom-fields',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete custom field {custom-field}? This removes its values from all stories.' },
  }),
} as const satisfies Resource;

const membersColumns = ['id', 'profile.name', 'profile.mention_name', 'role', 'disabled'] as const;
export const members = {
  me: op({
    method: 'GET',
    path: '/member',
    summary: 'Show the member that owns the token',
    cites: 'spec/tracker#members',
    ok: 200,
    returns: memberInfo,
    cli: { columns: ['id', 'name', 'mention_name', 'role'] },
  }),
  list: op({
    method: 'GET',
    path: '/members',
    summary: 'List members',
    cites: 'spec/tracker#members',
    query: { disabled: help(bool(), 'true: only disabled members; false: only enabled') },
    ok: 200,
    returns: list(member),
    cli: { columns: membersColumns },
  }),
  get: op({
    method: 'GET',
    path: '/members/{member-public-id}',
    summary: 'Show a member',
    cites: 'spec/tracker#members',
    params: { 'member-public-id': req(help(uuid(), 'The member')) },
    ok: 200,
    returns: member,
    cli: { columns: membersColumns },
  }),
} as const satisfies Resource;

const repositoriesColumns = ['id', 'full_name', 'type', 'url'] as const;
export const repositories = {
  list: op({
    method: 'GET',
    path: '/repositories',
    summary: 'List repositories',
    cites: 'spec/tracker#repositories',
    ok: 200,
    returns: list(repository),
    cli: { columns: repositoriesColumns },
  }),
  get: op({
    method: 'GET',
    path: '/repositories/{repo-public-id}',
    summary: 'Show a repository',
    cites: 'spec/tracker#repositories',
    params: { 'repo-public-id': req(help(int(), 'The repository')) },
    ok: 200,
    returns: repository,
    cli: { columns: repositoriesColumns },
  }),
} as const satisfies Resource;

export const epicWorkflow = {
  get: op({
    method: 'GET',
    path: '/epic-workflow',
    summary: 'Show the epic workflow and its states',
    cites: 'spec/tracker#epic-workflow',
    ok: 200,
    returns: epicWorkflowRecord,
    cli: { columns: ['id', 'default_epic_state_id', 'epic_states'] },
  }),
} as const satisfies Resource;

export const externalLinks = {
  stories: op({
    method: 'GET',
    path: '/external-link/stories',
    summary: 'List the stories that have an external link',
    cites: 'spec/tracker#external-links',
    query: { external_link: req(help(str(2048, { min: 1 }), 'The link')) },
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'external_links'] },
  }),
} as const satisfies Resource;

const webhooksId = { 'integration-public-id': req(help(int(), 'The webhook integration')) } as const;
/**
 * spec/tracker#webhooks. The registration returns no body; `Location` names the new record
 * (spec/program#choices).
 */
export const webhooks = {
  create: op({
    method: 'POST',
    path: '/integrations/webhook',
    summary: 'Register a webhook',
    cites: 'spec/tracker#webhooks',
    body: {
      webhook_url: req(help(url(2048), 'URL that receives the events')),
      secret: secret(help(str(128, { min: 1 }), 'Key that signs the events')),
    },
    ok: 204,
    cli: {
      examples: [
        'opsctl tracker webhooks create --webhook-url https://hooks.example/in --secret-file hook-secret.txt',
      ],
    },
  }),
  get: op({
    method: 'GET',
    path: '/integrations/webhook/{integration-public-id}',
    summary: 'Show a webhook',
    cites: 'spec/tracker#webhooks',
    params: webhooksId,
    ok: 200,
    returns: webhook,
    cli: { columns: ['id', 'webhook_url', 'disabled', 'has_secret'] },
  }),
  delete: op({
    method: 'DELETE',
    path: '/integrations/webhook/{integration-public-id}',
    summary: 'Delete a webhook',
    cites: 'spec/tracker#webhooks',
    params: webhooksId,
    ok: 204,
    cli: { confirm: 'Delete webhook {integration}? The service stops sending events to it.' },
  }),
} as const satisfies Resource;

const templateId = { 'entity-template-public-id': req(help(uuid(), 'The template')) } as const;
const templateColumns = ['id', 'name', 'author_id', 'last_used_at'] as const;

export const entityTemplates = {
  list: op({
    method: 'GET',
    path: '/entity-templates',
    summary: 'List story templates',
    cites: 'spec/tracker#entity-templates',
    ok: 200,
    returns: list(entityTemplate),
    cli: { columns: templateColumns },
  }),
  create: op({
    method: 'POST',
    path: '/entity-templates',
    summary: 'Create a story template',
    cites: 'spec/tracker#entity-templates',
    body: {
      name: req(help(name128, 'Name')),
      story_contents: req(
        help(
          obj(createStoryContents, { name: 'CreateStoryContents' }),
          'Initial contents of a story from this template',
        ),
      ),
      author_id: help(uuid(), 'Author (default: the owner of the token)'),
    },
    ok: 201,
    returns: entityTemplate,
    cli: {
      columns: templateColumns,
      examples: [
        'opsctl tracker entity-templates create --name Bug --story-contents \'{"story_type":"bug"}\'',
      ],
    },
  }),
  disable: op({
    method: 'PUT',
    path: '/entity-templates/disable',
    summary: 'Disable story templates for the workspace',
    cites: 'spec/tracker#entity-templates',
    ok: 204,
  }),
  enable: op({
    method: 'PUT',
    path: '/entity-templates/enable',
    summary: 'Enable story templates for the workspace',
    cites: 'spec/tracker#entity-templates',
    ok: 204,
  }),
  get: op({
    method: 'GET',
    path: '/entity-templates/{entity-template-public-id}',
    summary: 'Show a story template',
    cites: 'spec/tracker#entity-templates',
    params: templateId,
    ok: 200,
    returns: entityTemplate,
    cli: { columns: templateColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/entity-templates/{entity-template-public-id}',
    summary: 'Change a story template',
    cites: 'spec/tracker#entity-templates',
    params: templateId,
    body: {
      name: help(name128, 'Name'),
      story_contents: help(
        obj(updateStoryContents, { name: 'UpdateStoryContents' }),
        'Changes to the template contents',
      ),
    },
    ok: 200,
    returns: entityTemplate,
    cli: { columns: templateColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/entity-templates/{entity-template-public-id}',
    summary: 'Delete a story template',
    cites: 'spec/tracker#entity-templates',
    params: templateId,
    ok: 204,
    cli: { confirm: 'Delete story template {entity-template}?' },
  }),
} as const satisfies Resource;
