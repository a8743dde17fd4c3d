import { pageWatch } from '../core/next-page.ts';
import { AppError } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';

type Json = Readonly<Record<string, unknown>>;
/** The rows of one page: the page itself when it is a list, the list in it, or the lists of its groups (`/search`). */
export const rowsOfPage = (page: unknown, path: string): readonly unknown[] => {
  if (Array.isArray(page)) return page;
  const values = Object.values(isRecord(page) ? page : {});
  const lists = values.filter((value) => Array.isArray(value));
  if (lists.length === 1) return lists[0] as unknown[];
  const groups = values.filter(isRecord);
  if (lists.length === 0 && groups.length > 0 && groups.every(({ data }) => Array.isArray(data)))
    return groups.flatMap(({ data }) => data as unknown[]);
  throw new AppError('usage', `${path} is no list; leave --paginate out`, { code: 'NO_LIST' });
};

/** RFC 8288: `Link: <https://…?page=2>; rel="next"`. */
const linked = (header: string | undefined): string | undefined =>
  /<([^>]+)>\s*;[^,]*\brel="?next\b/.exec(header ?? '')?.[1];

const withQuery = (path: string, changes: Readonly<Record<string, string>>): string => {
  const [before = '', query = ''] = path.split('?');
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) params.set(name, value);
  return `${before}?${params}`;
};

/** spec/tracker#search, spec/tracker#epics, spec/labels#parameters: a path, a number of a page, or a token of one. */
const marked = (page: Json, path: string): string[] => {
  if (typeof page.next === 'string' && page.next !== '') return [page.next];
  if (typeof page.next === 'number') return [withQuery(path, { page: String(page.next) })];
  if (typeof page.nextPageToken === 'string' && page.nextPageToken !== '')
    return [withQuery(path, { pageToken: page.nextPageToken })];
  return [];
};

/** spec/tracker#groups: with limit and offset a page that is full may have one behind it. */
const byOffset = (page: readonly unknown[], path: string): string[] => {
  const params = new URLSearchParams(path.split('?')[1] ?? '');
  const limit = Number(params.get('limit') ?? 0);
  return limit > 0 && page.length >= limit
    ? [withQuery(path, { offset: String(Number(params.get('offset') ?? 0) + limit) })]
    : [];
};

/** Where the pages behind this one are; groups of a search each have their own. */
export const nextPages = (
  page: unknown,
  path: string,
  headers: Readonly<Record<string, string>>,
): readonly string[] => {
  const link = linked(headers.link);
  if (link !== undefined) return [link];
  if (Array.isArray(page)) return byOffset(page, path);
  if (!isRecord(page)) return [];
  const own = marked(page, path);
  return own.length > 0
    ? own
    : Object.values(page)
        .filter(isRecord)
        .flatMap((group) => marked(group, path));
};

export type OnePage = { readonly page: unknown; readonly headers: Readonly<Record<string, string>> };

/** All pages, each once: a service that goes round in a circle would never end. */
export async function* allPages(
  first: string,
  ask: (path: string) => Promise<OnePage>,
): AsyncGenerator<readonly unknown[]> {
  const watch = pageWatch(`GET ${first}`);
  watch.refuseAgain(first);
  const open = [first];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    const { page, headers } = await ask(path);
    const rows = rowsOfPage(page, path);
    const next = nextPages(page, path, headers);
    if (Array.isArray(page) && linked(headers.link) === undefined) watch.refuseSameBeginning(page);
    watch.refuseForEver(rows.length);
    yield rows;
    for (const one of next) watch.refuseAgain(one);
    open.push(...next);
  }
}
