import type { documents } from '../../api-specs/tracker/documents.ts';
import type { Handlers } from '../table-service.ts';
import { appUrl, newUuid, now } from './records.ts';
import { documentsAreOn } from './rules/features.ts';
import type { Tracker } from './state.ts';

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
