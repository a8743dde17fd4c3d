import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { tracker } from '../../api-specs/tracker/index.ts';
import { bare, type Field, type Fields } from '../../core/field.ts';
import type { LooseInput, Operation } from '../../core/operation.ts';
import type { EngineContext } from '../../api/context.ts';
import { isRecord } from '../../core/shape.ts';

type RecordRow = Readonly<Record<string, unknown>>;
/** What a journal notes before a row is sent, so that the run can be undone. */
export type Before = {
  readonly resource: string;
  readonly op: 'create' | 'update' | 'delete';
  /** Parameters of the request: the ID of the record, and the IDs of the records that contain it. */
  readonly params?: RecordRow;
  /** Of an update: the values that the row replaces. Of a delete: the values that create the record again. */
  readonly values?: RecordRow;
  /** True for a request that no other request reverts, such as a change of many records. */
  readonly irreversible?: boolean;
};
type Verbs = Readonly<Record<string, Operation | undefined>>;
export const verbsOf = (resource: string): Verbs =>
  (tracker.table as Readonly<Record<string, Verbs>>)[resource] ?? {};

/** Fields that move a record, or that a service sets for other reasons; their earlier value is not a value of the record. */
const POSITIONS: ReadonlySet<string> = new Set([
  'after_id',
  'before_id',
  'created_at',
  'move_to',
  'updated_at',
]);
export const isPosition = (name: string): boolean => POSITIONS.has(name);
/** Fields of requests that records show under another name. */
const SHOWN_AS: Readonly<Record<string, string>> = {
  observed_value: 'current_observed_value',
  target_value: 'current_target_value',
};
const isObject = (value: unknown): value is RecordRow =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** A value of a record as a request states it. */
const toInput = (field: Field, value: unknown): unknown => {
  const inner = bare(field);
  if (Array.isArray(value))
    return value.map((item) => (inner.type === 'array' ? toInput(inner.items, item) : item));
  if (!isObject(value) || inner.type !== 'object') return value;
  return Object.fromEntries(
    Object.entries(inner.fields).flatMap(([name, own]) => {
      const part = value[name];
      const isLeftOut = part === undefined || (part === null && own.nullable !== true);
      return isLeftOut ? [] : [[name, toInput(own, part)]];
    }),
  );
};
/** Lists of inputs that find an existing record by its name. */
const byName = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((item) => (isObject(item) ? { name: item.name } : item)) : value;
/** The value of a field of a request in a record; undefined when the record does not show it. */
export const valueIn = (name: string, field: Field, record: RecordRow): unknown => {
  if (POSITIONS.has(name)) return undefined;
  const shown = record[SHOWN_AS[name] ?? name];
  if (shown === undefined) {
    const items = name.endsWith('_ids') ? record[name.replace(/_ids$/, 's')] : undefined;
    return Array.isArray(items) ? items.map((item) => (isObject(item) ? item.id : item)) : undefined;
  }
  if (typeof shown !== 'object') return shown;
  const value = toInput(field, shown);
  return name === 'labels' || name === 'categories' ? byName(value) : value;
};
/** The fields of a request that a record shows. */
const valuesIn = (fields: Fields, names: readonly string[], record: RecordRow): Record<string, unknown> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const field = fields[name];
      const value = field === undefined ? undefined : valueIn(name, field, record);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** One text for equal values: lists are sets, and a value that is not set is one value. */
