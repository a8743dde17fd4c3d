/** The cache of names is optional: opsctl treats a damaged cache as a missing cache. */
import { expect, test } from 'vitest';
import { readCache, writeCache } from '../../../src/tracker/names/resolve.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { contextWith } from '../../support/context.ts';

const host = fakeHost();
const context = contextWith({
  host,
  settings: { directories: { cache: '/cache' } },
  log: { debug: () => undefined },
});
const read = () => readCache(context, 'https://t', 'label');

test('written data is read; other data is ignored', async () => {
  const things = [{ id: 5, names: ['bug'] }];
  await writeCache(context, 'https://t', 'label', things);
  expect(await read()).toEqual(things);
  const [path = ''] = Object.keys(host.files.all()).filter((one) => one.endsWith('label.json'));
  const readAt = host.now();
  for (const other of [null, 5, [], {}, { readAt, things: [null] }, { readAt, things: [{ id: 5 }] }]) {
    await host.files.replace(path, JSON.stringify(other));
    expect(await read()).toBeUndefined();
  }
});
