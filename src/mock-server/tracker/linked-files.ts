import type { linkedFiles } from '../../api-specs/tracker/linked-files.ts';
import type { Handlers } from '../table-service.ts';
import { linkedFileRecord, storiesWithLinkedFile } from './file-view.ts';
import { found, given, mentions, newId, now, ownerId } from './records.ts';
import { membersExist, storiesExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredLinkedFile } from './row.ts';

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
  const story = found(state.stories, storyId);
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
    linkedFileRecord(state, found(state.linkedFiles, params['linked-file-public-id'])),
  update: ({ state, params, body }) => {
    const file = found(state.linkedFiles, params['linked-file-public-id']);
    membersExist(state, 'uploader_id', body.uploader_id);
    storiesExist(state, 'story_id', body.story_id);
    const changed: StoredLinkedFile = {
      ...file,
      ...given(body, 'name', 'size', 'thumbnail_url', 'type', 'url'),
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
    const { id } = found(state.linkedFiles, params['linked-file-public-id']);
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
