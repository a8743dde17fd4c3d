import { AppError } from '../../core/problem.ts';
import type { ListedMember } from './etcd-client.ts';
import { hexId } from './hex-id.ts';

/** By its name or its hexadecimal id. */
export const memberNamed = (members: readonly ListedMember[], wanted: string): ListedMember => {
  const found = members.find(({ id, name }) => name === wanted || hexId(id) === wanted.toLowerCase());
  if (found === undefined)
    throw new AppError('not-found', `there is no member ${wanted}`, {
      code: 'NO_MEMBER',
      tryThis: [`one of ${members.map(({ name }) => name).join(', ')}`],
    });
  return found;
};
