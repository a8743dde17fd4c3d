import type { trackerExtension } from '../../api-specs/tracker/extension.ts';
import type { Handlers } from '../table-service.ts';
import { bulkHandlers } from './bulk-stories.ts';
import { moreDocumentHandlers } from './more-documents.ts';
import { reactionHandlers } from './reactions.ts';
import { documentsByTitle, findHandlers } from './search-by-kind.ts';
import type { Tracker } from './state.ts';
import { historyOf } from './story-history.ts';
import { storySlim, subStories } from './story-view.ts';
import { found } from './records.ts';

/** Handlers of the routes that the document does not have. */
export const extensionHandlers: Handlers<typeof trackerExtension, Tracker> = {
  documents: { ...moreDocumentHandlers, find: documentsByTitle },
  epics: { find: findHandlers.epics },
  iterations: { find: findHandlers.iterations },
  milestones: { find: findHandlers.milestones },
  objectives: { find: findHandlers.objectives },
  stories: {
    ...bulkHandlers,
    find: findHandlers.stories,
    history: ({ state, params }) => historyOf(state, found(state.stories, params['story-public-id'])),
    subTasks: ({ state, params }) =>
      subStories(state, found(state.stories, params['story-public-id']).id).map((one) =>
        storySlim(state, one, false),
      ),
  },
  'story-comments': reactionHandlers,
};
