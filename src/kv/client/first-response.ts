import { AppError } from '../../core/problem.ts';
import type { Store } from './etcd-client.ts';

/** The members are asked one after the other until one answers. */
export const firstAnswer = async <T>(
  stores: readonly Store[],
  work: (store: Store) => Promise<T>,
): Promise<T> => {
  let last: unknown = new AppError('network', 'no member answers', { code: 'UNAVAILABLE' });
  for (const store of stores) {
    try {
      return await work(store);
    } catch (error) {
      last = error;
    }
  }
  throw last;
};
