import { Buffer } from 'node:buffer';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { search } from '../../api-specs/tracker/search.ts';
import { problem } from '../../core/problem.ts';
import { HttpError } from '../body.ts';
import type { Index } from '../store.ts';
import type { Call, Handlers } from '../table-service.ts';
import { byEpic, type StoredEpic, type StoredStory } from './row.ts';
import { epicSlim, fullEpic, objectiveRecord } from './epic-view.ts';
import { iterationSlimRecord } from './objectives.ts';
import {
  epicSubject,
  iterationSubject,
  matches,
  milestoneSubject,
  storySubject,
  type Term,
  termsFrom,
} from './search-match.ts';
import type { Tracker } from './state.ts';
import {
  groupOfStory,
  iterationOfStory,
  labelsOfStory,
  projectOfStory,
  storyParts,
  storySlim,
} from './story-parts.ts';

type Id = number | string;
/** The stories that a term can mean, by an index of the store: which index, and under which ids. */
type Narrowed = { readonly index: Index<StoredStory>; readonly ids: readonly Id[] };
type Records<T> = { values(): Iterable<T> };
const ownersOfStory = (story: StoredStory): readonly string[] => story.owner_ids;
const requesterOfStory = (story: StoredStory): string => story.requested_by_id;
/** Records of another kind with this name. They are few in comparison to the stories. */
const idsOf = <T extends { readonly id: Id }>(
  records: Records<T>,
  wanted: string,
  names: (record: T) => readonly string[],
): Id[] => {
  const found: Id[] = [];
  for (const record of records.values())
    if (
      String(record.id).toLowerCase() === wanted ||
      names(record).some((name) => name.toLowerCase() === wanted)
    )
      found.push(record.id);
  return found;
};
const byName = ({ name }: { readonly name: string }): readonly string[] => [name];
/** An operator that asks for one record of another kind, as an index; undefined for all others. */
const narrowed: Readonly<Record<string, (state: Tracker, wanted: string) => Narrowed>> = {
  label: (state, wanted) => ({
    index: state.stories.index('label', labelsOfStory),
    ids: idsOf(state.labels, wanted, byName),
  }),
  epic: (state, wanted) => ({
    index: state.stories.index('epic', byEpic),
    ids: idsOf(state.epics, wanted, byName),
  }),
  project: (state, wanted) => ({
    index: state.stories.index('project', projectOfStory),
    ids: idsOf(state.projects, wanted, byName),
  }),
  iteration: (state, wanted) => ({
    index: state.stories.index('iteration', iterationOfStory),
    ids: idsOf(state.iterations, wanted, byName),
  }),
  team: (state, wanted) => ({
    index: state.stories.index('group', groupOfStory),
    ids: idsOf(state.groups, wanted, ({ name, mention_name: mention }) => [name, mention]),
  }),
  owner: (state, wanted) => ({
    index: state.stories.index('owner', ownersOfStory),
    ids: memberIds(state, wanted),
  }),
  requester: (state, wanted) => ({
    index: state.stories.index('requester', requesterOfStory),
    ids: memberIds(state, wanted),
  }),
};
/** A deleted member is selected by the ID that stories still contain. */
const memberIds = (state: Tracker, wanted: string): Id[] => {
  const found = idsOf(state.members, wanted, ({ profile }) => [profile.mention_name, profile.name]);
  return found.includes(wanted) ? found : [...found, wanted];
};
const alias: Readonly<Record<string, string>> = { group: 'team' };
const sizeOf = ({ index, ids }: Narrowed): number =>
  ids.reduce<number>((sum, id) => sum + index.count(id), 0);
/**
 * The candidate stories of a search: the stories of its narrowest operator. Undefined if no operator names a
 * record, so that every story must be checked. Candidates are still matched against all terms.
 */
const candidates = (state: Tracker, terms: readonly Term[]): Iterable<StoredStory> | undefined => {
  const ids = terms.filter(({ operator, not }) => operator === 'id' && !not);
  if (ids[0] !== undefined) {
    const story = /^\d{1,16}$/.test(ids[0].value) ? state.stories.get(Number(ids[0].value)) : undefined;
    return story === undefined ? [] : [story];
  }
  const found = terms.flatMap(({ operator, value, not }) => {
    const narrow = not ? undefined : narrowed[alias[operator] ?? operator];
    return narrow === undefined ? [] : [narrow(state, value.toLowerCase().replace(/^@/, ''))];
  });
  const [first, ...rest] = found;
  if (first === undefined) return undefined;
  const best = rest.reduce((least, one) => (sizeOf(one) < sizeOf(least) ? one : least), first);
  return new Set(best.ids.flatMap((id) => [...best.index.get(id)]));
};

