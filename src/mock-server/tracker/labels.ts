import type { labels } from '../../api-specs/tracker/labels.ts';
import { type Handlers, Json } from '../table-service.ts';
import { epicSlim } from './epic-view.ts';
import { newLabel } from './label-inputs.ts';
import { fullLabel, fullLabelText, labelText, labelsOfEpic, slimLabelText } from './label-stats.ts';
import { found, given, now } from './records.ts';
import { labelNameIsUnused } from './rules/names.ts';
import type { Tracker } from './state.ts';
import { labelsOfStory, storiesJson } from './story-view.ts';

export const labelHandlers: Handlers<{ labels: typeof labels }, Tracker>['labels'] = {
  list: ({ state, query }) =>
    state.cache.list(`labels ${query.slim ?? false}`, () => {
      const text = query.slim ? slimLabelText : fullLabelText;
      return [...state.labels.values()].map((label) => text(state, label));
    }),
  create: ({ state, body }) => {
    labelNameIsUnused(state, body.name);
    return new Json(labelText(state, newLabel(state, body)));
  },
  get: ({ state, params }) => fullLabel(state, found(state.labels, params['label-public-id'])),
  update: ({ state, params, body }) => {
    const label = found(state.labels, params['label-public-id']);
    labelNameIsUnused(state, body.name, label.id);
    const changed = {
      ...label,
      ...given(body, 'archived', 'color', 'description', 'name'),
      updated_at: now(state),
    };
    state.labels.put(label.id, changed);
    return fullLabel(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = found(state.labels, params['label-public-id']);
    const without = <T extends { label_ids: number[] }>(record: T): T => ({
      ...record,
      label_ids: record.label_ids.filter((one) => one !== id),
    });
    for (const story of [...state.stories.index('label', labelsOfStory).get(id)])
      state.stories.put(story.id, without(story));
    for (const epic of [...state.epics.index('label', labelsOfEpic).get(id)])
      state.epics.put(epic.id, without(epic));
    for (const one of state.iterations.filter(({ label_ids: ids }) => ids.includes(id)))
      state.iterations.put(one.id, without(one));
    state.labels.delete(id);
    return undefined;
  },
  epics: ({ state, params }) => {
    const { id } = found(state.labels, params['label-public-id']);
    return [...state.epics.index('label', labelsOfEpic).get(id)].map((epic) => epicSlim(state, epic, true));
  },
  stories: ({ state, params, query }) => {
    const { id } = found(state.labels, params['label-public-id']);
    return storiesJson(
      state,
      `label ${id}`,
      () => state.stories.index('label', labelsOfStory).get(id),
      query.includes_description ?? false,
    );
  },
};
