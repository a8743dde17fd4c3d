import { help, list, obj, req, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { createStoryContents, name128, updateStoryContents } from './fields.ts';
import { entityTemplate } from './records.ts';

const id = { 'entity-template-public-id': req(help(uuid(), 'The template')) } as const;
const columns = ['id', 'name', 'author_id', 'last_used_at'] as const;

export const entityTemplates = {
  list: op({
    method: 'GET',
    path: '/entity-templates',
    summary: 'List story templates',
    cites: 'spec/tracker#entity-templates',
    ok: 200,
    returns: list(entityTemplate),
    cli: { columns },
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
      columns,
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
    params: id,
    ok: 200,
    returns: entityTemplate,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/entity-templates/{entity-template-public-id}',
    summary: 'Change a story template',
    cites: 'spec/tracker#entity-templates',
    params: id,
    body: {
      name: help(name128, 'Name'),
      story_contents: help(
        obj(updateStoryContents, { name: 'UpdateStoryContents' }),
        'Changes to the template contents',
      ),
    },
    ok: 200,
    returns: entityTemplate,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/entity-templates/{entity-template-public-id}',
    summary: 'Delete a story template',
    cites: 'spec/tracker#entity-templates',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete story template {entity-template}?' },
  }),
} as const satisfies Resource;
