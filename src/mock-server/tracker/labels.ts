import type { categories, labels } from '../../api-specs/tracker/labels.ts';
import { type Handlers, Json } from '../table-service.ts';
import {
  epicSlim,
  objectiveRecord,
  fullLabel,
  fullLabelText,
  labelsOfEpic,
  labelText,
  newLabel,
  slimLabelText,
} from './epic-view.ts';
import type { StoredCategory } from './row.ts';
import { byPosition, categoryNameIsUnused, labelNameIsUnused } from './rules/stories.ts';
import { findRecord, pickGiven, newId, now, type Tracker, unique } from './state.ts';
import { labelsOfStory, storiesJson } from './story-parts.ts';

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
  get: ({ state, params }) => fullLabel(state, findRecord(state.labels, params['label-public-id'])),
  update: ({ state, params, body }) => {
    const label = findRecord(state.labels, params['label-public-id']);
    labelNameIsUnused(state, body.name, label.id);
    const changed = {
      ...label,
      ...pickGiven(body, 'archived', 'color', 'description', 'name'),
      updated_at: now(state),
    };
    state.labels.put(label.id, changed);
    return fullLabel(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.labels, params['label-public-id']);
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
    const { id } = findRecord(state.labels, params['label-public-id']);
    return [...state.epics.index('label', labelsOfEpic).get(id)].map((epic) => epicSlim(state, epic, true));
  },
  stories: ({ state, params, query }) => {
    const { id } = findRecord(state.labels, params['label-public-id']);
    return storiesJson(
      state,
      `label ${id}`,
      () => state.stories.index('label', labelsOfStory).get(id),
      query.includes_description ?? false,
    );
  },
};

type CategoryInput = { readonly name: string; readonly color?: string; readonly external_id?: string };
const newCategory = (state: Tracker, input: CategoryInput): StoredCategory => {
  const at = now(state);
  const category: StoredCategory = {
    id: newId(state),
    name: input.name,
    color: input.color ?? null,
    external_id: input.external_id ?? null,
    archived: false,
    entity_type: 'category',
    created_at: at,
    updated_at: at,
  };
  state.categories.put(category.id, category);
  return category;
};
/** spec/tracker#epics-5: found by name, created if it does not exist. */
export const categoryIds = (state: Tracker, inputs: readonly CategoryInput[] | undefined): number[] =>
  unique(
    (inputs ?? []).map(
      (input) =>
        (state.categories.index('name', ({ name }) => name).first(input.name) ?? newCategory(state, input))
          .id,
    ),
  );
const objectivesOf = (state: Tracker, id: number) => {
  findRecord(state.categories, id);
  return byPosition(state.objectives.filter(({ category_ids: ids }) => ids.includes(id))).map((one) =>
    objectiveRecord(state, one),
  );
};
export const categoryHandlers: Handlers<{ categories: typeof categories }, Tracker>['categories'] = {
  list: ({ state }) => [...state.categories.values()],
  create: ({ state, body }) => {
    categoryNameIsUnused(state, body.name);
    return newCategory(state, body);
  },
  get: ({ state, params }) => findRecord(state.categories, params['category-public-id']),
  update: ({ state, params, body }) => {
    const category = findRecord(state.categories, params['category-public-id']);
    categoryNameIsUnused(state, body.name, category.id);
    const changed = { ...category, ...pickGiven(body, 'archived', 'color', 'name'), updated_at: now(state) };
    state.categories.put(category.id, changed);
    return changed;
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.categories, params['category-public-id']);
    for (const one of state.objectives.filter(({ category_ids: ids }) => ids.includes(id))) {
      state.objectives.put(one.id, { ...one, category_ids: one.category_ids.filter((each) => each !== id) });
    }
    state.categories.delete(id);
    return undefined;
  },
  milestones: ({ state, params }) => objectivesOf(state, params['category-public-id']),
  objectives: ({ state, params }) => objectivesOf(state, params['category-public-id']),
};
