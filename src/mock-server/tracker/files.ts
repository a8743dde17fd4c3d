import { check } from '../../core/check.ts';
import { files } from '../../api-specs/tracker/files.ts';
import { HttpError } from '../http-error.ts';
import { Bytes, type Call, type Handlers } from '../table-service.ts';
import { fileRecord, storiesWithFile } from './file-view.ts';
import { found, given, instant, mentions, newId, now, ownerId } from './records.ts';
import { membersExist, storiesExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredFile } from './row.ts';

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

/** Only letters that may stand in a header; the whole name follows in its encoded form (RFC 6266). */
const disposition = (name: string): string =>
  `attachment; filename="${name.replace(/[^\x20-\x7e]|["\\]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`;

export const fileHandlers: Handlers<{ files: typeof files }, Tracker>['files'] = {
  list: ({ state }) => [...state.files.values()].map((file) => fileRecord(state, file)),
  create,
  get: ({ state, params }) => fileRecord(state, found(state.files, params['file-public-id'])),
  update: ({ state, params, body }) => {
    const file = found(state.files, params['file-public-id']);
    membersExist(state, 'uploader_id', body.uploader_id);
    const changed: StoredFile = {
      ...file,
      ...given(body, 'external_id', 'name'),
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
    const { id } = found(state.files, params['file-public-id']);
    for (const story of storiesWithFile(state, id)) {
      state.stories.put(story.id, { ...story, file_ids: story.file_ids.filter((one) => one !== id) });
    }
    state.files.delete(id);
    state.fileBytes.delete(id);
    return undefined;
  },
  download: ({ state, params, headers }) => {
    const file = found(state.files, params['file-public-id']);
    headers['content-disposition'] = disposition(file.filename);
    // Bytes of a stranger must not run as a page of this origin.
    headers['x-content-type-options'] = 'nosniff';
    return new Bytes(found(state.fileBytes, file.id), file.content_type);
  },
};
