import { help, list, oneOf, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { docSlim } from './workspace-records.ts';

const columns = ['id', 'title', 'app_url'] as const;

export const documents = {
  list: op({
    method: 'GET',
    path: '/documents',
    summary: 'List documents',
    cites: 'spec/tracker#documents',
    ok: 200,
    returns: list(docSlim),
    errors: ['DisabledFeatureError'],
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/documents',
    summary: 'Create a document',
    cites: 'spec/tracker#documents',
    body: {
      title: req(help(str(256, { min: 1 }), 'Title')),
      content: req(help(str(), 'Text')),
      // spec/tracker#documents-3: not in the document, and what the vendor's own tools send.
      content_format: help(oneOf('markdown', 'html'), 'Format of the text (default markdown)'),
    },
    ok: 201,
    returns: docSlim,
    errors: ['DisabledFeatureError'],
    cli: { columns, examples: ["opsctl tracker documents create --title Runbook --content '# Start'"] },
  }),
} as const satisfies Resource;
