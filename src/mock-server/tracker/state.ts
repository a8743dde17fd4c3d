import { Buffer } from 'node:buffer';
import type { repository } from '../../api-specs/tracker/records.ts';
import type { Value } from '../../core/field.ts';
import { HttpError } from '../body.ts';
import type { Environment } from '../service-set.ts';
import type { Collection, Store } from '../store.ts';
import { Json } from '../table-service.ts';
import {
  StoryCounters,
  type Delivery,
  type StoredCategory,
  type StoredCustomField,
  type StoredDocument,
  type StoredEpic,
  type StoredEpicComment,
  type StoredEpicWorkflow,
  type StoredFile,
  type StoredGroup,
  type StoredHealth,
  type StoredHistory,
  type StoredIteration,
  type StoredKeyResult,
  type StoredLabel,
  type StoredLinkedFile,
  type StoredMember,
  type StoredObjective,
  type StoredProject,
  type StoredStory,
  type StoredStoryComment,
  type StoredStoryLink,
  type StoredTask,
  type StoredTemplate,
  type StoredWebhook,
  type StoredWorkflow,
  type StoredWorkspace,
} from './row.ts';

/** One record of a list, and what its text shows of other records. */
export type ShownRecord = { readonly record: object; readonly seen: readonly unknown[] };
type Segment = { readonly shown: readonly ShownRecord[]; readonly bytes: Buffer };
/** Records of one segment: some hundred kilobytes, rebuilt when one of them changes. */
const SEGMENT = 256;
const isSame = (a: ShownRecord, b: ShownRecord | undefined): boolean =>
  a.record === b?.record && a.seen.length === b.seen.length && a.seen.every((one, i) => one === b.seen[i]);
/**
 * A long list as JSON in UTF-8, in segments: an unchanged list is only written, and a change of one record
 * rebuilds its segment. Segments are found by their first record, so inserts and deletes move no other
 * segment.
 */
export class LongList {
  #segments: readonly Segment[] = [];
  #version = -1;
  /** Memory that the segments take. */
  bytes = 0;

