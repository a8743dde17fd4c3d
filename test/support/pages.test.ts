import { expect, test } from 'vitest';
import { fetchPages, nextPages, rowsOfPage } from '../../src/support/raw-requests.ts';

test('rows are the list of a page, at any position', () => {
  expect(rowsOfPage([1, 2], '/x')).toEqual([1, 2]);
  expect(rowsOfPage({ data: [1], next: 2, total: 9 }, '/x')).toEqual([1]);
  expect(rowsOfPage({ labels: [1], nextPageToken: 'x' }, '/x')).toEqual([1]);
  expect(rowsOfPage({ epics: { data: [1] }, stories: { data: [2] } }, '/x')).toEqual([1, 2]);
  expect(() => rowsOfPage({ id: 1 }, '/member')).toThrow('/member');
});

test.each<[string, unknown, string, Record<string, string>, string[]]>([
  [
    'a number',
    { data: [], next: 2 },
    '/epics/paginated?page_size=5',
    {},
    ['/epics/paginated?page_size=5&page=2'],
  ],
  ['a path', { data: [], next: '/api/v3/search?next=x' }, '/search', {}, ['/api/v3/search?next=x']],
  [
    'a path in groups',
    { stories: { data: [], next: '/a' }, epics: { data: [], next: '/b' } },
    '/search',
    {},
    ['/a', '/b'],
  ],
  ['a token', { labels: [], nextPageToken: 'a/b' }, '/labels', {}, ['/labels?pageToken=a%2Fb']],
  ['a full page', [1, 2], '/groups/x/stories?limit=2&offset=4', {}, ['/groups/x/stories?limit=2&offset=6']],
  ['a page that is not full', [1], '/groups/x/stories?limit=2', {}, []],
  [
    'a link',
    [1],
    '/x',
    { link: '<https://a/x?page=1>; rel="prev", <https://a/x?page=3>; rel="next"' },
    ['https://a/x?page=3'],
  ],
  ['nothing', { data: [], next: null }, '/x', {}, []],
])('the next page is named by %s', (_, page, path, headers, next) => {
  expect(nextPages(page, path, headers)).toEqual(next);
});

test('a service that names the same page again is an error after the rows that came', async () => {
  const rows: unknown[] = [];
  const read = async (): Promise<void> => {
    const ask = async () => ({ page: { labels: [rows.length], nextPageToken: 'again' }, headers: {} });
    for await (const page of fetchPages('/labels', ask)) rows.push(...page);
  };
  await expect(read()).rejects.toMatchObject({
    category: 'network',
    message: expect.stringContaining('twice'),
  });
  expect(rows).toEqual([0, 1]);
});
