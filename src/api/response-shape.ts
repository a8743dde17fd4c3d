import { bare } from '../core/field.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { otherThanAsked } from './addressed.ts';

const shapeOf = (value: unknown): 'list' | 'object' | 'null' | 'a plain value' =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'list'
      : typeof value === 'object'
        ? 'object'
        : 'a plain value';

/** A cache that mixes answers up shows the record of another question; a change that is based on it would go wrong. */
const expectRecord = (operation: Operation, value: unknown, url: string, input: LooseInput): void => {
  const asked = otherThanAsked(operation, input, value);
  if (asked === undefined) return;
  throw new AppError(
    'network',
    `GET ${new URL(url).pathname}: the answer is another record (${String((value as { id: unknown }).id).slice(0, 80)}), not ${asked}`,
    {
      code: 'OTHER_RECORD',
      tryThis: ['check the base URL: a proxy or another service may be answering'],
    },
  );
};

/**
 * A list where the row has a list, an object where it has an object: JSON of something else that answers 200 (a sign-in
 * page's error, a gateway's `null`) must not pass for an empty list. What stands inside is the service's affair, and so is
 * what comes back of a change: that was made.
 */
export const expectShape = (
  operation: Operation,
  value: unknown,
  url: string,
  input: LooseInput = {},
): void => {
  if (operation.method !== 'GET' || value === undefined || operation.returns === undefined) return;
  const { type } = bare(operation.returns);
  const wanted = type === 'array' ? 'list' : type === 'object' ? 'object' : undefined;
  const got = shapeOf(value);
  if (wanted === undefined || got === wanted || (got === 'null' && operation.returns.nullable === true)) {
    expectRecord(operation, value, url, input);
    return;
  }
  throw new AppError(
    'network',
    `GET ${new URL(url).pathname}: the answer is ${got === 'object' ? 'an object' : got === 'list' ? 'a list' : got}, not the ${wanted} that this endpoint gives`,
    {
      code: 'OTHER_SHAPE',
      tryThis: ['check the base URL: another service may be answering'],
      ...(got === 'object' ? { data: value } : {}),
    },
  );
};
