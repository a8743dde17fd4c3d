import type { moreDocuments } from '../../api-specs/tracker/extension.ts';
import { type documents, files, type linkedFiles } from '../../api-specs/tracker/files.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { check } from '../../core/check.ts';
import type { Value } from '../../core/field.ts';
import { escapeHtml } from '../../core/text.ts';
import { HttpError } from '../body.ts';
import { Bytes, type Call, type Handlers } from '../table-service.ts';
import type { StoredDocument, StoredFile, StoredLinkedFile, StoredStory } from './row.ts';
import { membersExist, storiesExist, documentsAreOn } from './rules/stories.ts';
import {
  appUrl,
  findRecord,
  pickGiven,
  instant,
  mentions,
  newId,
  newUuid,
  now,
  ownerId,
  type Tracker,
} from './state.ts';

const filesOfStory = (story: StoredStory): readonly number[] => story.file_ids;
const linkedFilesOfStory = (story: StoredStory): readonly number[] => story.linked_file_ids;
const storiesWithFile = (state: Tracker, id: number): StoredStory[] => [
  ...state.stories.index('file', filesOfStory).get(id),
];
const storiesWithLinkedFile = (state: Tracker, id: number): StoredStory[] => [
  ...state.stories.index('linked-file', linkedFilesOfStory).get(id),
];
/** spec/tracker#records UploadedFile; `url` gives the bytes back. */
export const fileRecord = (state: Tracker, file: StoredFile) => ({
  ...file,
  story_ids: storiesWithFile(state, file.id).map(({ id }) => id),
  url: `${state.env.origin()}${tracker.basePath}/files/${file.id}/download`,
});
export const linkedFileRecord = (state: Tracker, file: StoredLinkedFile) => ({
  ...file,
  story_ids: storiesWithLinkedFile(state, file.id).map(({ id }) => id),
});

type Upload = { readonly filename: string; readonly contentType: string; readonly bytes: Uint8Array };
const store = (state: Tracker, upload: Upload): StoredFile => {
  const at = now(state);
  const file: StoredFile = {
    id: newId(state),
    // spec/tracker#files: "each file's name comes from the filename directive of its Content-Disposition".
    name: upload.filename,
    filename: upload.filename,
    description: null,
    content_type: upload.contentType,
    external_id: null,
    size: upload.bytes.length,
    thumbnail_url: null,
    uploader_id: ownerId(state),
    ...mentions(state, ''),
    entity_type: 'file',
    created_at: at,
    updated_at: at,
  };
  state.files.put(file.id, file);
  state.fileBytes.put(file.id, upload.bytes);
  return file;
};
const parts = ['file0', 'file1', 'file2', 'file3'] as const;
/** spec/tracker#limits-3: an upload is named by its part, and what may not be given as a name cannot come that way. */
const namesFit = (body: Call<Tracker, (typeof files)['create']>['body']): void => {
  const problems = parts.flatMap((part) =>
    body[part] === undefined ? [] : check(files.update.body.name, body[part].filename, `${part}.filename`),
  );
  if (problems.length > 0)
    throw new HttpError(400, 'The request included invalid or missing parameters.', { problems });
};
const create = ({ state, body }: Call<Tracker, (typeof files)['create']>) => {
  namesFit(body);
  storiesExist(state, 'story_id', body.story_id);
  const uploads = parts.flatMap((part) => body[part] ?? []);
  const stored = uploads.map((upload) => store(state, upload));
  const story = body.story_id === undefined ? undefined : state.stories.get(body.story_id);
  if (story !== undefined) {
    state.stories.put(story.id, {
      ...story,
      file_ids: [...story.file_ids, ...stored.map(({ id }) => id)],
      updated_at: now(state),
    });
  }
  return stored.map((file) => fileRecord(state, file));
};
/** Only characters that are allowed in a header; the full name follows in its encoded form (RFC 6266). */
const disposition = (name: string): string =>
  `attachment; filename="${name.replace(/[^\x20-\x7e]|["\\]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`;
export const fileHandlers: Handlers<{ files: typeof files }, Tracker>['files'] = {
  list: ({ state }) => [...state.files.values()].map((file) => fileRecord(state, file)),
  create,
  get: ({ state, params }) => fileRecord(state, findRecord(state.files, params['file-public-id'])),
  update: ({ state, params, body }) => {
    const file = findRecord(state.files, params['file-public-id']);
    membersExist(state, 'uploader_id', body.uploader_id);
    const changed: StoredFile = {
      ...file,
      ...pickGiven(body, 'external_id', 'name'),
      ...(body.description === undefined
        ? {}
        : { description: body.description, ...mentions(state, body.description) }),
      ...(body.uploader_id === undefined ? {} : { uploader_id: body.uploader_id.toLowerCase() }),
      created_at: instant(body.created_at) ?? file.created_at,
      updated_at: instant(body.updated_at) ?? now(state),
    };
    state.files.put(file.id, changed);
    return fileRecord(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.files, params['file-public-id']);
    for (const story of storiesWithFile(state, id)) {
      state.stories.put(story.id, { ...story, file_ids: story.file_ids.filter((one) => one !== id) });
    }
    state.files.delete(id);
    state.fileBytes.delete(id);
    return undefined;
  },
  download: ({ state, params, headers }) => {
    const file = findRecord(state.files, params['file-public-id']);
    headers['content-disposition'] = disposition(file.filename);
    // Bytes of a stranger must not run as a page of this origin.
    headers['x-content-type-options'] = 'nosniff';
    return new Bytes(findRecord(state.fileBytes, file.id), file.content_type);
  },
};

