import { HttpError } from '../http-error.ts';
import { problem } from '../../core/problem.ts';
import { byPosition } from './rules/moves.ts';
import { found } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredStory } from './row.ts';

type Wanted = { readonly before_id?: number; readonly after_id?: number };

/** spec/tracker#epics-4: the neighbour is another story that exists. */
const neighbour = (state: Tracker, id: number, wanted: Wanted): StoredStory | undefined => {
  for (const field of ['before_id', 'after_id'] as const) {
    const other = wanted[field];
    if (other === undefined || (other !== id && state.stories.has(other))) continue;
    const message = other === id ? 'names the story itself' : `names ${other}, which does not exist`;
    throw new HttpError(422, `${field} ${message}.`, { problems: [problem(field, 'rule', message)] });
  }
  const other = wanted.before_id ?? wanted.after_id;
  return other === undefined ? undefined : found(state.stories, other);
};

/** The positions next to a story, without the moved one; a pass over all stories, for a move is rare. */
const around = (state: Tracker, id: number, position: number): { below: number; above: number } => {
  const next = { below: 0, above: Number.POSITIVE_INFINITY };
  for (const story of state.stories.values()) {
    if (story.id === id) continue;
    if (story.position < position && story.position > next.below) next.below = story.position;
    if (story.position > position && story.position < next.above) next.above = story.position;
  }
  return next;
};

/**
 * Puts a story before or behind another one by a position between the two; when there is no room left between them, all
 * positions are numbered anew.
 */
export const moveStory = (state: Tracker, id: number, wanted: Wanted, room: number): void => {
  const other = neighbour(state, id, wanted);
  if (other === undefined) return;
  const isBefore = wanted.before_id !== undefined;
  const { below, above } = around(state, id, other.position);
  const [low, high] = isBefore
    ? [below, other.position]
    : [other.position, Math.min(above, other.position + 2 * room)];
  const middle = Math.floor((low + high) / 2);
  const story = found(state.stories, id);
  if (middle > low && middle < high) {
    state.stories.put(id, { ...story, position: middle });
    return;
  }
  const rest = byPosition(state.stories.values()).filter((one) => one.id !== id);
  rest.splice(rest.findIndex((one) => one.id === other.id) + (isBefore ? 0 : 1), 0, story);
  for (const [index, one] of rest.entries())
    state.stories.put(one.id, { ...one, position: (index + 1) * room });
};
