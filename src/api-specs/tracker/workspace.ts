import { bool, help, list, obj, orNull, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { description } from './fields.ts';
import { customField } from './workspace-records.ts';

const id = { 'custom-field-public-id': req(help(uuid(), 'The custom field')) } as const;
const columns = ['id', 'name', 'enabled', 'position'] as const;

/** spec/tracker#custom-fields-2: order is the sort order, omitted is deleted, no id is new. */
const values = list(
  obj({ id: uuid(), value: str(undefined, { min: 1 }), color_key: orNull(str()), enabled: bool() }),
  {
    summary: 'All values in their order: one that is left out is deleted, one without id is made',
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
      after_id: help(uuid(), 'Move it behind this field'),
      before_id: help(uuid(), 'Move it before this field'),
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
    cli: { confirm: 'Delete custom field {custom-field}? Its values are taken off every story.' },
  }),
} as const satisfies Resource;
