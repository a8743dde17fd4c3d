import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { EngineContext } from '../../api/context.ts';
import { parseLookupRow } from '../../api/response.ts';
import type { LooseInput } from '../../core/operation.ts';
import { heldRows, isOutdated, type Reading } from '../../core/limits.ts';
import { AppError, problem, usageError, type Problem } from '../../core/problem.ts';
import { isPosition, type SentChange, verbsOf } from './previous.ts';
import { isRecord } from '../../core/shape.ts';
import { formsOf, lookalikeHint, nearest, showForm, TextForms, toForm } from '../../core/text.ts';

export type RecordRow = Readonly<Record<string, unknown>>;
const PREFIX = 'external:';
/** True for text that addresses a record by its external ID: `external:PROJ-1`. */
export const isExternal = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith(PREFIX) && value.length > PREFIX.length;
export const externalKey = (text: string): string => text.slice(PREFIX.length);

/** The resource that a parameter or a field of a row points to, if its records have an external ID. */
const pointers: Readonly<Record<string, string>> = {
  'category-public-id': 'categories',
  'epic-public-id': 'epics',
  'label-public-id': 'labels',
  'project-public-id': 'projects',
  'story-public-id': 'stories',
  after_id: 'stories',
  before_id: 'stories',
  epic_id: 'epics',
  epic_ids: 'epics',
  label_ids: 'labels',
  object_id: 'stories',
  parent_story_id: 'stories',
  project_id: 'projects',
  project_ids: 'projects',
  story_ids: 'stories',
  subject_id: 'stories',
};
export const resourceOfPointer = (name: string): string | undefined => pointers[name];

/** After this many single lookups of stories, one request reads all of them. */
const MOST_SINGLE = 25;

