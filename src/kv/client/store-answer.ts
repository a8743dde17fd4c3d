import { excerptOf } from '../../core/excerpt.ts';
import { AppError } from '../../core/problem.ts';
import type { Json } from './endpoint.ts';
import { hostOf } from './errors.ts';
import { isRecord } from '../../core/shape.ts';

/** What the store answers with a header, which says which member of which cluster did it (spec/store#errors). */
const WITH_HEADER =
  /\/(kv\/(put|range|deleterange|txn|compaction)|(kv\/)?lease\/(grant|revoke|leases)|cluster\/member\/\w+)$/;

const isOfStore = (path: string, { header, member, members }: Json): boolean =>
  !WITH_HEADER.test(path) || [header, member].some(isRecord) || Array.isArray(members);

/**
 * A call was carried out when the store's own answer to it has come. A proxy, a sign-in page or another service also
 * answers 200, and what it says proves nothing, neither that a key was written nor that there is none.
 */
export const needStoreAnswer = (base: string, path: string, value: unknown, text: string): Json => {
  if (isRecord(value) && isOfStore(path, value)) return value;
  const got = text.trim() === '' ? 'is empty' : `reads ${excerptOf(text)}`;
  throw new AppError('network', `${hostOf(base)}: the answer to ${path} is not one of the store: it ${got}`, {
    code: 'NOT_PROVEN',
    httpStatus: 200,
    tryThis: [
      'check the endpoint: a proxy or another service may be answering',
      'look whether a change was made before you send it again',
    ],
  });
};
