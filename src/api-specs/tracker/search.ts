import { help, int, list, maybe, obj, oneOf, orNull, record, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { epicSearchResult } from './epic-records.ts';
import { iterationSlim, milestone } from './planning-records.ts';
import { storySearchResult } from './story-records.ts';

const next = orNull(str());
/** spec/tracker#records Search result. All four groups, or those that were asked for (spec/tracker#search). */
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
        help(
          str(undefined, { min: 1 }),
          'What to find: words and operators such as is:done owner:ana label:bug',
        ),
      ),
      page_size: help(int({ min: 1, max: 250, default: 25 }), 'Records a page'),
      detail: {
        ...oneOf('full', 'slim'),
        default: 'full',
        summary: 'slim leaves descriptions and nested records out',
      } as const,
      next: help(str(), 'Where the next page starts; part of the path in `next`'),
      entity_types: help(
        list(oneOf('story', 'milestone', 'epic', 'iteration', 'objective')),
        'Kinds to search (default all)',
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
