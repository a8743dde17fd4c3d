import { type Field, type ObjectField, bare } from '../core/field.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { excerptOf } from '../core/excerpt.ts';
import { AppError } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';
import { missingOfMany, missingOfRequests, otherThanAsked } from './addressed.ts';

type Reply = { readonly status: number; readonly text: string };
type Row = Readonly<Record<string, unknown>>;
const isText = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

/** The key that tells one record of a row from another: `id`, or `name` where the row has no id. */
const identityOf = ({ fields }: ObjectField): 'id' | 'name' | undefined =>
  Object.hasOwn(fields, 'id') ? 'id' : Object.hasOwn(fields, 'name') ? 'name' : undefined;

/** A record without identity (a list of permissions) has at least one of its keys; one that has no keys is empty. */
const isOfRow = ({ fields }: ObjectField, value: Row): boolean => {
  const keys = Object.keys(value);
  return Object.keys(fields).length === 0
    ? keys.length === 0
    : keys.some((key) => Object.hasOwn(fields, key));
};

/** spec/tracker#webhooks: real services may send the record where the document says 204. */
const missingOfNothing = (ok: number, status: number, value: unknown): string | undefined =>
  ok !== 204 || status === 204 || (isRecord(value) && isText(value.id)) ? undefined : 'a 204 or the record';

const missingOfObject = (returns: ObjectField, value: unknown): string | undefined => {
  const key = identityOf(returns);
  if (key === undefined)
    return isRecord(value) && isOfRow(returns, value) ? undefined : 'the object of this endpoint';
  return isRecord(value) && isText(value[key]) ? undefined : `a record with \`${key}\``;
};

/** A search finds what it finds; what was made or changed is in the list, each with its record. */
const missingOfList = (
  operation: Operation,
  item: Field,
  value: unknown,
  input: LooseInput,
): string | undefined => {
  if (!Array.isArray(value)) return 'a list';
  if (value.length === 0)
    return operation.path.endsWith('/search') ? undefined : 'a list with what was made or changed';
  const isProven = (one: unknown): boolean =>
    item.type !== 'object' || missingOfObject(item, one) === undefined;
  return value.every(isProven) ? missingOfMany(operation, input, value) : 'a list of records';
};

/** What would have proved the write, in words; undefined when the answer does. */
const missingProof = (
  operation: Operation,
  status: number,
  value: unknown,
  input: LooseInput,
): string | undefined => {
  const other = otherThanAsked(operation, input, value);
  if (other !== undefined) return `the record ${other}`;
  if (operation.returns === undefined) return missingOfNothing(operation.ok, status, value);
  const returns = bare(operation.returns);
  if (returns.type === 'object')
    return missingOfObject(returns, value) ?? missingOfRequests(operation, input, value);
  if (returns.type === 'array') return missingOfList(operation, bare(returns.items), value, input);
  return value === undefined ? 'a value' : undefined;
};

/**
 * A write succeeded when the record that its row returns has arrived, or its 204. Nothing else proves it: a cache answers
 * 304, a gateway `null`, a sign-in page 200. The record is the one that was named, and there is one for each that was sent.
 */
export const expectProof = (
  operation: Operation,
  reply: Reply,
  value: unknown,
  url: string,
  input: LooseInput = {},
): void => {
  const missing = missingProof(operation, reply.status, value, input);
  if (missing === undefined) return;
  const got = reply.text === '' ? 'is empty' : `reads ${excerptOf(reply.text)}`;
  throw new AppError(
    'network',
    `${operation.method} ${new URL(url).pathname}: the answer (${reply.status}) does not prove that the change was made: it ${got}; expected ${missing}`,
    {
      code: 'NOT_PROVEN',
      httpStatus: reply.status,
      tryThis: [
        'check the base URL: a proxy or another service may be answering',
        'look whether the change was made before you send it again',
      ],
    },
  );
};
