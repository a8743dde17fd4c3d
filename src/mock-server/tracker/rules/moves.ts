import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Collection } from '../../store.ts';

type Positioned = { readonly id: number | string; readonly position: number };
type Move = { readonly before_id?: number | string; readonly after_id?: number | string };

/** spec/tracker#epics-4: the neighbour exists and is another record of the same kind. */
export const neighbourExists = <T extends Positioned>(
  all: readonly T[],
  self: T['id'],
  field: 'before_id' | 'after_id',
  id: T['id'] | undefined,
): void => {
  if (id === undefined) return;
  if (id === self)
    throw new HttpError(422, `${field} names the record itself.`, {
      problems: [problem(field, 'rule', 'names the record itself')],
    });
  if (all.some((one) => one.id === id)) return;
  throw new HttpError(422, `${field} names ${id}, which does not exist.`, {
    problems: [problem(field, 'rule', `names ${id}, which does not exist`)],
  });
};

export const byPosition = <T extends Positioned>(records: Iterable<T>): T[] =>
  [...records].sort((a, b) => a.position - b.position);

/**
 * spec/tracker#epics-4: moves a record before or behind another and numbers
 * the positions anew; only records whose position changed are written.
 */
export const move = <T extends Positioned>(collection: Collection<T>, id: T['id'], wanted: Move): void => {
  if (wanted.before_id === undefined && wanted.after_id === undefined) return;
  const [before, after] = [wanted.before_id, wanted.after_id].map((one) =>
    typeof one === 'string' ? one.toLowerCase() : one,
  );
  const all = byPosition(collection.values());
  neighbourExists(all, id, 'before_id', before);
  neighbourExists(all, id, 'after_id', after);
  const rest = all.filter((one) => one.id !== id);
  const moved = all.find((one) => one.id === id);
  if (moved === undefined) return;
  const at =
    before === undefined
      ? rest.findIndex((one) => one.id === after) + 1
      : rest.findIndex((one) => one.id === before);
  rest.splice(at, 0, moved);
  for (const [index, one] of rest.entries())
    if (one.position !== index + 1) collection.put(one.id, { ...one, position: index + 1 });
};
