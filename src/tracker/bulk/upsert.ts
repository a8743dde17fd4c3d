import { bare, type Field } from '../../core/field.ts';
import { AppError, type Problem, problem, problemText } from '../../core/problem.ts';
import type { Change } from './change.ts';
import {
  externalKey,
  isExternal,
  type RecordKeys,
  type RecordRow,
  resourceOfPointer,
  scopeOf,
} from './external-keys.ts';

type Params = Readonly<Record<string, unknown>>;
/** The required action for a row: a request, or none because the record already matches the row. */
export type Decision = { readonly change: Change } | { readonly unchanged: unknown };

const nameOf = (one: unknown): unknown => {
  if (typeof one !== 'object' || one === null) return one;
  return 'name' in one ? one.name : one;
};
const isPart = (wanted: object, now: object): boolean =>
  Object.entries(wanted).every(([key, value]) => isSameValue(undefined, value, (now as RecordRow)[key]));
/** The service keeps a repeated name or ID of a list once. */
const distinct = (list: readonly unknown[]): readonly unknown[] => [
  ...new Map(list.map((one) => [nameOf(one), one])).values(),
];
const isSameList = (given: readonly unknown[], now: readonly unknown[]): boolean => {
  const wanted = distinct(given);
  if (wanted.length !== now.length) return false;
  const left = [...now];
  return wanted.every((one) => {
    const at = left.findIndex((other) =>
      typeof one === 'object' &&
      one !== null &&
      !('name' in one) &&
      typeof other === 'object' &&
      other !== null
        ? isPart(one, other)
        : nameOf(one) === nameOf(other),
    );
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
};
/** Lists are sets, moments are compared as moments, and an empty text is a text that is not set. */
const isSameValue = (field: Field | undefined, wanted: unknown, now: unknown): boolean => {
  if (Array.isArray(wanted)) return isSameList(wanted, Array.isArray(now) ? now : []);
  const isUnset = (value: unknown): boolean => value === null || value === undefined || value === '';
  if (isUnset(wanted) || isUnset(now)) return isUnset(wanted) && isUnset(now);
  const inner = field === undefined ? undefined : bare(field);
  if (inner?.type === 'string' && inner.format === 'datetime')
    return Date.parse(String(wanted)) === Date.parse(String(now));
  if (inner?.type === 'string' && (inner.format === 'uuid' || inner.format === 'color'))
    return String(wanted).toLowerCase() === String(now).toLowerCase();
  return typeof wanted === 'object' && typeof now === 'object'
    ? isPart(wanted as object, now as object)
    : wanted === now;
};
/** The fields of a row that an update accepts and that differ from the record. */
const differences = (change: Change, row: RecordRow): Record<string, unknown> => {
  const fields = change.update?.body ?? {};
  return Object.fromEntries(
    Object.entries(change.input.body ?? {}).filter(
      ([name, value]) => fields[name] !== undefined && !isSameValue(fields[name], value, row[name]),
    ),
  );
};
/** Parameters of the record that contains the records of a nested resource: the story of a comment. */
const parentParams = (change: Change): Readonly<Record<string, unknown>> => {
  const names = Object.keys(change.update?.params ?? {}).slice(0, -1);
  return Object.fromEntries(names.map((name) => [name, change.input.params?.[name]]));
};
const ownParam = ({ update, operation }: Change): string =>
  Object.keys((update ?? operation).params ?? {}).at(-1) ?? 'id';
/** The key of an upsert: `id: external:KEY` or the field external_id. */
export const upsertKey = (change: Change, row: Readonly<Record<string, unknown>>): string | undefined => {
  const given = change.input.body?.external_id;
  if (isExternal(row.id)) return externalKey(row.id);
  return typeof given === 'string' && given !== '' ? given : undefined;
};
/** Names of these resources are unique in the service, or identify a record for people. Names of stories do not. */
const isNamed = ({ resource, operation }: Change): boolean =>
  resource !== 'stories' && operation.body?.name !== undefined;
export const upsertProblems = (change: Change, key: string | undefined): Problem[] => {
  const given = change.input.body?.external_id;
  if (given !== undefined && given !== null && typeof given !== 'string')
    return [
      problem('external_id', 'type', `must be text; got ${JSON.stringify(given)}`, 'write it in quotes'),
    ];
  if (key !== undefined && typeof given === 'string' && given !== key)
    return [
      problem('external_id', 'rule', `is ${JSON.stringify(given)}, but id is external:${key}`, 'remove one'),
    ];
  const hasKey = (change.operation.body?.external_id ?? change.update?.body?.external_id) !== undefined;
  if (key !== undefined && !hasKey)
    return [
      problem(
        given === undefined ? 'id' : 'external_id',
        'unknown',
        `is a key, but ${change.resource} have no external ID: an upsert finds the record by its name`,
        'remove it, and write the name',
      ),
    ];
  if (key !== undefined || (isNamed(change) && typeof change.input.body?.name === 'string')) return [];
  if (!hasKey)
    return [
      problem('name', 'required', `is required: an upsert of ${change.resource} finds the record by it`),
    ];
  return [
    problem(
      'external_id',
      'required',
      `is required: an upsert of ${change.resource} finds the record by its external ID`,
      'add the column or key external_id',
    ),
  ];
};

const lookUp = async (
  keys: RecordKeys,
  change: Change,
  key: string | undefined,
  line: number,
): Promise<RecordRow | undefined> => {
  const parents = parentParams(change);
  const { resource } = change;
  const found = key === undefined ? undefined : await keys.find(resource, key, parents, line);
  if (found !== undefined) return found.row;
  const name = change.input.body?.name;
  if (!isNamed(change) || typeof name !== 'string') return undefined;
  const named = (await keys.findNamed(resource, name, parents))?.row;
  // A record that belongs to another key is another record.
  const isFree = key === undefined || named?.external_id === null || named?.external_id === undefined;
  return isFree ? named : undefined;
};
/** Fields that a create does not accept follow in an update, if they are not the default. */
const toCreate = (change: Change, key: string | undefined): Change => {
  const body = { ...change.input.body, ...(key === undefined ? {} : { external_id: key }) };
  const isAfter = (name: string): boolean =>
    change.operation.body?.[name] === undefined && change.update?.body?.[name] !== undefined;
  const now = Object.entries(body).filter(
    ([name, value]) => !isAfter(name) && (value !== null || change.operation.body?.[name]?.nullable === true),
  );
  const isDefault = (value: unknown): boolean => value === false || value === null;
  const later = Object.entries<unknown>(body).filter(([name, value]) => isAfter(name) && !isDefault(value));
  const { input } = change;
  const params = parentParams(change);
  return {
    ...change,
    verb: 'create',
    input: { ...input, params, body: Object.fromEntries(now) },
    ...(later.length === 0 ? {} : { afterwards: Object.fromEntries(later) }),
  };
};
/** An upsert finds its record by the key. A row that states another ID may mean another record. */
const assertStatedId = ({ statedId }: Change, row: RecordRow | undefined): void => {
  if (statedId === undefined || String(statedId) === String(row?.id)) return;
  const found =
    row === undefined
      ? 'no record has the key of the row'
      : `the record with the key has ID ${String(row.id)}`;
  const what = `is ${JSON.stringify(statedId)}, but ${found}`;
  const fix =
    'remove id to find the record by its external_id or name, or write op update to change the record with this ID';
  const wrong = problem('id', 'rule', what, fix);
  throw new AppError('usage', problemText(wrong), { code: 'INVALID_ROW', problems: [wrong] });
};
/** Turns an upsert into the create or the update that it needs. Throws if several records match. */
export const decideUpsert = async (
  keys: RecordKeys,
  change: Change,
  key: string | undefined,
  line: number,
): Promise<Decision> => {
  const { update, resource } = change;
  let row = await lookUp(keys, change, key, line);
  assertStatedId(change, row);
  if (row === undefined || update === undefined) return { change: toCreate(change, key) };
  const params = { ...parentParams(change), [ownParam(change)]: row.id };
  const isLeftOut = Object.keys(change.input.body ?? {}).some(
    (name) => update.body?.[name] !== undefined && !(name in (row ?? {})),
  );
  if (isLeftOut) row = { ...row, ...(await keys.read(resource, params)) };
  const body = differences(change, row);
  if (Object.keys(body).length === 0) return { unchanged: row.id };
  return {
    change: { ...change, verb: 'update', operation: update, input: { params, body }, previous: row },
  };
};

type Resolved = {
  readonly change: Change;
  /** Fields whose record an earlier row of a dry run would create. */
  readonly waiting: ReadonlySet<string>;
  readonly missing: readonly Problem[];
};
/** Replaces the keys of one row by IDs, and collects those that have no record. */
class KeyResolver {
  readonly waiting = new Set<string>();
  readonly missing: Problem[] = [];
  readonly #own: string | undefined;
  readonly keys: RecordKeys;
  readonly change: Change;
  readonly line: number;
  readonly isDryRun: boolean;
  constructor(keys: RecordKeys, change: Change, line: number, isDryRun: boolean) {
    this.keys = keys;
    this.change = change;
    this.line = line;
    this.isDryRun = isDryRun;
    this.#own = change.verb === 'create' ? undefined : ownParam(change);
  }
  async all(values: Params = {}): Promise<Record<string, unknown>> {
    const out: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(values))
      out[name] = Array.isArray(value)
        ? await Promise.all(value.map((item) => this.#one(name, item, {})))
        : await this.#one(name, value, { ...out });
    return out;
  }
  async #one(name: string, value: unknown, parents: Params): Promise<unknown> {
    const pointed = resourceOfPointer(name);
    const resource = pointed ?? (name === this.#own ? this.change.resource : undefined);
    if (!isExternal(value) || resource === undefined) return value;
    const key = externalKey(value);
    const found = await this.keys.find(resource, key, pointed === undefined ? parents : {}, this.line);
    return found === undefined
      ? this.#note(name, scopeOf(resource, pointed === undefined ? parents : {}), resource, value)
      : found.row.id;
  }
  #note(name: string, scope: string, resource: string, value: string): string {
    const isParam = Object.hasOwn(this.change.input.params ?? {}, name);
    const path = isParam ? 'id' : name;
    const text = `names ${JSON.stringify(value)}, but no record of ${resource} has this external ID`;
    if (this.isDryRun && this.keys.isClaimed(scope, externalKey(value))) this.waiting.add(path);
    else this.missing.push(problem(path, 'rule', text));
    return value;
  }
}
const hasExternalValue = (values: Params = {}): boolean => {
  for (const name in values) {
    const value = values[name];
    if (isExternal(value) || (Array.isArray(value) && value.some(isExternal))) return true;
  }
  return false;
};
/** True if a row has an `external:KEY` that may have to be replaced. */
export const hasExternal = ({ input }: Change): boolean =>
  hasExternalValue(input.params) || hasExternalValue(input.body);
/** Replaces `external:KEY` by the ID of the record in the parameters and fields of a row. */
export const resolveExternal = async (
  keys: RecordKeys,
  change: Change,
  line: number,
  isDryRun: boolean,
): Promise<Resolved> => {
  const resolver = new KeyResolver(keys, change, line, isDryRun);
  const { input } = change;
  const params = await resolver.all(input.params);
  const body = input.body === undefined ? {} : { body: await resolver.all(input.body) };
  const { waiting, missing } = resolver;
  return { change: { ...change, input: { ...input, params, ...body } }, waiting, missing };
};