const canonical = (value: unknown): string => {
  if (value === undefined || value === null || value === '') return '';
  if (Array.isArray(value)) return `[${value.map(canonical).toSorted().join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${key}:${canonical(value[key])}`).join()}}`;
};
export const isSameInput = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);
const hashOf = (text: string): string => hash('sha256', text).slice(0, 12);
/** Parts that others add to a record and that a deletion removes with it. A full record has them, or a slim one their IDs. */
const partLists = (record: RecordRow): readonly unknown[] => {
  // Named one by one: a run counts the parts of each of its records, and V8 finds fixed names faster.
  const { comments, tasks, files, branches, commits } = record;
  const { linked_files: linkedFiles, pull_requests: pullRequests } = record;
  return [
    comments ?? record.comment_ids,
    tasks ?? record.task_ids,
    files ?? record.file_ids,
    linkedFiles ?? record.linked_file_ids,
    branches ?? record.branch_ids,
    commits ?? record.commit_ids,
    pullRequests ?? record.pull_request_ids,
  ];
};
export const partsOf = (record: RecordRow): string[] => {
  const parts: string[] = [];
  for (const list of partLists(record)) {
    if (!Array.isArray(list)) continue;
    for (const one of list)
      if (!(isObject(one) && one.deleted === true)) parts.push(String(isObject(one) ? one.id : one));
  }
  return parts;
};
/** Lists that a slim record shows and a full record does not, or the reverse. A mark does not include them. */
const SLIM_OR_FULL: ReadonlySet<string> = new Set([
  ...['branch_ids', 'commit_ids', 'pull_request_ids'],
  ...['file_ids', 'linked_file_ids'],
]);
/** Made once for each resource, because a run has many rows of it. */
type OwnFields = { readonly fields: Fields; readonly sorted: readonly (readonly [string, Field])[] };
const ownFieldsOf = new Map<string, OwnFields>();
const ownFields = (resource: string): OwnFields => {
  const known = ownFieldsOf.get(resource);
  if (known !== undefined) return known;
  const fields = Object.fromEntries(
    Object.entries(verbsOf(resource).update?.body ?? {}).filter(([name]) => !POSITIONS.has(name)),
  );
  const sorted = Object.keys(fields)
    .filter((name) => !SLIM_OR_FULL.has(name))
    .toSorted()
    .flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const]));
  ownFieldsOf.set(resource, { fields, sorted });
  return { fields, sorted };
};
/** Returns a mark that shows whether a record is unchanged since a run. */
export type Mark = {
  /** Of all fields that an update may change. */
  readonly all: string;
  readonly parts: number;
  /** Of the single fields that the row wrote. */
  readonly fields: Readonly<Record<string, string>>;
};
export const markRecord = (resource: string, record: RecordRow, written: readonly string[]): Mark => {
  const { fields, sorted } = ownFields(resource);
  // The text is `canonical` of the values. A run marks each of its rows, so it is made without an object of them.
  const texts: string[] = [];
  for (const [name, field] of sorted) {
    const value = valueIn(name, field, record);
    if (value !== undefined) texts.push(`${name}:${canonical(value)}`);
  }
  const marks: Record<string, string> = {};
  for (const name of written) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const value = field === undefined ? undefined : valueIn(name, field, record);
    if (value !== undefined) marks[name] = hashOf(canonical(value));
  }
  return { all: hashOf(`{${texts.join()}}`), parts: partsOf(record).length, fields: marks };
};
const returnedFields = (operation: Operation | undefined): Fields | undefined => {
  if (operation?.returns === undefined) return undefined;
  const given = bare(operation.returns);
  const one = given.type === 'array' ? bare(given.items) : given;
  return one.type === 'object' ? one.fields : undefined;
};
/** Fields of a mark that a record has and a list of records leaves out, such as the description of an iteration. */
export const fieldsLeftOut = (resource: string): string[] => {
  const { get, list, search } = verbsOf(resource);
  const [whole, listed] = [returnedFields(get), returnedFields(list ?? search)];
  if (whole === undefined || listed === undefined) return [];
  const names = [...ownFields(resource).sorted.map(([name]) => name), 'branches', 'commits', 'pull_requests'];
  return names.filter((name) => name in whole && !(name in listed));
};
/** A mark as one word of a journal. */
export const markText = ({ all, parts, fields }: Mark): string =>
  [`${all}.${parts}`, ...Object.entries(fields).map(([name, mark]) => `${name}=${mark}`)].join(',');
export const parseMark = (text: string): Mark | undefined => {
  const [head = '', ...fields] = text.split(',');
  const match = /^([0-9a-f]{12})\.(\d+)$/.exec(head);
  if (match?.[1] === undefined) return undefined;
  const pairs = fields.map((pair) => pair.split('=') as [string, string]);
  return { all: match[1], parts: Number(match[2]), fields: Object.fromEntries(pairs) };
};
/** The fields of an update whose values in a record are not those of the mark. */
export const changedFields = (resource: string, record: RecordRow, { fields }: Mark): string[] => {
  const now = markRecord(resource, record, Object.keys(fields)).fields;
  return Object.keys(fields).filter((name) => now[name] !== fields[name]);
};

type Sent = {
  readonly resource: string;
  readonly verb: 'create' | 'update' | 'delete' | 'upsert';
  readonly operation: Operation;
  readonly input: LooseInput;
};
/** What a row replaces or removes. `record` is the record before the row, if it could be read. */
export const beforeOf = ({ resource, verb, operation, input }: Sent, record?: RecordRow): Before => {
  const op = verb === 'upsert' ? 'create' : verb;
  const params = input.params;
  const known: Before =
    params === undefined || Object.keys(params).length === 0 ? { resource, op } : { resource, op, params };
  if (record === undefined || op === 'create') return known;
  if (op === 'update')
    return { ...known, values: valuesIn(operation.body ?? {}, Object.keys(input.body ?? {}), record) };
  const { create, update } = verbsOf(resource);
  const fields = { ...update?.body, ...create?.body };
  return { ...known, values: valuesIn(fields, Object.keys(fields), record) };
};
/** The part of the change of a row that the service sees. */
export type SentChange = { readonly resource: string; readonly verb: string; readonly input: LooseInput };
type Row = Readonly<Record<string, unknown>>;
const second = (ms: number): string =>
  `${new Date(Math.floor(ms / 1000) * 1000 - 1000).toISOString().slice(0, 19)}Z`;
const rowsOf = async (
  context: EngineContext,
  resource: string,
  startedAt: number,
): Promise<readonly Row[]> => {
  const verbs = (tracker.table as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[resource];
  const { search } = tracker.table.stories;
  const input: LooseInput = resource === 'stories' ? { body: { created_at_start: second(startedAt) } } : {};
  const operation = resource === 'stories' ? search : verbs?.list;
  if (operation === undefined) return [];
  const answer = await context.call(tracker, operation as typeof search, input);
  return Array.isArray(answer) ? (answer as Row[]) : [];
};
const same = (given: unknown, found: unknown): boolean => {
  if (given === null || given === undefined) return true;
  if (typeof given === 'string' && typeof found === 'string' && given !== found)
    return Date.parse(given) === Date.parse(found);
  return typeof given === 'object' ? isSameList(given, found) : given === found;
};
/** The service may write a name in another case, and adds members of its own to an item of a list. */
const isSameItem = (given: unknown, found: unknown): boolean => {
  if (isRecord(given) && isRecord(found))
    return Object.entries(given).every(([name, value]) => !(name in found) || isSameItem(value, found[name]));
  return String(given).toLowerCase() === String(found).toLowerCase();
};
/** The service adds followers of its own to those of a request. */
const GROWS: ReadonlySet<string> = new Set(['follower_ids']);
/** Rows of one file often differ only in a list, such as their labels. A list has no order. */
const isSameList = (given: unknown, found: unknown, canGrow = false): boolean => {
  if (!Array.isArray(given) || !Array.isArray(found)) return true;
  const isPart = (some: readonly unknown[], all: readonly unknown[], match: typeof isSameItem): boolean =>
    some.every((one) => all.some((other) => match(one, other)));
  return (
    isPart(given, found, isSameItem) &&
    (canGrow || isPart(found, given, (one, other) => isSameItem(other, one)))
  );
};
/** Whether a record is the one that a create asked for: every field that was given is the same. */
export const isMadeBy = (body: Row, found: Row, startedAt: number): boolean => {
  const made = typeof found.created_at === 'string' ? Date.parse(found.created_at) : startedAt;
  const isRecent = body.created_at !== undefined || made >= Math.floor(startedAt / 1000) * 1000 - 1000;
  return (
    isRecent &&
    Object.entries(body).every(
      ([name, value]) =>
        !(name in found) ||
        (GROWS.has(name) ? isSameList(value, found[name], true) : same(value, found[name])),
    )
  );
};
/**
 * The state of a line: `sent` may have arrived; `done` has arrived; `failed` was rejected and can be retried.
 */
export type LineState = {
  readonly state: 'sent' | 'done' | 'failed';
  readonly hash: string;
  readonly id?: string;
};
const STATES = [undefined, 'sent', 'done', 'failed'] as const;
const PAGE_LINES = 256;
/** The lines of one page in columns. A mark is the length and the checksum of its line; an ID is a number, and 0 is none. */
type Page = {
  readonly states: Uint8Array;
  readonly lengths: Uint32Array;
  readonly sums: Uint32Array;
  readonly ids: Float64Array;
};
const createPage = (): Page => ({
  states: new Uint8Array(PAGE_LINES),
  lengths: new Uint32Array(PAGE_LINES),
  sums: new Uint32Array(PAGE_LINES),
  ids: new Float64Array(PAGE_LINES),
});
const markOf = (length: number, sum: number): string => `${length.toString(36)}-${sum.toString(36)}`;
/** Distinguishes a line from its content at the start of the run. */
export const lineMark = (text: string): string => markOf(text.length, crc32(text));
const DIGIT_0 = 48;
const LETTER_A = 97;
/** A number of a mark: 32 bits in base 36 without leading zeros. Undefined for any other text, because a mark is compared as a text. */
const numberIn = (text: string): number | undefined => {
  if (text === '' || text.length > 7 || (text.length > 1 && text.charCodeAt(0) === DIGIT_0)) return undefined;
  let value = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    const isDigit = code >= DIGIT_0 && code < DIGIT_0 + 10;
    if (!isDigit && (code < LETTER_A || code >= LETTER_A + 26)) return undefined;
    value = value * 36 + code - (isDigit ? DIGIT_0 : LETTER_A - 10);
  }
  return value <= 0xffff_ffff ? value : undefined;
};
/** The length and the checksum of a mark. */
const numbersIn = (mark: string): readonly [length: number, sum: number] | undefined => {
  const dash = mark.indexOf('-');
  if (dash === -1) return undefined;
  const [length, sum] = [numberIn(mark.slice(0, dash)), numberIn(mark.slice(dash + 1))];
  return length === undefined || sum === undefined ? undefined : [length, sum];
};
/**
 * What an earlier run did with its lines, by their number. A resumed run knows all of them until its end, so that a line
 * costs 17 bytes and no object. A mark or an ID in another form, as a person may write it, is kept as a text.
 */
export class PastLines {
  readonly #pages = new Map<number, Page>();
  readonly #texts = new Map<number, LineState>();

  get(line: number): LineState | undefined {
    const page = this.#pages.get(Math.floor(line / PAGE_LINES));
    return page && this.#stateIn(page, line);
  }
  isDone(line: number): boolean {
    const page = this.#pages.get(Math.floor(line / PAGE_LINES));
    return page !== undefined && STATES[page.states[line % PAGE_LINES] ?? 0] === 'done';
  }
  /** The record of a line that was completed with this text. */
  findDone(line: number, text: string): Pick<LineState, 'id'> | undefined {
    const page = this.#pages.get(Math.floor(line / PAGE_LINES));
    if (page === undefined || !this.isDone(line)) return undefined;
    const known = this.#texts.get(line);
    if (known !== undefined) return known.hash === lineMark(text) ? known : undefined;
    const i = line % PAGE_LINES;
    if (page.lengths[i] !== text.length || page.sums[i] !== crc32(text)) return undefined;
    return page.ids[i] === 0 ? {} : { id: String(page.ids[i]) };
  }
  set(line: number, given: LineState): void {
    const [at, i] = [Math.floor(line / PAGE_LINES), line % PAGE_LINES];
    const page = this.#pages.get(at) ?? createPage();
    this.#pages.set(at, page);
    const mark = numbersIn(given.hash);
    const id = given.id === undefined ? 0 : idKey(given.id);
    page.states[i] = STATES.indexOf(given.state);
    page.lengths[i] = mark?.[0] ?? 0;
    page.sums[i] = mark?.[1] ?? 0;
    page.ids[i] = typeof id === 'number' ? id : 0;
    if (mark === undefined || typeof id === 'string') this.#texts.set(line, given);
    else if (this.#texts.size > 0) this.#texts.delete(line);
  }
  delete(line: number): void {
    const page = this.#pages.get(Math.floor(line / PAGE_LINES));
    if (page !== undefined) page.states[line % PAGE_LINES] = 0;
    this.#texts.delete(line);
  }
  *[Symbol.iterator](): Generator<[line: number, state: LineState]> {
    for (const [at, page] of this.#pages)
      for (let i = 0; i < PAGE_LINES; i += 1) {
        const found = this.#stateIn(page, at * PAGE_LINES + i);
        if (found !== undefined) yield [at * PAGE_LINES + i, found];
      }
  }
  *values(): Generator<LineState> {
    for (const [, found] of this) yield found;
  }
  #stateIn({ states, lengths, sums, ids }: Page, line: number): LineState | undefined {
    const i = line % PAGE_LINES;
    const state = STATES[states[i] ?? 0];
    if (state === undefined) return undefined;
    const text = this.#texts.get(line);
    if (text !== undefined) return text;
    const hash = markOf(lengths[i] ?? 0, sums[i] ?? 0);
    return ids[i] === 0 ? { state, hash } : { state, hash, id: String(ids[i]) };
  }
}
/** A journal has IDs as texts. A run may have millions of them, and a number costs no text. */
const idKey = (id: unknown): string | number => {
  if (typeof id === 'number' && Number.isInteger(id) && id > 0 && id < 1e15) return id;
  const text = String(id);
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : text;
};
/**
 * Checks whether records exist whose creation was sent by a killed run without a response. Each record
 * belongs to only one row; records whose IDs are in the journal already have a row.
 */
export const makeObserver = (context: EngineContext, startedAt: number, past: Iterable<string>) => {
  /** Made at the first look: most runs never look a record up. */
  let known: Set<ReturnType<typeof idKey>> | undefined;
  const recent: ReturnType<typeof idKey>[] = [];
  const takenIds = (): Set<ReturnType<typeof idKey>> => {
    if (known === undefined) {
      known = new Set();
      for (const id of past) known.add(idKey(id));
    }
    for (const id of recent.splice(0)) known.add(id);
    return known;
  };
  const seen = new Map<string, Promise<readonly Row[]>>();
  const observe = async (change: SentChange, how: 'kept' | 'fresh' = 'kept'): Promise<unknown> => {
    const kept = how === 'kept' ? seen.get(change.resource) : undefined;
    const rows = kept ?? rowsOf(context, change.resource, startedAt);
    if (how === 'kept') seen.set(change.resource, rows);
    const listed = await rows;
    const taken = takenIds();
    const found = listed.find(
      (row) => !taken.has(idKey(row.id)) && isMadeBy((change.input.body ?? {}) as Row, row, startedAt),
    );
    if (found !== undefined) taken.add(idKey(found.id));
    return found?.id;
  };
  /** A record of this run belongs to the row that created it, and to no other row. */
  const take = (id: unknown): void => void recent.push(idKey(id));
  return Object.assign(observe, { take });
};
