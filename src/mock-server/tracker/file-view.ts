import { tracker } from '../../api-specs/tracker/index.ts';
import type { Tracker } from './state.ts';
import type { StoredFile, StoredLinkedFile, StoredStory } from './row.ts';

const filesOfStory = (story: StoredStory): readonly number[] => story.file_ids;
const linkedFilesOfStory = (story: StoredStory): readonly number[] => story.linked_file_ids;

export const storiesWithFile = (state: Tracker, id: number): StoredStory[] => [
  ...state.stories.index('file', filesOfStory).get(id),
];
export const storiesWithLinkedFile = (state: Tracker, id: number): StoredStory[] => [
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