  isOf(version: number): boolean {
    return this.#version === version;
  }
  update(version: number, all: readonly ShownRecord[], text: (at: number) => string): void {
    const known = new Map(this.#segments.map((segment) => [segment.shown[0]?.record, segment]));
    const segments: Segment[] = [];
    for (let at = 0; at < all.length; ) {
      const found = known.get(all[at]?.record);
      const segment =
        found?.shown.every((one, i) => isSame(one, all[at + i])) === true
          ? found
          : this.#makeSegment(all, at, known, text);
      segments.push(segment);
      at += segment.shown.length;
    }
    this.#segments = segments;
    this.#version = version;
    this.bytes = segments.reduce((sum, one) => sum + one.bytes.length, 0);
  }
  /** Returns the JSON array. The returned bytes stay unchanged, even if records change during the write. */
  *body(): Generator<Uint8Array> {
    const segments = this.#segments;
    yield Buffer.from('[');
    for (const [i, { bytes }] of segments.entries()) yield i === 0 ? bytes.subarray(1) : bytes;
    yield Buffer.from(']');
  }
  get length(): number {
    return this.bytes + 2 - (this.#segments.length > 0 ? 1 : 0);
  }

  /** A new segment ends at the start of a known one, so that the following segments stay aligned. */
  #makeSegment(
    all: readonly ShownRecord[],
    start: number,
    known: ReadonlyMap<object | undefined, Segment>,
    text: (at: number) => string,
  ): Segment {
    let end = start + 1;
    while (end < all.length && end - start < SEGMENT && !known.has(all[end]?.record)) end += 1;
    let json = '';
    for (let at = start; at < end; at++) json += `,${text(at)}`;
    return { shown: all.slice(start, end), bytes: Buffer.from(json) };
  }
}

/** Limits of the cache, so that a workspace of 100,000 stories needs little memory. */
const LIST_CHARACTERS = 8_000_000;
const RECORD_TEXTS = 20_000;
const VALUES = 16;
/** Bytes of long lists that are kept in their encoded form. */
const LONG_BYTES = 256 * 1024 * 1024;
/**
 * JSON text of responses. A whole list is cached until any record changes. The text of one record is cached
 * while the record and the shown values of other records are the same (records are never changed in place).
 */
class Cache {
  readonly #store: Store;
  #version = -1;
  #characters = 0;
  #texts = 0;
  readonly #lists = new Map<string, Json>();
  readonly #records = new Map<
    string,
    WeakMap<object, { readonly seen: readonly unknown[]; readonly text: string }>
  >();
  readonly #values = new Map<string, { readonly version: number; readonly value: unknown }>();
  readonly #long = new Map<string, LongList>();
  readonly #once = new Map<string, unknown>();
  constructor(store: Store) {
    this.#store = store;
  }
  /** A list by its name (path and query); `make` gives the texts of its records. */
  list(name: string, make: () => Iterable<string>): Json {
    if (this.#version !== this.#store.version || this.#characters > LIST_CHARACTERS) {
      this.#lists.clear();
      this.#characters = 0;
      this.#version = this.#store.version;
    }
    const found = this.#lists.get(name);
    if (found !== undefined) return found;
    const made = new Json(`[${[...make()].join(',')}]`);
    this.#lists.set(name, made);
    this.#characters += made.text.length;
    return made;
  }
  /** A list that still holds. */
  findList(name: string): Json | undefined {
    const long = this.#long.get(name);
    if (long?.isOf(this.#store.version)) return new Json('', long);
    return this.#version === this.#store.version ? this.#lists.get(name) : undefined;
  }
  /** A list from this length on is stored as bytes and written piece by piece. */
  longList(name: string, all: readonly ShownRecord[], text: (at: number) => string): Json {
    const list = this.#long.get(name) ?? new LongList();
    list.update(this.#store.version, all, text);
    // The most recent list is kept regardless of its size, because most workspaces have one large list.
    const others = [...this.#long.values()].filter((one) => one !== list);
    if (others.reduce((sum, one) => sum + one.bytes, list.bytes) > LONG_BYTES) this.#long.clear();
    this.#long.set(name, list);
    return new Json('', list);
  }
  /** A value that is created once for this state. */
  once<T>(name: string, make: () => T): T {
    const made = this.#once.get(name) ?? make();
    this.#once.set(name, made);
    return made as T;
  }
  /** The text of a record; made again when one of `seen` is another value than the last time. */
  text(kind: string, record: object, seen: readonly unknown[], make: () => string): string {
    let texts = this.#records.get(kind);
    if (texts === undefined) {
      texts = new WeakMap();
      this.#records.set(kind, texts);
    }
    const found = texts.get(record);
    if (
      found !== undefined &&
      found.seen.length === seen.length &&
      found.seen.every((one, i) => one === seen[i])
    )
      return found.text;
    const text = make();
    if (this.#texts >= RECORD_TEXTS) {
      this.#records.clear();
      this.#texts = 0;
      return text;
    }
    this.#texts += 1;
    texts.set(record, { seen, text });
    return text;
  }
  /** Any value that holds while `version` is the same. */
  value<T>(name: string, version: number, make: () => T): T {
    const found = this.#values.get(name);
    if (found !== undefined && found.version === version) return found.value as T;
    const value = make();
    if (this.#values.size >= VALUES) this.#values.clear();
    this.#values.set(name, { version, value });
    return value;
  }
}

/** Switches of the workspace. The default is on. spec/tracker#service-2, spec/tracker#errors-2. */
export type Feature =
  | 'entity-templates'
  | 'iterations'
  | 'documents'
  | 'group-entitlement'
  | 'objective-entitlement';
export type Tracker = {
  readonly env: Environment;
  readonly categories: Collection<StoredCategory>;
  readonly comments: Collection<StoredEpicComment>;
  readonly customFields: Collection<StoredCustomField>;
  readonly documents: Collection<StoredDocument>;
  readonly epics: Collection<StoredEpic>;
  readonly epicWorkflow: Collection<StoredEpicWorkflow>;
  readonly features: Collection<boolean>;
  readonly files: Collection<StoredFile>;
  readonly fileBytes: Collection<Uint8Array>;
  readonly groups: Collection<StoredGroup>;
  readonly health: Collection<StoredHealth>;
  readonly iterations: Collection<StoredIteration>;
  readonly keyResults: Collection<StoredKeyResult>;
  readonly labels: Collection<StoredLabel>;
  readonly linkedFiles: Collection<StoredLinkedFile>;
  readonly members: Collection<StoredMember>;
  readonly objectives: Collection<StoredObjective>;
  readonly projects: Collection<StoredProject>;
  readonly repositories: Collection<Value<typeof repository>>;
  readonly stories: Collection<StoredStory>;
  readonly storyHistory: Collection<StoredHistory>;
  readonly storyComments: Collection<StoredStoryComment>;
  readonly storyLinks: Collection<StoredStoryLink>;
  readonly tasks: Collection<StoredTask>;
  readonly templates: Collection<StoredTemplate>;
  readonly webhooks: Collection<StoredWebhook>;
  readonly workflows: Collection<StoredWorkflow>;
  readonly workspace: Collection<StoredWorkspace>;
  /** Counters over the stories. */
  readonly counters: StoryCounters;
  /** JSON that was made before. */
  readonly cache: Cache;
  /** The last delivery to each webhook, so that events arrive in order. */
  readonly deliveries: Map<number, Promise<void>>;
  /** What webhooks were sent, newest last. */
  readonly sent: { readonly list: Delivery[]; count: number };
  /** Webhooks whose receiver did not take the last delivery. */
  readonly failing: Set<number>;
};
const emptyDeliveries = (): Pick<Tracker, 'deliveries' | 'sent' | 'failing'> => ({
  deliveries: new Map(),
  sent: { list: [], count: 0 },
  failing: new Set(),
});
export const trackerState = (env: Environment): Tracker => {
  const of = <T>(name: string): Collection<T> => env.store.collection<T>(`tracker.${name}`);
  const stories = of<StoredStory>('stories');
  const workflows = of<StoredWorkflow>('workflows');
  return {
    env,
    categories: of('categories'),
    comments: of('epic-comments'),
    customFields: of('custom-fields'),
    documents: of('documents'),
    epics: of('epics'),
    epicWorkflow: of('epic-workflow'),
    features: of('features'),
    files: of('files'),
    fileBytes: of('file-bytes'),
    groups: of('groups'),
    health: of('health'),
    iterations: of('iterations'),
    keyResults: of('key-results'),
    labels: of('labels'),
    linkedFiles: of('linked-files'),
    members: of('members'),
    objectives: of('objectives'),
    projects: of('projects'),
    repositories: of('repositories'),
    stories,
    storyHistory: of('story-history'),
    storyComments: of('story-comments'),
    storyLinks: of('story-links'),
    tasks: of('story-tasks'),
    templates: of('entity-templates'),
    webhooks: of('webhooks'),
    workflows,
    workspace: of('workspace'),
    counters: new StoryCounters(stories, workflows),
    cache: new Cache(env.store),
    ...emptyDeliveries(),
  };
};

/** Whole seconds in UTC (spec/tracker#records-1). */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
/** Thousands of records are made in one second: its text is written once. */
export const now = ({ env, cache }: Tracker): string => {
  const ms = env.now();
  const last = cache.once('the last second', () => ({ second: Number.NaN, text: '' }));
  const second = Math.floor(ms / 1000);
  if (second !== last.second) [last.second, last.text] = [second, timestamp(ms)];
  return last.text;
};
const IN_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const inUtc = (text: string): string =>
  IN_UTC.test(text) ? text : new Date(text).toISOString().replace('.000Z', 'Z');
/**
 * A time from a request: UTC text stays unchanged, so that it is returned as sent. Other text is converted to
 * UTC.
 */
export const instant = <T extends string | null | undefined>(text: T): T =>
  typeof text === 'string' ? (inUtc(text) as T) : text;
/** spec/tracker#records-1: one sequence for all records with whole-number ids. */
export const newId = ({ env }: Tracker): number => env.store.next('tracker.ids', 101);
export const newUuid = ({ env }: Tracker): string => env.uuid();
/** The URL of the page of a record. */
export const appUrl = ({ env }: Tracker, kind: string, id: number | string): string =>
  `${env.origin()}/app/${kind}/${id}`;
/** spec/tracker#errors-1. */
export const findRecord = <T>(collection: Collection<T>, id: number | string): T => {
  const record = collection.get(typeof id === 'string' ? id.toLowerCase() : id);
  if (record === undefined) throw new HttpError(404, 'Resource not found.');
  return record;
};
/** The member that the token belongs to: author, requester and uploader unless another is named. */
export const ownerId = (state: Tracker): string => state.workspace.get('workspace')?.owner ?? '';
/** What a body sets, of these fields; absent fields stay as they are. */
export const pickGiven = <B extends object, K extends keyof B>(
  body: B,
  ...names: K[]
): { [P in K]: Exclude<B[P], undefined> } => {
  const set: Partial<B> = {};
  for (const name of names) if (body[name] !== undefined) set[name] = body[name];
  return set as { [P in K]: Exclude<B[P], undefined> };
};
/** The times that a person states for a start and a completion: an override is set, and null clears it (spec/tracker#states). */
export const overrideChanges = (body: {
  readonly completed_at_override?: string | null | undefined;
  readonly started_at_override?: string | null | undefined;
}) => ({
  ...(body.completed_at_override === undefined
    ? {}
    : { completed_at_override: instant(body.completed_at_override) }),
  ...(body.started_at_override === undefined
    ? {}
    : { started_at_override: instant(body.started_at_override) }),
});
const AT = /(?:^|[^\w@])@([A-Za-z0-9][\w.-]*)/g;
const none: string[] = Object.freeze([]) as unknown as string[];
const noMentions = { mention_ids: none, member_mention_ids: none, group_mention_ids: none };
/** The targets of `@name` in a text: members and groups by their mention name. */
export const mentions = (state: Tracker, text: string | null | undefined) => {
  if (text === null || text === undefined || !text.includes('@')) return noMentions;
  const names = new Set(
    [...text.matchAll(AT)].map((match) => (match[1] ?? '').replace(/[.-]+$/, '').toLowerCase()),
  );
  if (names.size === 0) return noMentions;
  const members = state.members
    .filter(({ profile }) => names.has(profile.mention_name.toLowerCase()))
    .map(({ id }) => id);
  const groups = state.groups
    .filter((group) => names.has(group.mention_name.toLowerCase()))
    .map(({ id }) => id);
  return { mention_ids: [...members, ...groups], member_mention_ids: members, group_mention_ids: groups };
};
/** Without repeats, in the order given. */
export const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
const lower = (id: string): string => id.toLowerCase();
export const uuidList = (ids: readonly string[] | undefined): string[] => unique((ids ?? []).map(lower));
