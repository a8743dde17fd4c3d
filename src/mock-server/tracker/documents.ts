import type { documents } from '../../api-specs/tracker/documents.ts';
import type { Handlers } from '../table-service.ts';
import { appUrl, newUuid } from './records.ts';
import { documentsAreOn } from './rules/features.ts';
import type { Tracker } from './state.ts';

const slim = (state: Tracker, id: string, title: string | null) => ({
  id,
  title,
  app_url: appUrl(state, 'document', id),
});

export const documentHandlers: Handlers<{ documents: typeof documents }, Tracker>['documents'] = {
  list: ({ state }) => {
    documentsAreOn(state);
    return [...state.documents.values()].map(({ id, title }) => slim(state, id, title));
  },
  create: ({ state, body }) => {
    documentsAreOn(state);
    const id = newUuid(state);
    state.documents.put(id, { id, title: body.title, content: body.content });
    return slim(state, id, body.title);
  },
};
