import type { LooseInput, Operation } from '../core/operation.ts';
import { bare } from '../core/field.ts';
import { isRecord } from '../core/shape.ts';

/** `/labels/{label-public-id}` and `/{name=labels/*}:publish`: the last part of the path names the record that the answer is. */
const NAMED = /\/\{([\w-]+)(?:=labels\/\*)?\}(:\w+)?$/;
/** spec/tracker#webhooks: the documents do not show what a webhook reads as, so its id may be another kind of name. */
const OF_OTHER_SHAPE = /^\/integrations\//;

/** `labels/x@3` and `labels/x` are the label x; an id of 36 characters may be typed in capitals. */
const idIn = (given: unknown): string =>
  String(given)
    .replace(/^labels\/([^@/]+).*$/, '$1')
    .toLowerCase();

/**
 * The record that a request names by its path. A POST without a verb makes another one below it (a reply to a comment), and what comes with the
 * answer to a DELETE may be anything.
 */
const askedFor = ({ method, path }: Operation, { params = {} }: LooseInput): string | undefined => {
  const [, name = '', verb] = NAMED.exec(path) ?? [];
  const given = params[name];
  if (given === undefined || OF_OTHER_SHAPE.test(path)) return undefined;
  return method === 'DELETE' || (method === 'POST' && verb === undefined) ? undefined : idIn(given);
};

/** The id that should have come, when the answer is another record than the one that was asked for. Pure. */
export const otherThanAsked = (
  operation: Operation,
  input: LooseInput,
  value: unknown,
): string | undefined => {
  const asked = askedFor(operation, input);
  if (asked === undefined || !isRecord(value)) return undefined;
  // The answer to a delta holds the label beside the answers to its edits.
  const { id } = isRecord(value.updatedLabel) ? value.updatedLabel : value;
  return id === undefined || id === null || idIn(id) === asked ? undefined : asked;
};

type Sent = { readonly name: string; readonly items: readonly unknown[] };
/** The list that a request is about: each of its items is answered for. A search has filters, and none of them is required. */
const sentIn = ({ body = {} }: Operation, input: LooseInput): Sent | undefined => {
  const name = Object.keys(body).find((key) => {
    const field = body[key];
    const isMain = field?.required === true || key === 'requests';
    return isMain && field !== undefined && bare(field).type === 'array';
  });
  const items = name === undefined ? undefined : input.body?.[name];
  return name !== undefined && Array.isArray(items) ? { name, items } : undefined;
};

const idsOf = (records: readonly unknown[]): ReadonlySet<string> =>
  new Set(records.map((one) => (isRecord(one) ? idIn(one.id) : '')));

/**
 * What is missing in the answer to a request about many: a record for each that was sent, and for each id the record with
 * that id. An id that was sent twice is one record. Pure.
 */
export const missingOfMany = (
  operation: Operation,
  input: LooseInput,
  records: readonly unknown[],
): string | undefined => {
  const sent = sentIn(operation, input);
  if (sent === undefined) return undefined;
  if (sent.items.every((one) => typeof one !== 'object')) {
    const found = idsOf(records);
    const missing = sent.items.filter((id) => !found.has(idIn(id)));
    return missing.length === 0
      ? undefined
      : `a record for each of \`${sent.name}\`; ${missing[0]} is not there`;
  }
  return records.length === sent.items.length
    ? undefined
    : `${sent.items.length} records, one for each of \`${sent.name}\`; there are ${records.length}`;
};

/** The same where the answers are a member of a record: spec/labels#permissions, spec/labels#edits: one for each request, in their order. */
export const missingOfRequests = (
  operation: Operation,
  input: LooseInput,
  value: unknown,
): string | undefined => {
  if (operation.body?.requests === undefined || !isRecord(value)) return undefined;
  const answers = value.responses ?? value.permissions;
  return Array.isArray(answers) ? missingOfMany(operation, input, answers) : undefined;
};
