import type { searchByKind } from '../../api-specs/tracker/search-by-kind.ts';
import type { Call } from '../table-service.ts';
import { slimDocument } from './documents.ts';
import { iterationSlimRecord } from './iterations.ts';
import { objectiveRecord } from './objective-view.ts';
import { documentsAreOn } from './rules/features.ts';
import { type Asked, epicResult, groupsOf, pageOf, storyResult } from './search.ts';
import { termsFrom } from './search-query.ts';
import type { Tracker } from './state.ts';

const isSlim = ({ query }: Asked): boolean => query.detail === 'slim';

const objectives = (path: string) => (call: Asked) => {
  const { milestones } = groupsOf(call);
  return pageOf(
    call,
    termsFrom(call.query.query),
    milestones,
    (one) => objectiveRecord(call.state, one),
    path,
  );
};

/** spec/tracker#search-5: the groups of the search of all kinds, one at a time. */
export const findHandlers = {
  stories: (call: Asked) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).stories,
      (one) => storyResult(call.state, one, isSlim(call)),
      '/search/stories',
    ),
  epics: (call: Asked) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).epics,
      (one) => epicResult(call.state, one, isSlim(call)),
      '/search/epics',
    ),
  iterations: (call: Asked) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).iterations,
      (one) => iterationSlimRecord(call.state, one),
      '/search/iterations',
    ),
  objectives: objectives('/search/objectives'),
  milestones: objectives('/search/milestones'),
};

/** Documents have no whole-number ids to page by: `next` is how many were given before. */
export const documentsByTitle = ({
  state,
  query,
}: Call<Tracker, (typeof searchByKind)['documents']['find']>) => {
  documentsAreOn(state);
  const words = query.title.toLowerCase().split(/\s+/).filter(Boolean);
  const all = state.documents.filter(
    ({ title }) =>
      query.archived !== true && words.every((word) => (title ?? '').toLowerCase().includes(word)),
  );
  const from = Number(/^\d{1,6}$/.exec(query.next ?? '')?.[0] ?? 0);
  const size = query.page_size ?? 25;
  const to = from + size;
  const pairs = new URLSearchParams({ title: query.title, page_size: String(size), next: String(to) });
  return {
    data: all.slice(from, to).map(({ id, title }) => slimDocument(state, id, title)),
    next: to < all.length ? `/api/v3/search/documents?${pairs}` : null,
    total: all.length,
  };
};
