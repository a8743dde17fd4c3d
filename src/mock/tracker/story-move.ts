import { neighbourExists } from './rules/moves.ts';
import { byPosition } from './rules/moves.ts';
import type { StoredStory, Tracker } from './state.ts';

/**
 * Puts a story before or behind another one by a position between the two; when there is no room left between them, all
 * positions are numbered anew.
 */
export const moveStory = (state: Tracker, id: number, wanted: { before_id?: number; after_id?: number }, room: number): void => {
  const { before_id: before, after_id: after } = wanted;
  if (before === undefined && after === undefined) return;
  const all = byPosition(state.stories.values());
  neighbourExists(all, id, 'before_id', before);
  neighbourExists(all, id, 'after_id', after);
  const rest = all.filter((one) => one.id !== id);
  const at = before === undefined ? rest.findIndex((one) => one.id === after) + 1 : rest.findIndex((one) => one.id === before);
  const low = rest[at - 1]?.position ?? 0;
  const high = rest[at]?.position ?? low + 2 * room;
  const middle = Math.floor((low + high) / 2);
  const moved = all.find((one) => one.id === id) as StoredStory;
  if (middle > low && middle < high) {
    state.stories.put(id, { ...moved, position: middle });
    return;
  }
  rest.splice(at, 0, moved);
  for (const [index, one] of rest.entries()) state.stories.put(one.id, { ...one, position: (index + 1) * room });
};