type Found = { readonly stories: StoredStory[]; readonly about: string; seen: number };
const LISTS = 16;
/** The limit of remembered changed stories. After more changes, a search checks all stories again. */
const CHANGES = 1000;
const MINUTE_MS = 60_000;
/** The place in a list sorted by id where an id stands or would stand. */
const placeOfId = (sorted: readonly { readonly id: number }[], id: number): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
};
/**
 * All collections that a term may refer to, except stories. A change in one of them may change any result.
 */
const versionsOf = (state: Tracker): string =>
  [
    state.labels,
    state.epics,
    state.projects,
    state.iterations,
    state.objectives,
    state.members,
    state.groups,
    state.workflows,
    state.customFields,
  ]
    .map(({ version }) => version)
    .join(' ');
/**
 * Cached results of story searches, updated with the changed stories: a search after a write checks only
 * those stories.
 */
export class SearchLists {
  readonly #state: Tracker;
  readonly #lists = new Map<string, Found>();
  #changed: number[] = [];
  /** Number of the first change in `#changed`. */
  #first = 0;

  constructor(state: Tracker) {
    this.#state = state;
    state.stories.watch({
      isWatching: () => this.#lists.size > 0,
      onChange: (before, after) => this.#note(before?.id ?? after?.id ?? 0),
    });
  }

  stories(query: string, terms: readonly Term[], now: number): readonly StoredStory[] {
    const about = `${Math.floor(now / MINUTE_MS)} ${versionsOf(this.#state)}`;
    const known = this.#lists.get(query);
    if (known?.about === about && known.seen >= this.#first) {
      this.#update(known, terms, now);
      return known.stories;
    }
    const stories = this.#findStories(terms, now);
    if (this.#lists.size >= LISTS && known === undefined) this.#forget();
    this.#lists.set(query, { stories, about, seen: this.#first + this.#changed.length });
    return stories;
  }

  #findStories(terms: readonly Term[], now: number): StoredStory[] {
    const isFound = (story: StoredStory): boolean => matches(storySubject(this.#state, story), terms, now);
    const few = candidates(this.#state, terms);
    const found = few === undefined ? this.#state.stories.filter(isFound) : [...few].filter(isFound);
    return found.sort((a, b) => a.id - b.id);
  }

  #update(known: Found, terms: readonly Term[], now: number): void {
    for (const id of new Set(this.#changed.slice(known.seen - this.#first))) {
      const story = this.#state.stories.get(id);
      const at = placeOfId(known.stories, id);
      const isListed = known.stories[at]?.id === id;
      const isFound = story !== undefined && matches(storySubject(this.#state, story), terms, now);
      known.stories.splice(at, isListed ? 1 : 0, ...(isFound ? [story] : []));
    }
    known.seen = this.#first + this.#changed.length;
  }
  #note(id: number): void {
    this.#changed.push(id);
    if (this.#changed.length > CHANGES) this.#forget();
  }
  #forget(): void {
    this.#first += this.#changed.length;
    this.#changed = [];
    this.#lists.clear();
  }
}

type SearchCall = Call<Tracker, (typeof search)['run']>;
/** What the search of all kinds and the searches of one kind have in common. */
export type SearchQuery = {
  readonly state: Tracker;
  readonly query: {
    readonly query: string;
    readonly page_size?: number | undefined;
    readonly detail?: 'full' | 'slim' | undefined;
    readonly next?: string | undefined;
  };
};
/** spec/tracker#search: "`total` counts all matches; only the first 1000 can be paged". */
const MOST = 1000;
/** The start of a page: the group, the number of records before it, and the last of them. */
type Place = { readonly group: string; readonly given: number; readonly after: number };
const tokenOf = ({ group, given, after }: Place): string =>
  Buffer.from(`${group}:${given}:${after}`).toString('base64url');
const placeOf = (token: string | undefined): Place | undefined => {
  if (token === undefined) return undefined;
  const found = /^(stories|epics|iterations|milestones):(\d{1,6}):(\d{1,16})$/.exec(
    Buffer.from(token, 'base64url').toString(),
  );
  if (found === null)
    throw new HttpError(400, 'The request included invalid or missing parameters.', {
      problems: [problem('next', 'format', 'is not a place that this search gave')],
    });
  return { group: found[1] ?? '', given: Number(found[2]), after: Number(found[3]) };
};
/** spec/tracker#search: "a path with query string from the host root". */
const nextPath = ({ query }: SearchQuery, kind: string, path: string, place: Place): string => {
  const pairs = new URLSearchParams({
    query: query.query,
    page_size: String(query.page_size ?? 25),
    detail: query.detail ?? 'full',
    ...(path === '/search' ? { entity_types: kind } : {}),
  });
  pairs.set('next', tokenOf(place));
  return `${tracker.basePath}${path}?${pairs}`;
};
type Group<T> = {
  readonly group: string;
  readonly kind: string;
  /** All that match, by id. */
  readonly findAll: (terms: readonly Term[], now: number) => readonly T[];
};
/**
 * The first record of a sorted list with a higher ID: changes and deletes between two pages move no other
 * record.
 */
const firstAfter = (sorted: readonly { readonly id: number }[], id: number): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? 0) > id) high = middle;
    else low = middle + 1;
  }
  return low;
};
export const pageOf = <T extends { readonly id: number }, R>(
  call: SearchQuery,
  terms: readonly Term[],
  one: Group<T>,
  render: (record: T) => R,
  path = '/search',
) => {
  const { state, query } = call;
  const size = query.page_size ?? 25;
  const place = placeOf(query.next);
  const { given, after } = place?.group === one.group ? place : { given: 0, after: -1 };
  if (given >= MOST) {
    const message = `Only the first ${MOST} results of a search can be read; make the search narrower.`;
    throw new HttpError(400, message, {
      body: { error: 'maximum-results-exceeded', message, 'maximum-results': MOST },
    });
  }
  const now = state.env.now();
  const found = one.findAll(terms, now);
  const start = firstAfter(found, after);
  const data = found.slice(start, start + Math.min(size, MOST - given));
  const isLast = start + data.length >= found.length || given + data.length >= MOST;
  const here = { group: one.group, given: given + data.length, after: data.at(-1)?.id ?? after };
  return {
    data: data.map(render),
    next: isLast ? null : nextPath(call, one.kind, path, here),
    total: found.length,
  };
};
/** spec/tracker#records: a story search result has the keys of both forms; slim leaves the records and the description out. */
export const storyResult = (state: Tracker, story: StoredStory, isSlim: boolean) =>
  isSlim ? storySlim(state, story, false) : { ...storySlim(state, story, true), ...storyParts(state, story) };
