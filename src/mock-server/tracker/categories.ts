import type { categories } from '../../api-specs/tracker/categories.ts';
import type { Handlers } from '../table-service.ts';
import { objectiveRecord } from './objective-view.ts';
import { found, given, newId, now, unique } from './records.ts';
import { byPosition } from './rules/moves.ts';
import { categoryNameIsUnused } from './rules/names.ts';
import type { Tracker } from './state.ts';
import type { StoredCategory } from './row.ts';

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

/** spec/tracker#epics-5: found by name, made when there is none. */
export const categoryIds = (state: Tracker, inputs: readonly CategoryInput[] | undefined): number[] =>
  unique(
    (inputs ?? []).map(
      (input) =>
        (state.categories.index('name', ({ name }) => name).first(input.name) ?? newCategory(state, input))
          .id,
    ),
  );

const objectivesOf = (state: Tracker, id: number) => {
  found(state.categories, id);
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
  get: ({ state, params }) => found(state.categories, params['category-public-id']),
  update: ({ state, params, body }) => {
    const category = found(state.categories, params['category-public-id']);
    categoryNameIsUnused(state, body.name, category.id);
    const changed = { ...category, ...given(body, 'archived', 'color', 'name'), updated_at: now(state) };
    state.categories.put(category.id, changed);
    return changed;
  },
  delete: ({ state, params }) => {
    const { id } = found(state.categories, params['category-public-id']);
    for (const one of state.objectives.filter(({ category_ids: ids }) => ids.includes(id))) {
      state.objectives.put(one.id, { ...one, category_ids: one.category_ids.filter((each) => each !== id) });
    }
    state.categories.delete(id);
    return undefined;
  },
  milestones: ({ state, params }) => objectivesOf(state, params['category-public-id']),
  objectives: ({ state, params }) => objectivesOf(state, params['category-public-id']),
};
