import { Buffer } from 'node:buffer';
import { problem } from '../../core/problem.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { search } from '../../api-specs/tracker/search.ts';
import { HttpError } from '../http-error.ts';
import type { Call, Handlers } from '../table-service.ts';
import { epicSlim, fullEpic } from './epic-view.ts';
import { iterationSlimRecord } from './iterations.ts';
import { objectiveRecord } from './objective-view.ts';
import { epicSubject, iterationSubject, matches, milestoneSubject } from './search-match.ts';
import { SearchLists } from './search-lists.ts';
import { type Term, termsFrom } from './search-query.ts';
import type { Tracker } from './state.ts';
import type { StoredEpic, StoredStory } from './row.ts';
import { storyParts, storySlim } from './story-view.ts';

type SearchCall = Call<Tracker, (typeof search)['run']>;
/** What the search of all kinds and the searches of one kind have in common. */
export type Asked = {
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

/** Where a page starts: the group, how many records were given before it, and the last of them. */
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
const nextPath = ({ query }: Asked, kind: string, path: string, place: Place): string => {
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
  readonly found: (terms: readonly Term[], now: number) => readonly T[];
};

/** The first of a sorted list whose id is higher: what was changed or deleted between two pages moves no other record. */
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
  call: Asked,
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
  const found = one.found(terms, now);
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
const searched =
  <T extends { readonly id: number }>(
    { state, query }: Asked,
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

/** The four kinds of results: where they come from and what a search looks at. */
export const groupsOf = (call: Asked) => {
  const { state, query } = call;
  return {
    stories: {
      group: 'stories',
      kind: 'story',
      found: (terms: readonly Term[], now: number) =>
        state.cache.once('search', () => new SearchLists(state)).stories(query.query, terms, now),
    },
    epics: {
      group: 'epics',
      kind: 'epic',
      found: searched(call, 'epics', () => state.epics.values(), epicSubject),
    },
    iterations: {
      group: 'iterations',
      kind: 'iteration',
      found: searched(call, 'iterations', () => state.iterations.values(), iterationSubject),
    },
    milestones: {
      group: 'milestones',
      kind: 'milestone',
      found: searched(call, 'milestones', () => state.objectives.values(), milestoneSubject),
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