/** Tasks have no list: the story contains them. */
const tasksOfStory = async (
  context: EngineContext,
  params: Readonly<Record<string, unknown>>,
): Promise<RecordRow[]> => {
  const { get } = tracker.table.stories;
  if (params['story-public-id'] === undefined) return [];
  const story = (await context.lookups.call(tracker, get, { params })) as RecordRow;
  return (story.tasks as RecordRow[] | undefined) ?? [];
};
/** Reading a longer list leaves much garbage. */
const LONG_LIST = 1000;
/** Reads all records of a resource. Parents are the parameters of nested resources, such as the epic of a comment. */
const readAll = async (
  context: EngineContext,
  resource: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Index> => {
  const { list, search } = verbsOf(resource);
  const isStories = resource === 'stories';
  const operation = isStories ? search : list;
  const index = new Index(resource);
  if (operation === undefined) {
    for (const task of await tasksOfStory(context, params)) index.add(task);
    return index;
  }
  const query = operation.query?.includes_description === undefined ? {} : { includes_description: true };
  const input: LooseInput = isStories
    ? { body: { includes_description: true } }
    : { params, ...(Object.keys(query).length === 0 ? {} : { query }) };
  const held = heldRows(`${operation.method} ${operation.path}`);
  for await (const rows of await context.lookups.rows(tracker, operation, input)) {
    held.refuseMore(rows.length);
    for (const row of rows) index.add(parseLookupRow(operation, row) as RecordRow);
  }
  if (index.size > LONG_LIST) context.host.keepMemorySmall();
  return index;
};
const ambiguous = (resource: string, field: string, key: string, rows: readonly RecordRow[]): AppError => {
  const ids = rows.map(({ id }) => String(id)).join(', ');
  return usageError(`${rows.length} ${resource} have the ${field} ${JSON.stringify(key)}: ${ids}`, [
    problem(
      field,
      'rule',
      `is the ${field} of ${rows.length} records: ${ids}`,
      'give each of them its own value',
    ),
  ]);
};

/** Two records with keys that look the same would be one record for people. */
const lookalike = (resource: string, field: string, key: string, other: string): AppError => {
  const what = `is ${showForm(key)}, which looks the same as ${showForm(other)} of another record`;
  return usageError(`${resource} have this ${field} in another Unicode form`, [
    problem(field, 'rule', what, lookalikeHint),
  ]);
};
const isTooLong = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === 'TOO_MANY_ROWS';

const BLOCK_ROWS = 32;
/** Rows of a file are mostly in the order of the records. */
const MOST_OPEN_BLOCKS = 4;
/** Records in compressed blocks: a list of many thousand records as objects takes ten times the memory. */
export class PackedRecords {
  readonly #blocks: Uint8Array[] = [];
  /** The records of the next block. */
  #next: RecordRow[] = [];
  /** Blocks that were read last, by their number. */
  readonly #open = new Map<number, readonly RecordRow[]>();

  /** Returns the position of the record. */
  add(row: RecordRow): number {
    const at = this.#blocks.length * BLOCK_ROWS + this.#next.push(row) - 1;
    if (this.#next.length === BLOCK_ROWS) {
      this.#blocks.push(deflateRawSync(JSON.stringify(this.#next), { level: 1 }));
      this.#next = [];
    }
    return at;
  }
  get(at: number): RecordRow | undefined {
    const number = Math.floor(at / BLOCK_ROWS);
    const block = number === this.#blocks.length ? this.#next : this.#block(number);
    return block?.[at % BLOCK_ROWS];
  }
  #block(number: number): readonly RecordRow[] | undefined {
    const packed = this.#blocks[number];
    const known = this.#open.get(number);
    if (known !== undefined || packed === undefined) return known;
    const rows = JSON.parse(inflateRawSync(packed).toString()) as readonly RecordRow[];
    this.#open.set(number, rows);
    for (const oldest of this.#open.keys()) if (this.#open.size > MOST_OPEN_BLOCKS) this.#open.delete(oldest);
    return rows;
  }
}
/** Records of one resource by ID, external ID and name, with the rows that are being created. */
class Index {
  /** Records have a number here. Few keys and names belong to several records. */
  readonly #byKey = new Map<string, number | number[]>();
  readonly #byName = new Map<string, number | number[]>();
  readonly #byId = new Map<string, number>();
  /** The position of each record. */
  readonly #at: number[] = [];
  readonly #records = new PackedRecords();
  readonly #forms = { external_id: new TextForms(), name: new TextForms() };
  readonly #resource: string;
  constructor(resource: string) {
    this.#resource = resource;
  }
  get size(): number {
    return this.#at.length;
  }
  add(row: RecordRow): void {
    const id = String(row.id);
    const number = this.#byId.get(id) ?? this.#at.length;
    this.#byId.set(id, number);
    this.#at[number] = this.#records.add(row);
    const put = (map: Map<string, number | number[]>, field: 'external_id' | 'name'): void => {
      const key = row[field];
      if (typeof key !== 'string' || key === '') return;
      const known = [map.get(key) ?? []].flat();
      if (known.includes(number)) return;
      map.set(key, known.length === 0 ? number : [...known, number]);
      this.#forms[field].note(key);
    };
    put(this.#byKey, 'external_id');
    put(this.#byName, 'name');
  }
  #find(
    map: Map<string, number | number[]>,
    field: 'external_id' | 'name',
    text: string,
  ): readonly RecordRow[] {
    const found = map.get(text);
    const other = found === undefined ? this.#forms[field].findOther(text) : undefined;
    if (other !== undefined) throw lookalike(this.#resource, field, text, other);
    // A record that has another key or name by now is not found by the old one.
    return [found ?? []].flat().flatMap((number) => {
      const row = this.#record(number);
      return row?.[field] === text ? [row] : [];
    });
  }
  #record = (number: number | undefined): RecordRow | undefined =>
    number === undefined ? undefined : this.#records.get(this.#at[number] ?? -1);
  withKey = (key: string): readonly RecordRow[] => this.#find(this.#byKey, 'external_id', key);
  withName = (name: string): readonly RecordRow[] => this.#find(this.#byName, 'name', name);
  withId = (id: unknown): RecordRow | undefined => this.#record(this.#byId.get(String(id)));
}

type Found = { readonly row: RecordRow } | undefined;
/** Records within another record, such as the comments of a story, have their keys within it. */
export const scopeOf = (resource: string, parents: Readonly<Record<string, unknown>> = {}): string =>
  Object.keys(parents).length === 0 ? resource : `${resource} ${JSON.stringify(parents)}`;
/** Values by resource and key. The keys are texts of the rows: a joined text for each row would cost twice the memory. */
class KeyMap<V> {
  readonly #byScope = new Map<string, Map<string, V>>();
  get = (scope: string, key: string): V | undefined => this.#byScope.get(scope)?.get(key);
  set(scope: string, key: string, value: V): void {
    const known = this.#byScope.get(scope);
    if (known === undefined) this.#byScope.set(scope, new Map([[key, value]]));
    else known.set(key, value);
  }
  delete = (scope: string, key: string): void => void this.#byScope.get(scope)?.delete(key);
}
/** The service responded, but not with the record. The response to a change can still prove the change. */
const NO_RECORD: readonly (string | undefined)[] = ['NOT_JSON', 'NO_SUCCESS', 'OTHER_RECORD', 'OTHER_SHAPE'];
const hasNoRecord = ({ category, detail }: AppError): boolean =>
  ['refused', 'usage'].includes(category) || NO_RECORD.includes(detail.code);
/**
 * Finds records by external ID during one bulk run. Stories are looked up one by one at first, and all
 * together if a run needs many of them. Every other resource is read with one list. A long run reads them again. A row waits for an earlier row
 * with the same key.
 */
export class RecordKeys {
  readonly #context: EngineContext;
  readonly #all = new Map<string, Promise<Index>>();
  /** The row that creates or changes each key. A run may have millions of rows, so each costs one number. */
  readonly #claims = new KeyMap<number>();
  /** Marks of the rows that claimed a name, by their line: a file may repeat a row. */
  readonly #contents = new Map<number, string>();
  /** Claims whose row is not finished yet: a lookup waits for it. */
  readonly #open = new KeyMap<Promise<unknown>>();
  /** The IDs of records that this run created, by the row that claimed their key. A list takes less memory than a map. */
  readonly #learned: unknown[] = [];
  readonly #reads = new Map<string, number>();
  readonly #readings = new Map<string, Reading>();
  #single = 0;
  constructor(context: EngineContext) {
    this.#context = context;
  }

  /**
   * Registers the row that creates or changes a key. Returns the line of an earlier row with the same key.
   */
  claim(
    resource: string,
    given: string,
    line: number,
    finished: Promise<unknown>,
    content?: string,
  ): number | undefined {
    const key = toForm(given);
    const before = this.#claims.get(resource, key);
    if (before !== undefined) return before;
    this.#claims.set(resource, key, line);
    if (content !== undefined) this.#contents.set(line, content);
    const end = (): void => this.#open.delete(resource, key);
    this.#open.set(resource, key, finished.then(end, end));
    return undefined;
  }
  /** The content of a row that claimed a name. */
  contentOf = (line: number): string | undefined => this.#contents.get(line);
  whenFinished = async (resource: string, key: string): Promise<void> =>
    void (await this.#open.get(resource, toForm(key)));
  /** True if an earlier row of a dry run would create the record. */
  isClaimed(resource: string, key: string): boolean {
    return this.#claims.get(resource, toForm(key)) !== undefined;
  }
  /** Notes the ID of a new record. An upsert of the same key is refused, so only its ID can be needed. */
  learn(resource: string, key: string, id: unknown): void {
    const line = this.#claims.get(resource, toForm(key));
    if (line !== undefined) this.#learned[line] = id;
  }

  #index(resource: string, params: Readonly<Record<string, unknown>> = {}): Promise<Index> {
    const name = `${resource} ${JSON.stringify(params)}`;
    const known = this.#all.get(name);
    const reading = this.#readings.get(name);
    const { host } = this.#context;
    const madeAt = host.now();
    if (known !== undefined && (reading === undefined || !isOutdated(reading, madeAt))) return known;
    const index = readAll(this.#context, resource, params).then(
      (read) => {
        this.#readings.set(name, { madeAt, tookMs: host.now() - madeAt });
        return read;
      },
      (error: unknown) => {
        // The connection may work again for the next row. A list that is too long stays too long.
        if (!isTooLong(error)) this.#all.delete(name);
        throw error;
      },
    );
    this.#readings.delete(name);
    this.#all.set(name, index);
    return index;
  }
  async #storiesWithKey(key: string): Promise<readonly RecordRow[]> {
    if (this.#all.has('stories {}') || this.#single >= MOST_SINGLE)
      return (await this.#index('stories')).withKey(key);
    // The search of one key does not find a key that looks the same, so each form is a search.
    for (const form of formsOf(key)) {
      const rows = await this.#searchStories(form);
      if (rows.length > 0 && form !== key) throw lookalike('stories', 'external_id', key, form);
      if (rows.length > 0) return rows;
    }
    return [];
  }
  async #searchStories(key: string): Promise<readonly RecordRow[]> {
    this.#single += 1;
    const { search } = tracker.table.stories;
    const body = { external_id: key, includes_description: true };
    const rows = (await this.#context.lookups.call(tracker, search, { body })) as RecordRow[];
    return rows.filter(({ external_id: id }) => id === key);
  }
  /** The one record with an external ID. Throws if several records have it. */
  async find(
    resource: string,
    key: string,
    params: Readonly<Record<string, unknown>> = {},
    line = Number.POSITIVE_INFINITY,
  ): Promise<Found> {
    const scope = scopeOf(resource, params);
    const claim = this.#claims.get(scope, toForm(key));
    if (claim !== undefined && claim < line) await this.whenFinished(scope, key);
    const learned = claim === undefined ? undefined : this.#learned[claim];
    if (learned !== undefined) return { row: { id: learned } };
    const rows =
      resource === 'stories'
        ? await this.#storiesWithKey(key)
        : (await this.#index(resource, params)).withKey(key);
    if (rows.length > 1) throw ambiguous(resource, 'external_id', key, rows);
    return rows[0] === undefined ? undefined : { row: rows[0] };
  }
  /** The one record with a name, for rows without an external ID. */
  async findNamed(resource: string, name: string, params: Readonly<Record<string, unknown>>): Promise<Found> {
    const rows = (await this.#index(resource, params)).withName(name);
    if (rows.length > 1) throw ambiguous(resource, 'name', name, rows);
    return rows[0] === undefined ? undefined : { row: rows[0] };
  }
  /** A whole record, for fields that a list leaves out. */
  async read(resource: string, params: Readonly<Record<string, unknown>>): Promise<RecordRow | undefined> {
    const { get } = verbsOf(resource);
    if (get === undefined) return undefined;
    const wanted = Object.fromEntries(Object.keys(get.params ?? {}).map((name) => [name, params[name]]));
    return (await this.#context.lookups.call(tracker, get, { params: wanted })) as RecordRow;
  }

  /** All records of a resource once a run has read many of them; undefined before that. */
  async #indexForMany(resource: string): Promise<Index | undefined> {
    const reads = (this.#reads.get(resource) ?? 0) + 1;
    this.#reads.set(resource, reads);
    const { list, search } = verbsOf(resource);
    const name = `${resource} {}`;
    if (reads <= MOST_SINGLE && !this.#all.has(name)) return undefined;
    if ((list ?? search) === undefined) return undefined;
    try {
      return await this.#index(resource);
    } catch (error) {
      if (isTooLong(error)) return undefined;
      throw error;
    }
  }
  /**
   * Returns the record before a row changes it; undefined if the service does not show it. The first rows of
   * a run read their records one by one; later rows read all of them together. A record that is missing from a
   * complete list does not exist: a second request for it would only use up the rate limit. A new record is one that
   * this run created, so a list that the run read earlier does not contain it.
   */
  async current(
    resource: string,
    params: Readonly<Record<string, unknown>>,
    fields: readonly string[],
    isNew = false,
  ): Promise<RecordRow | undefined> {
    const values = Object.values(params);
    try {
      const index = values.length === 1 && !isNew ? await this.#indexForMany(resource) : undefined;
      const listed = index?.withId(values[0]);
      if (index !== undefined && listed === undefined && verbsOf(resource).list !== undefined)
        return undefined;
      if (listed !== undefined && fields.every((name) => isPosition(name) || name in listed)) return listed;
      return await this.read(resource, params);
    } catch (error) {
      if (error instanceof AppError && error.category === 'not-found') return undefined;
      throw error;
    }
  }
  /**
   * Returns the record that a change is about to replace, for an undo. The change itself reports why the service does
   * not show a record, and its own response decides whether it was applied. A service that does not respond ends the
   * command before anything is sent.
   */
  async forUndo(
    resource: string,
    params: Readonly<Record<string, unknown>>,
    fields: readonly string[],
    isNew = false,
  ): Promise<RecordRow | undefined> {
    try {
      return await this.current(resource, params, fields, isNew);
    } catch (error) {
      if (error instanceof AppError && hasNoRecord(error)) return undefined;
      throw error;
    }
  }
  /** Notes a record as the service returned it, so that a later row of the same record sees its values. */
  note(resource: string, answer: unknown): Promise<void> | undefined {
    const known = this.#all.size === 0 ? undefined : this.#all.get(`${resource} {}`);
    if (known === undefined || typeof answer !== 'object' || answer === null || !('id' in answer))
      return undefined;
    return known.then(
      (index) => index.add(answer as RecordRow),
      () => undefined,
    );
  }
}
/** The place of one row among the rows that address the same record. */
export class Turn {
  readonly #earlier: Promise<unknown> | undefined;
  readonly #last: Map<string, Promise<unknown>>;
  readonly #placed: () => void;
  #end: { readonly release: () => void; readonly stop: (error: unknown) => void } | undefined;
  constructor(
    earlier: Promise<unknown> | undefined,
    last: Map<string, Promise<unknown>>,
    placed: () => void,
  ) {
    this.#earlier = earlier;
    this.#last = last;
    this.#placed = placed;
  }
  /** Waits for the earlier rows of the record. True if there was one: what the row was decided by may have changed. */
  async wait(record: string): Promise<boolean> {
    if (this.#earlier !== undefined) await this.#earlier;
    const before = this.#last.get(record);
    const mine = new Promise<void>((release, stop) => {
      this.#end = { release, stop };
    });
    // The rows that follow throw the error. Without one, it has no reader.
    mine.catch(() => undefined);
    const forget = (): void => void (this.#last.get(record) === mine && this.#last.delete(record));
    mine.then(forget, () => undefined);
    this.#last.set(record, mine);
    this.#placed();
    if (before === undefined) return false;
    await before;
    return true;
  }
  leave(): void {
    this.#placed();
    this.#end?.release();
  }
  /** The row stops the run: a later row of its record that was sent would precede it in the resumed run. */
  stop(error: unknown): void {
    this.#end?.stop(error);
    this.#placed();
  }
}
/**
 * Rows that address one record are sent in the order of the file, and all others in parallel. Names and keys are looked
 * up first, so a row takes its place when all earlier rows know their records.
 */
export class RecordTurns {
  readonly #last = new Map<string, Promise<unknown>>();
  #placed: Promise<unknown> | undefined;
  /** Called in the order of the file. */
  enter(): Turn {
    const earlier = this.#placed;
    let note = (): void => undefined;
    const own = new Promise<void>((resolve) => {
      note = resolve;
    });
    const placed: Promise<unknown> = earlier === undefined ? own : earlier.then(() => own);
    this.#placed = placed;
    void placed.then(() => {
      if (this.#placed === placed) this.#placed = undefined;
    });
    return new Turn(earlier, this.#last, note);
  }
}
/** Rows may name labels and categories that the service would make: a mistyped name in many rows makes many records. */
const lists = {
  labels: { operation: tracker.table.labels.list, query: { slim: true } },
  categories: { operation: tracker.table.categories.list, query: {} },
} as const;
type LabelField = keyof typeof lists;
/** New names of one file that are remembered. */
const MOST_NAMES = 200_000;
const fieldsOfRows = Object.keys(lists) as LabelField[];
/** The names in a list; a name that the list repeats is checked once. */
const namesIn = (value: unknown): ReadonlySet<string> =>
  new Set(
    Array.isArray(value)
      ? value.flatMap((one) => (isRecord(one) && typeof one.name === 'string' ? [one.name] : []))
      : [],
  );
export type KnownNames = {
  /** What a row may not name: empty when all names exist, or when a row before makes them. A row without names needs no wait. */
  problems(change: SentChange): readonly Problem[] | Promise<readonly Problem[]>;
};
/** Names by whether their records are archived. */
type ServiceNames = ReadonlyMap<string, boolean>;
const namesOfService = async (context: EngineContext, field: LabelField): Promise<ServiceNames> => {
  const { operation, query } = lists[field];
  const found = new Map<string, boolean>();
  const held = heldRows(`GET ${operation.path}`);
  for await (const rows of await context.lookups.rows(tracker, operation, { query })) {
    held.refuseMore(rows.length);
    for (const row of rows) {
      const { name, archived } = parseLookupRow(operation, row);
      found.set(String(name), archived === true);
    }
  }
  return found;
};
/** Names that rows of the same file make, in the order of the file. */
class MadeNames {
  readonly #names = new Map<string, Set<string>>(fieldsOfRows.map((field) => [field, new Set()]));
  /** Not in the sets yet: most files make labels without naming them in other rows. */
  readonly #recent = new Map<string, string[]>(fieldsOfRows.map((field) => [field, []]));
  /** A file of that many new labels is not read for a mistyped one: memory does not grow with it. */
  isOver = false;
  readonly #most: number;
  constructor(most: number) {
    this.#most = most;
  }
  of(field: string): ReadonlySet<string> {
    const names = this.#names.get(field) ?? new Set();
    for (const name of this.#recent.get(field)?.splice(0) ?? []) names.add(name);
    return names;
  }
  note({ resource, verb, input }: SentChange): void {
    const recent = verb === 'create' ? this.#recent.get(resource) : undefined;
    if (recent === undefined || this.isOver || typeof input.body?.name !== 'string') return;
    recent.push(input.body.name);
    if (recent.length > this.#most - (this.#names.get(resource)?.size ?? 0))
      this.isOver = this.of(resource).size > this.#most;
  }
}
const unknownName = (field: LabelField, name: string, known: Iterable<string>): Problem => {
  const close = nearest(name, [...known]);
  return problem(
    field,
    'rule',
    `names ${JSON.stringify(name)}, which does not exist; --create-${field} makes it`,
    close && `did you mean ${close}?`,
  );
};
type Forms = { readonly ofService: TextForms; readonly ofRows: TextForms };
/** Names that look like those of the service, or of earlier rows: each would be a second record. */
class NameForms {
  readonly #forms = new Map<LabelField, Forms>();
  problems(field: LabelField, names: ServiceNames, wanted: Iterable<string>): Problem[] {
    const known = this.#forms.get(field) ?? {
      ofService: new TextForms(names.keys()),
      ofRows: new TextForms(),
    };
    this.#forms.set(field, known);
    return [...wanted].flatMap((name) => {
      if (names.has(name)) return [];
      const existing = known.ofService.findOther(name);
      const earlier = known.ofRows.findOther(name);
      known.ofRows.note(name);
      const other =
        existing === undefined
          ? earlier && `${showForm(earlier)} of an earlier row`
          : `the existing ${showForm(existing)}`;
      if (other === undefined) return [];
      return [
        problem(field, 'rule', `names ${showForm(name)}, which looks the same as ${other}`, lookalikeHint),
      ];
    });
  }
}
/** The names that the service has are read once for the run, when the first row needs them. */
export const makeKnownNames = (
  context: EngineContext,
  mayCreate: readonly string[],
  mostNames = MOST_NAMES,
): KnownNames => {
  const known = new Map<LabelField, Promise<ServiceNames>>();
  const forms = new NameForms();
  const made = new MadeNames(mostNames);
  const namesOf = (field: LabelField): Promise<ServiceNames> => {
    const names = known.get(field) ?? namesOfService(context, field);
    known.set(field, names);
    return names;
  };
  const unknownNames = async (field: LabelField, change: SentChange): Promise<Problem[]> => {
    const wanted = namesIn(change.input.body?.[field]);
    if (wanted.size === 0 || made.isOver) return [];
    const [names, own] = [await namesOf(field), made.of(field)];
    for (const name of wanted)
      if (names.get(name) === true)
        context.log.warnOnce(
          `archived ${field} ${name}`,
          `${field === 'labels' ? 'label' : 'category'} ${JSON.stringify(name)} is archived; rows still attach it`,
        );
    const like = forms.problems(field, names, wanted);
    if (like.length > 0 || mayCreate.includes(field)) return like;
    return [...wanted]
      .filter((name) => !names.has(name) && !own.has(name))
      .map((name) => unknownName(field, name, [...names.keys(), ...own]));
  };
  return {
    problems: (change) => {
      made.note(change);
      const named = fieldsOfRows.filter((field) => Array.isArray(change.input.body?.[field]));
      if (named.length === 0) return [];
      return Promise.all(named.map((field) => unknownNames(field, change))).then((found) => found.flat());
    },
  };
};
