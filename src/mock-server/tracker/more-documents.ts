import type { Value } from '../../core/field.ts';
import type { moreDocuments } from '../../api-specs/tracker/more-documents.ts';
import type { Handlers } from '../table-service.ts';
import { escapedHtml } from '../html.ts';
import { slimDocument } from './documents.ts';
import { found, now } from './records.ts';
import { documentsAreOn } from './rules/features.ts';
import type { Tracker } from './state.ts';
import type { StoredDocument } from './row.ts';

type Doc = Value<(typeof moreDocuments)['get']['returns']>;

/** Documents of an earlier version have no times. */
const BEFORE_TIMES = '1970-01-01T00:00:00Z';

/** spec/tracker#documents-3: paragraph by paragraph; what a program compares is the text, not its looks. */
const htmlOf = ({ content, format }: StoredDocument): string =>
  format === 'html'
    ? content
    : content
        .split(/\n{2,}/)
        .filter((part) => part !== '')
        .map((part) => `<p>${escapedHtml(part)}</p>`)
        .join('\n');

const docRecord = (state: Tracker, doc: StoredDocument, withHtml: boolean): Doc => ({
  ...slimDocument(state, doc.id, doc.title),
  content_markdown: doc.content,
  ...(withHtml ? { content_html: htmlOf(doc) } : {}),
  archived: false,
  created_at: doc.created_at ?? BEFORE_TIMES,
  updated_at: doc.updated_at ?? doc.created_at ?? BEFORE_TIMES,
});

export const moreDocumentHandlers: Handlers<{ documents: typeof moreDocuments }, Tracker>['documents'] = {
  get: ({ state, params, query }) => {
    documentsAreOn(state);
    return docRecord(state, found(state.documents, params['doc-public-id']), query.content_format === 'html');
  },
  update: ({ state, params, body }) => {
    documentsAreOn(state);
    const before = found(state.documents, params['doc-public-id']);
    const doc: StoredDocument = {
      ...before,
      ...(body.title === undefined ? {} : { title: body.title }),
      ...(body.content === undefined
        ? {}
        : { content: body.content, format: body.content_format ?? 'markdown' }),
      updated_at: now(state),
    };
    state.documents.put(doc.id, doc);
    return docRecord(state, doc, body.content_format === 'html');
  },
  delete: ({ state, params }) => {
    documentsAreOn(state);
    state.documents.delete(found(state.documents, params['doc-public-id']).id);
    return undefined;
  },
};
