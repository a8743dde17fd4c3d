import { HttpError } from '../http-error.ts';
import type { Collection } from '../store.ts';
import type { Tracker } from './state.ts';

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
/** A time that a caller gave: in UTC as it stands, so that it comes back as it went; else the same instant in UTC. */
export const instant = <T extends string | null | undefined>(text: T): T =>
  typeof text === 'string' ? (inUtc(text) as T) : text;

/** spec/tracker#records-1: one sequence for all records with whole-number ids. */
export const newId = ({ env }: Tracker): number => env.store.next('tracker.ids', 101);
export const newUuid = ({ env }: Tracker): string => env.uuid();

/** Where a person would look at a record. */
export const appUrl = ({ env }: Tracker, kind: string, id: number | string): string =>
  `${env.origin()}/app/${kind}/${id}`;

/** spec/tracker#errors-1. */
export const found = <T>(collection: Collection<T>, id: number | string): T => {
  const record = collection.get(typeof id === 'string' ? id.toLowerCase() : id);
  if (record === undefined) throw new HttpError(404, 'Resource not found.');
  return record;
};

/** The member that the token belongs to: author, requester and uploader unless another is named. */
export const ownerId = (state: Tracker): string => state.workspace.get('workspace')?.owner ?? '';

/** What a body sets, of these fields; absent fields stay as they are. */
export const given = <B extends object, K extends keyof B>(
  body: B,
  ...names: K[]
): { [P in K]: Exclude<B[P], undefined> } => {
  const set: Partial<B> = {};
  for (const name of names) if (body[name] !== undefined) set[name] = body[name];
  return set as { [P in K]: Exclude<B[P], undefined> };
};

const AT = /(?:^|[^\w@])@([A-Za-z0-9][\w.-]*)/g;
const none: string[] = Object.freeze([]) as unknown as string[];
const noMentions = { mention_ids: none, member_mention_ids: none, group_mention_ids: none };

/** Who is meant by `@name` in a text: members and groups by their mention name. */
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
