import { HttpError } from '../../http-error.ts';
import type { Tracker } from '../state.ts';

/** spec/tracker#states: project DELETE only when "all associated stories moved or deleted", "otherwise 422". */
export const projectHasNoStories = ({ tallies }: Tracker, id: number): void => {
  const { total } = tallies.of('project', id);
  if (total === 0) return;
  throw new HttpError(
    422,
    `Project ${id} still has ${total} ${total === 1 ? 'story' : 'stories'}; move or delete them first.`,
  );
};
