import { bool, help, int, list, maybe, obj, oneOf, orNull, record, req, str } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import { epicSearchResult, iterationSlim, milestone, objective } from './planning-records.ts';
import { storySearchResult, docSlim } from './records.ts';

const next = orNull(str());
/** spec/tracker#records Search result. All four groups, or the requested groups (spec/tracker#search). */
const searchResult = record('SearchResults', {
  epics: maybe(
    obj({ data: list(epicSearchResult), next, total: int() }, { complete: true, name: 'EpicSearchResults' }),
  ),
  iterations: maybe(
    obj(
      { data: list(iterationSlim), next, total: int() },
      { complete: true, name: 'IterationSearchResults' },
    ),
  ),
  milestones: maybe(
    obj({ data: list(milestone), next, total: int() }, { complete: true, name: 'MilestoneSearchResults' }),
  ),
  stories: maybe(
    obj(
      { data: list(storySearchResult), next, total: int() },
      { complete: true, name: 'StorySearchResults' },
    ),
  ),
});
export const search = {
  run: op({
    method: 'GET',
    path: '/search',
    summary: 'Search stories, epics, iterations and objectives',
    cites: 'spec/tracker#search; parameters: spec/tracker#search',
    query: {
      query: req(
        help(str(undefined, { min: 1 }), 'Search terms and operators such as is:done owner:ana label:bug'),
      ),
      page_size: help(int({ min: 1, max: 250, default: 25 }), 'Records per page'),
      detail: {
        ...oneOf('full', 'slim'),
        default: 'full',
        summary: 'Size of each record; slim omits descriptions and nested records',
      } as const,
      next: help(str(), 'Token of the next page; part of the path in `next`'),
      entity_types: help(
        list(oneOf('story', 'milestone', 'epic', 'iteration', 'objective')),
        'Types to search (default all)',
      ),
    },
    ok: 200,
    returns: searchResult,
    errors: ['MaximumResultsExceeded'],
    cli: {
      columns: ['stories.total', 'epics.total'],
      examples: ["opsctl tracker search 'is:started owner:ana'"],
    },
  }),
} as const satisfies Resource;

const pages = {
  page_size: help(int({ min: 1, max: 250, default: 25 }), 'Records per page'),
  next: help(str(), 'Token of the next page; part of the path in `next`'),
} as const;
const query = {
  query: req(
    help(str(undefined, { min: 1 }), 'Search terms and operators such as is:done owner:ana label:bug'),
  ),
  detail: {
    ...oneOf('full', 'slim'),
    default: 'full',
    summary: 'Size of each record; slim omits descriptions and nested records',
  } as const,
  ...pages,
} as const;
const result = { next: orNull(str()), total: int() } as const;
const shared = {
  method: 'GET',
  cites: 'spec/tracker#search-5',
  ok: 200,
  extension: true,
} as const;
const columns = ['total', 'next'] as const;
const errors = ['MaximumResultsExceeded'] as const;
/** spec/tracker#search-5: one kind at a time, with the words and the pages of the search of all kinds. */
export const searchByKind = {
  stories: {
    find: op({
      ...shared,
      path: '/search/stories',
      summary: 'Search stories',
      query,
      returns: record('StoryResults', { data: list(storySearchResult), ...result }),
      errors,
      cli: { columns, examples: ["opsctl tracker stories find --query 'is:started owner:ana'"] },
    }),
  },
  epics: {
    find: op({
      ...shared,
      path: '/search/epics',
      summary: 'Search epics',
      query,
      returns: record('EpicResults', { data: list(epicSearchResult), ...result }),
      errors,
      cli: { columns },
    }),
  },
  iterations: {
    find: op({
      ...shared,
      path: '/search/iterations',
      summary: 'Search iterations',
      query,
      returns: record('IterationResults', { data: list(iterationSlim), ...result }),
      errors,
      cli: { columns },
    }),
  },
  objectives: {
    find: op({
      ...shared,
      path: '/search/objectives',
      summary: 'Search objectives',
      query,
      returns: record('ObjectiveResults', { data: list(objective), ...result }),
      errors,
      cli: { columns },
    }),
  },
  milestones: {
    find: op({
      ...shared,
      path: '/search/milestones',
      summary: 'Search objectives (former name: milestones)',
      query,
      returns: record('MilestoneResults', { data: list(milestone), ...result }),
      errors,
      deprecated: 'objectives find',
      cli: { columns },
    }),
  },
  documents: {
    find: op({
      ...shared,
      path: '/search/documents',
      summary: 'Search documents by title',
      query: {
        title: req(help(str(undefined, { min: 1 }), 'Search terms in the title')),
        archived: help(bool(), 'Whether the record is archived'),
        created_by_me: help(bool(), 'Created by me'),
        followed_by_me: help(bool(), 'Followed by me'),
        ...pages,
      },
      returns: record('DocumentResults', { data: list(docSlim), ...result }),
      errors: ['MaximumResultsExceeded', 'DisabledFeatureError'],
      cli: { columns },
    }),
  },
} as const satisfies Readonly<Record<string, Resource>>;