/** A linked file hangs on the story that was named last. */
const attach = (state: Tracker, id: number, storyId: number | undefined): void => {
  if (storyId === undefined) return;
  for (const story of storiesWithLinkedFile(state, id)) {
    if (story.id !== storyId)
      state.stories.put(story.id, {
        ...story,
        linked_file_ids: story.linked_file_ids.filter((one) => one !== id),
      });
  }
  const story = findRecord(state.stories, storyId);
  if (!story.linked_file_ids.includes(id))
    state.stories.put(storyId, { ...story, linked_file_ids: [...story.linked_file_ids, id] });
};
export const linkedFileHandlers: Handlers<{ 'linked-files': typeof linkedFiles }, Tracker>['linked-files'] = {
  list: ({ state }) => [...state.linkedFiles.values()].map((file) => linkedFileRecord(state, file)),
  create: ({ state, body }) => {
    membersExist(state, 'uploader_id', body.uploader_id);
    storiesExist(state, 'story_id', body.story_id);
    const at = now(state);
    const file: StoredLinkedFile = {
      id: newId(state),
      name: body.name,
      description: body.description ?? null,
      content_type: body.content_type ?? null,
      size: body.size ?? null,
      thumbnail_url: body.thumbnail_url ?? null,
      url: body.url,
      type: body.type,
      uploader_id: body.uploader_id?.toLowerCase() ?? ownerId(state),
      ...mentions(state, body.description),
      entity_type: 'linked-file',
      created_at: at,
      updated_at: at,
    };
    state.linkedFiles.put(file.id, file);
    attach(state, file.id, body.story_id);
    return linkedFileRecord(state, file);
  },
  get: ({ state, params }) =>
    linkedFileRecord(state, findRecord(state.linkedFiles, params['linked-file-public-id'])),
  update: ({ state, params, body }) => {
    const file = findRecord(state.linkedFiles, params['linked-file-public-id']);
    membersExist(state, 'uploader_id', body.uploader_id);
    storiesExist(state, 'story_id', body.story_id);
    const changed: StoredLinkedFile = {
      ...file,
      ...pickGiven(body, 'name', 'size', 'thumbnail_url', 'type', 'url'),
      ...(body.description === undefined
        ? {}
        : { description: body.description, ...mentions(state, body.description) }),
      ...(body.uploader_id === undefined ? {} : { uploader_id: body.uploader_id.toLowerCase() }),
      updated_at: now(state),
    };
    state.linkedFiles.put(file.id, changed);
    attach(state, file.id, body.story_id);
    return linkedFileRecord(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.linkedFiles, params['linked-file-public-id']);
    for (const story of storiesWithLinkedFile(state, id)) {
      state.stories.put(story.id, {
        ...story,
        linked_file_ids: story.linked_file_ids.filter((one) => one !== id),
      });
    }
    state.linkedFiles.delete(id);
    return undefined;
  },
};

export const slimDocument = (state: Tracker, id: string, title: string | null) => ({
  id,
  title,
  app_url: appUrl(state, 'document', id),
});
export const documentHandlers: Handlers<{ documents: typeof documents }, Tracker>['documents'] = {
  list: ({ state }) => {
    documentsAreOn(state);
    return [...state.documents.values()].map(({ id, title }) => slimDocument(state, id, title));
  },
  create: ({ state, body }) => {
    documentsAreOn(state);
    const id = newUuid(state);
    const at = now(state);
    const { title, content, content_format: format } = body;
    state.documents.put(id, {
      ...{ id, title, content, created_at: at, updated_at: at },
      ...(format === undefined ? {} : { format }),
    });
    return slimDocument(state, id, body.title);
  },
};

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
        .map((part) => `<p>${escapeHtml(part)}</p>`)
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
    return docRecord(
      state,
      findRecord(state.documents, params['doc-public-id']),
      query.content_format === 'html',
    );
  },
  update: ({ state, params, body }) => {
    documentsAreOn(state);
    const before = findRecord(state.documents, params['doc-public-id']);
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
    state.documents.delete(findRecord(state.documents, params['doc-public-id']).id);
    return undefined;
  },
};
