import { HttpError } from '../../http-error.ts';
import type { Tracker } from '../state.ts';

/** spec/tracker#states: project DELETE only when "all associated stories moved or deleted", "otherwise 422". */
export const projectHasNoStories = ({ counters }: Tracker, id: number): void => {
  const { total } = counters.of('project', id);
  if (total === 0) return;
  throw new HttpError(
    422,
    `Project ${id} still has ${total} ${total === 1 ? 'story' : 'stories'}; move or delete them first.`,
  );
};
