import { bool, datetime, help, maybe, oneOf, orNull, record, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';

const id = { 'doc-public-id': req(help(uuid(), 'The document')) } as const;
const columns = ['id', 'title', 'updated_at', 'app_url'] as const;
const errors = ['DisabledFeatureError'] as const;
const format = oneOf('markdown', 'html');

/** spec/tracker#documents-3. */
const doc = record('Doc', {
  id: uuid(),
  title: orNull(str(256)),
  content_markdown: orNull(str()),
  content_html: maybe(orNull(str())),
  app_url: str(),
  archived: bool(),
  created_at: datetime(),
  updated_at: datetime(),
});

export const moreDocuments = {
  get: op({
    method: 'GET',
    path: '/documents/{doc-public-id}',
    summary: 'Show a document with its text',
    cites: 'spec/tracker#documents-3',
    params: id,
    query: { content_format: help(format, 'html gives the text as HTML too') },
    ok: 200,
    returns: doc,
    errors,
    extension: true,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/documents/{doc-public-id}',
    summary: 'Change a document',
    cites: 'spec/tracker#documents-3',
    params: id,
    body: {
      title: help(str(256, { min: 1 }), 'Title'),
      content: help(str(), 'Text'),
      content_format: help(format, 'Format of the text (default markdown)'),
    },
    ok: 200,
    returns: doc,
    errors,
    extension: true,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/documents/{doc-public-id}',
    summary: 'Delete a document',
    cites: 'spec/tracker#documents-3',
    params: id,
    ok: 204,
    errors,
    extension: true,
    cli: { confirm: 'Delete document {doc}?' },
  }),
} as const satisfies Resource;
