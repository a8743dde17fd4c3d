/** An endless list of rows or pages does not fill the memory: readers that store rows stop, and readers that print rows continue. */
import { expect, test } from 'vitest';
import { makeKnownNames } from '../../src/tracker/bulk/external-keys.ts';
import type { Context } from '../../src/api/context.ts';
import { choicesOf } from '../../src/tracker/names/resolve.ts';
import { heldRows, pageWatch, limits } from '../../src/core/limits.ts';
import { bucketDestination } from '../../src/kv/snapshots/destination.ts';
import { listLocks, listPermissions, listTitles, readLive } from '../../src/labels/read-labels.ts';
import type { Host } from '../../src/platform/host.ts';
import { exportData, readCurrent, readLookup } from '../../src/tracker/workspace/read.ts';
import { covers } from '../support/covers.ts';
import { contextWith, partlyMade } from '../support/context.ts';

test('rows that are held: n and n + 1', covers('limit/heldRows'), () => {
  const held = heldRows('GET /x');
  held.refuseMore(limits.heldRows - 1);
  held.refuseMore(1);
  expect(() => held.refuseMore(1)).toThrow(`GET /x: the list has more than ${limits.heldRows} rows`);
});

test('pages of a list: n and n + 1', covers('limit/pages'), () => {
  const watch = pageWatch('GET /x');
  for (let page = 0; page < limits.pages; page += 1) watch.refuseForEver(1);
  expect(() => watch.refuseForEver(1)).toThrow(`GET /x: the list has more than ${limits.pages} pages`);
});

const many = 10_000;
const batch = Array.from({ length: many }, () => Buffer.from('{"id":1,"name":"a"}'));
const labels = Array.from({ length: many }, () => ({ id: 'x', properties: { title: 't' } }));
/** The number of returned rows before the reader stopped. */
let given = 0;
const endless = async function* <T>(rows: T): AsyncGenerator<T> {
  for (given = 0; ; given += many) yield rows;
};
const service = (): Context => {
  let page = 0;
  given = 0;
  const lookups = {
    rows: async () => endless(batch),
    call: async () => {
      given += many;
      page += 1;
      return { labels, labelLocks: labels, labelPermissions: labels, nextPageToken: `p${page}` };
    },
  };
  return contextWith({ ...lookups, lookups });
};
const story = {
  resource: 'stories',
  verb: 'create',
  operation: { method: 'POST', path: '/stories' },
  input: { body: { name: 's', labels: [{ name: 'b' }] } },
} as never;
const bucket = async () => ({
  list: async function* () {
    for (given = 0; ; given += 1) yield { key: 'p/a', sizeBytes: 1, modifiedMs: 0 };
  },
});
const drained = async (rows: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of rows);
};

test.each<[string, () => Promise<unknown>]>([
  ['a plan of a workspace', () => readCurrent(service(), ['labels'])],
  ['what an export refers to', () => readLookup(service(), ['iterations'])],
  ['an export as data', () => exportData(service(), ['labels'])],
  ['names that rows of a bulk run use', async () => makeKnownNames(service(), []).problems(story)],
  ['titles of labels', () => drained(listTitles(service(), {}))],
  ['labels that files define', () => readLive(service(), [{ ids: [], titles: ['a'] }], {})],
  ['locks of a label', () => listLocks(service(), 'labels/a')],
  ['permissions of a label', () => listPermissions(service(), 'labels/a')],
  [
    'stored snapshots',
    async () =>
      (
        await bucketDestination(partlyMade<Host>({ bucket, env: {} }), { bucket: 'b', prefix: 'p/' }, {
          workDirectory: '/',
        } as never)
      ).names(),
  ],
])('%s: a list without end is refused', async (_, read) => {
  await expect(read()).rejects.toMatchObject({ category: 'network', detail: { code: 'TOO_MANY_ROWS' } });
  expect(given).toBeLessThan(limits.heldRows + 2 * many);
});

test('a list for a menu is read only up to its display limit', async () => {
  expect(await choicesOf(service(), 'label')).toEqual([]);
  expect(given).toBe(0);
});
