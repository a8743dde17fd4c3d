import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Collection } from '../../store.ts';
import type { Tracker } from '../state.ts';

const nameIsUnused = <T extends { id: number; name: string }>(
  kind: string,
  collection: Collection<T>,
  name: string | undefined,
  self?: number,
): void => {
  if (name === undefined) return;
  for (const taken of collection.index('name', (record) => record.name).get(name)) {
    if (taken.id === self) continue;
    throw new HttpError(422, `A ${kind} named ${JSON.stringify(name)} already exists (id ${taken.id}).`, {
      problems: [problem('name', 'rule', `is already used by ${kind} ${taken.id}`)],
    });
  }
};

/** spec/tracker#errors-1: "duplicate category or label name on update"; spec/program#choices: on create too. */
export const labelNameIsUnused = ({ labels }: Tracker, name: string | undefined, self?: number): void =>
  nameIsUnused('label', labels, name, self);
/** spec/tracker#categories: "name already used gives 422"; spec/program#choices: on create too. */
export const categoryNameIsUnused = (
  { categories }: Tracker,
  name: string | undefined,
  self?: number,
): void => nameIsUnused('category', categories, name, self);