export const epicResult = (state: Tracker, epic: StoredEpic, isSlim: boolean) =>
  isSlim ? epicSlim(state, epic, false) : fullEpic(state, epic);
/** The same state and query give the same list within a minute, so a page does not search again. */
const searchCached =
  <T extends { readonly id: number }>(
    { state, query }: SearchQuery,
    group: string,
    records: () => Iterable<T>,
    subject: (state: Tracker, record: T) => Parameters<typeof matches>[0],
  ) =>
  (terms: readonly Term[], now: number): readonly T[] =>
    state.cache.value(
      `search ${group} ${Math.floor(now / 60_000)} ${query.query}`,
      state.env.store.version,
      () =>
        [...records()]
          .filter((record) => matches(subject(state, record), terms, now))
          .sort((a, b) => a.id - b.id),
    );
/** The four kinds of results: their source and their searchable values. */
export const groupsOf = (call: SearchQuery) => {
  const { state, query } = call;
  return {
    stories: {
      group: 'stories',
      kind: 'story',
      findAll: (terms: readonly Term[], now: number) =>
        state.cache.once('search', () => new SearchLists(state)).stories(query.query, terms, now),
    },
    epics: {
      group: 'epics',
      kind: 'epic',
      findAll: searchCached(call, 'epics', () => state.epics.values(), epicSubject),
    },
    iterations: {
      group: 'iterations',
      kind: 'iteration',
      findAll: searchCached(call, 'iterations', () => state.iterations.values(), iterationSubject),
    },
    milestones: {
      group: 'milestones',
      kind: 'milestone',
      findAll: searchCached(call, 'milestones', () => state.objectives.values(), milestoneSubject),
    },
  };
};
const run = (call: SearchCall) => {
  const { state, query } = call;
  const isSlim = query.detail === 'slim';
  const place = placeOf(query.next);
  // spec/tracker#search "returns epics, iterations, milestones and stories": all four unless the caller names some (spec/tracker#search).
  const wanted = new Set<string>(query.entity_types ?? ['story', 'epic', 'iteration', 'milestone']);
  const isAsked = (group: string, ...kinds: string[]): boolean =>
    place === undefined ? kinds.some((kind) => wanted.has(kind)) : place.group === group;
  const terms = termsFrom(query.query);
  const { stories, epics, iterations, milestones } = groupsOf(call);
  return {
    ...(isAsked('epics', 'epic')
      ? { epics: pageOf(call, terms, epics, (one) => epicResult(state, one, isSlim)) }
      : {}),
    ...(isAsked('iterations', 'iteration')
      ? { iterations: pageOf(call, terms, iterations, (one) => iterationSlimRecord(state, one)) }
      : {}),
    ...(isAsked('milestones', 'milestone', 'objective')
      ? { milestones: pageOf(call, terms, milestones, (one) => objectiveRecord(state, one)) }
      : {}),
    ...(isAsked('stories', 'story')
      ? { stories: pageOf(call, terms, stories, (one) => storyResult(state, one, isSlim)) }
      : {}),
  };
};
export const searchHandlers: Handlers<{ search: typeof search }, Tracker>['search'] = { run };
