import { fakeHost } from '../../support/fake-host.ts';
import { describe, expect, test } from 'vitest';
import { type Host, NetworkError } from '../../../src/platform/host.ts';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { changeFrom, isListColumn } from '../../../src/tracker/bulk/change.ts';
import { RecordKeys } from '../../../src/tracker/bulk/external-keys.ts';
import { decideUpsert, hasExternal } from '../../../src/tracker/bulk/upsert.ts';
import { AppError } from '../../../src/core/problem.ts';
import { contextWith } from '../../support/context.ts';
import { trackerInMemory } from '../../support/in-memory.ts';
import { pause } from '../../support/slow-host.ts';

const ndjson = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
type Bed = ReturnType<typeof trackerInMemory>;
const sync = (at: Bed, file: string, ...more: string[]) =>
  at.run(['sync', '-f', file, '-o', 'json', ...more]);
const statuses = (ran: Awaited<ReturnType<Bed['run']>>): string[] =>
  ran
    .json()
    .toSorted((a: any, b: any) => a.line - b.line)
    .map((row: any) => row.status);

/** One row of each resource that has an external ID or a name, and a field that differs later. */
const rows: readonly (readonly [resource: string, first: object, changed: object])[] = [
  ['labels', { external_id: 'L1', name: 'one', color: '#112233' }, { color: '#445566' }],
  ['categories', { external_id: 'C1', name: 'one', color: '#112233' }, { color: '#445566' }],
  [
    'epics',
    { external_id: 'E1', name: 'one', deadline: '2026-12-01', labels: ['x', 'y'] },
    { labels: ['y'] },
  ],
  ['stories', { external_id: 'S1', name: 'one', labels: ['x'], estimate: 3 }, { estimate: 5 }],
  ['groups', { name: 'one', mention_name: 'one' }, { description: 'two' }],
  ['objectives', { name: 'one', description: 'd' }, { description: 'two' }],
  [
    'iterations',
    { name: 'one', start_date: '2026-01-01', end_date: '2026-01-14' },
    { end_date: '2026-01-15' },
  ],
];
describe.each(rows)('sync of %s', (resource, first, changed) => {
  test('a sync creates once, sends no request the second time, and changes only differences', async () => {
    const at = trackerInMemory({ 'a.ndjson': ndjson(first), 'b.ndjson': ndjson({ ...first, ...changed }) });
    const flags = ['--resource', resource, '--create-labels'];
    const dry = await sync(at, 'a.ndjson', '--dry-run', ...flags);
    expect([dry.code, statuses(dry)]).toEqual([0, ['would']]);
    expect((await sync(at, 'a.ndjson', ...flags)).json()).toMatchObject([{ status: 'done', op: 'create' }]);
    const again = await sync(at, 'a.ndjson', ...flags);
    const isChange = (path: string): boolean => !path.includes('/search');
    expect([again.code, statuses(again)]).toEqual([0, ['unchanged']]);
    expect(again.writes.filter(({ path }) => isChange(path))).toEqual([]);
    const third = await sync(at, 'b.ndjson', ...flags);
    expect(third.json()).toMatchObject([{ status: 'done', op: 'update' }]);
    const [write] = third.writes.filter(({ method }) => method === 'PUT');
    expect(Object.keys(write?.body)).toEqual(Object.keys(changed));
    expect(statuses(await sync(at, 'b.ndjson', ...flags))).toEqual(['unchanged']);
  });
});

test('rows address records by external ID, also records of earlier rows', async () => {
  const file = ndjson(
    { op: 'upsert', resource: 'epics', external_id: 'E1', name: 'Epic' },
    {
      op: 'upsert',
      resource: 'stories',
      external_id: 'S1',
      name: 'Story',
      epic_id: 'external:E1',
      archived: true,
    },
    { op: 'update', resource: 'stories', id: 'external:S1', estimate: 3 },
    { op: 'create', resource: 'story-tasks', id: 'external:S1', description: 'Task' },
  );
  const at = trackerInMemory({ 'a.ndjson': file });
  expect(statuses(await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json', '--dry-run']))).toEqual(
    Array(4).fill('would'),
  );
  const ran = await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json']);
  expect([ran.code, statuses(ran)]).toEqual([0, Array(4).fill('done')]);
  const [story] = at.send('POST', '/stories/search', { external_id: 'S1' });
  const [epic] = at.send('GET', '/epics');
  expect(story).toMatchObject({
    epic_id: epic.id,
    archived: true,
    estimate: 3,
    task_ids: [expect.anything()],
  });
  await at.write('b.ndjson', ndjson({ op: 'delete', resource: 'stories', id: 'external:S2' }));
  const missing = await at.run(['bulk', '-f', 'b.ndjson', '-o', 'json']);
  expect(missing.json()[0].error.problems).toMatchObject([{ path: 'id' }]);
});

const makeSignal = (): { readonly promise: Promise<void>; resolve(): void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};
type IsRequest = (method: string, path: string) => boolean;
/** The first list of epics shows the service before a change, and arrives only after the response to another request. */
const slowList =
  (isChange: IsRequest, isLast: IsRequest) =>
  (host: Host): Host => {
    const [begun, seen] = [makeSignal(), makeSignal()];
    let lists = 0;
    const request: Host['network']['request'] = async (one) => {
      const asked = [one.method, new URL(one.url).pathname.replace('/api/v3', '')] as const;
      const isFirstList = asked.join(' ') === 'GET /epics' && lists++ === 0;
      if (isChange(...asked)) await begun.promise;
      try {
        return await host.network.request(one);
      } finally {
        if (isFirstList) {
          begun.resolve();
          await seen.promise;
          await pause(20);
        }
        if (isLast(...asked)) seen.resolve();
      }
    };
    return { ...host, network: { ...host.network, request } };
  };
test('a row finds a record that got its external ID while the records were read', async () => {
  const at = trackerInMemory();
  at.send('POST', '/epics', { name: 'a', external_id: 'A' });
  const { id } = at.send('POST', '/epics', { name: 'b' });
  const update = (more: object) => ({ op: 'update', resource: 'epics', ...more });
  const file = ndjson(
    update({ id, external_id: 'B' }),
    { op: 'create', resource: 'labels', name: 'c' },
    update({ id: 'external:A', name: 'a2' }),
    update({ id: 'external:B', name: 'b2' }),
  );
  await at.write('a.ndjson', file);
  const isChange: IsRequest = (method, path) => method === 'PUT' && path === `/epics/${id}`;
  const change = slowList(isChange, isChange);
  const ran = await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json', '--concurrency', '2'], { change });
  expect([ran.code, statuses(ran)]).toEqual([0, Array(4).fill('done')]);
  expect(at.send('GET', `/epics/${id}`)).toMatchObject({ name: 'b2', external_id: 'B' });
});

test('a row finds a record whose creation got no response while the records were read', async () => {
  const at = trackerInMemory();
  at.send('POST', '/epics', { name: 'a', external_id: 'A' });
  const file = ndjson(
    { op: 'create', resource: 'epics', name: 'b', external_id: 'B' },
    { op: 'create', resource: 'labels', name: 'c' },
    { op: 'update', resource: 'epics', id: 'external:A', name: 'a2' },
    { op: 'update', resource: 'epics', id: 'external:B', name: 'b2' },
  );
  await at.write('a.ndjson', file);
  const slow = slowList(
    (method, path) => method === 'POST' && path === '/epics',
    (method, path) => method === 'GET' && path.startsWith('/epics/'),
  );
  const change = (host: Host): Host => {
    const request: Host['network']['request'] = async (one) => {
      const reply = await host.network.request(one);
      if (one.method === 'POST' && one.url.endsWith('/epics'))
        throw new NetworkError('RESET', 'the connection was closed', true);
      return reply;
    };
    return slow({ ...host, network: { ...host.network, request } });
  };
  const ran = await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json', '--concurrency', '2'], { change });
  expect([ran.code, statuses(ran)]).toEqual([0, ['found', 'done', 'done', 'done']]);
  expect(at.send('GET', '/epics')).toMatchObject([{ name: 'a2' }, { name: 'b2' }]);
});

test('two rows or two records with one external ID are refused', async () => {
  const row = { external_id: 'S1', name: 'a' };
  const at = trackerInMemory({ 'two.ndjson': ndjson(row, { ...row, name: 'b' }), 'one.ndjson': ndjson(row) });
  const twice = await sync(at, 'two.ndjson', '--resource', 'stories');
  expect([twice.code, statuses(twice)]).toEqual([9, ['done', 'failed']]);
  at.send('POST', '/stories', row);
  const ambiguous = await sync(at, 'one.ndjson', '--resource', 'stories');
  expect([ambiguous.code, statuses(ambiguous)]).toEqual([5, ['failed']]);
  expect(at.send('POST', '/stories/search', { external_id: 'S1' })).toHaveLength(2);
});

test('an upsert of a story without an external ID and a create in a sync are refused', async () => {
  const at = trackerInMemory({
    'a.ndjson': ndjson({ name: 'a' }, { op: 'create', name: 'b', external_id: 'B' }),
  });
  const ran = await sync(at, 'a.ndjson', '--resource', 'stories');
  expect(ran.json().map((row: any) => row.error.problems[0].path)).toEqual(['external_id', 'op']);
  expect(ran.writes).toEqual([]);
});

test('a sync that was cut at any place and runs again without a flag leaves each record once', async () => {
  const file = ndjson(...Array.from({ length: 30 }, (_, i) => ({ external_id: `K${i}`, name: `n${i}` })));
  for (const cut of [1, 2, 7, 15, 29]) {
    const at = trackerInMemory({ 'a.ndjson': file });
    let sent = 0;
    const first = await at.run(['sync', '-f', 'a.ndjson', '--resource', 'stories'], {
      meanwhile: ({ method, path }) => {
        if (method !== 'POST' || path !== '/stories') return undefined;
        sent += 1;
        return sent > cut ? { status: 401, json: { message: 'no' } } : undefined;
      },
    });
    expect(first.code).not.toBe(0);
    expect((await at.run(['sync', '-f', 'a.ndjson', '--resource', 'stories'])).code).toBe(0);
    const keys = at.send('POST', '/stories/search', {}).map((story: any) => story.external_id);
    expect([keys.length, new Set(keys).size]).toEqual([30, 30]);
  }
});
test('an external ID that is a number is reported as a number', async () => {
  const at = trackerInMemory({ 'a.ndjson': '{"resource":"epics","external_id":5,"name":"x"}\n' });
  const ran = await at.run(['sync', '-f', 'a.ndjson', '-o', 'json']);
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(ran.json()[0].error.problems.map(({ path, rule }: any) => [path, rule])).toEqual([
    ['external_id', 'type'],
  ]);
});

test('an external ID belongs to its resource, and a row waits only for the earlier row with the same ID', async () => {
  const keys = new RecordKeys(contextWith({}));
  const ends = new Map<string, () => void>();
  const claim = (resource: string, key: string, line: number): number | undefined =>
    keys.claim(resource, key, line, new Promise<void>((resolve) => ends.set(`${resource} ${key}`, resolve)));
  expect([claim('epics', 'K', 1), claim('labels', 'K', 2), claim('epics', 'J', 3)]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect([
    keys.claim('epics', 'K', 4, Promise.resolve()),
    keys.claim('labels', 'K', 5, Promise.resolve()),
  ]).toEqual([1, 2]);
  expect([
    keys.isClaimed('epics', 'K'),
    keys.isClaimed('labels', 'J'),
    keys.isClaimed('stories', 'K'),
  ]).toEqual([...[true, false, false]]);
  keys.learn('epics', 'K', 71);
  keys.learn('labels', 'K', 72);
  keys.learn('epics', 'J', 73);
  const found: unknown[] = [];
  const find = (resource: string, key: string, line: number): void =>
    void keys.find(resource, key, {}, line).then((one) => found.push(one?.row.id));
  find('epics', 'K', 6);
  find('labels', 'K', 6);
  find('epics', 'J', 6);
  // The rows before the row that creates the record do not wait for it.
  find('epics', 'J', 2);
  await pause();
  expect(found).toEqual([73]);
  for (const name of ['labels K', 'epics J', 'epics K']) {
    ends.get(name)?.();
    await pause();
  }
  expect(found).toEqual([73, 72, 73, 71]);
});
test('rows of two resources with the same external ID are created and addressed separately', async () => {
  const file = ndjson(
    { op: 'create', resource: 'epics', external_id: 'same', name: 'Epic' },
    { op: 'create', resource: 'labels', external_id: 'same', name: 'Label' },
    { op: 'update', resource: 'labels', id: 'external:same', name: 'of the label' },
    { op: 'update', resource: 'epics', id: 'external:same', name: 'of the epic' },
  );
  const at = trackerInMemory({ 'a.ndjson': file });
  expect(statuses(await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json']))).toEqual(Array(4).fill('done'));
  expect(['/epics', '/labels'].map((path) => at.send('GET', path)[0].name)).toEqual([
    ...['of the epic', 'of the label'],
  ]);
});

describe('the decision about an upsert', () => {
  const upsert = (resource: string, body: Record<string, unknown>) => {
    const change = changeFrom(tracker.table, body, 'ndjson', { resource, op: 'upsert' });
    if (!('operation' in change)) throw new Error(JSON.stringify(change));
    return change;
  };
  const [field, other, value] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  const custom = [{ field_id: field, value_id: value }];
  test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
    [
      'two lists with one common label differ',
      { labels: ['x', 'z'] },
      { labels: [{ name: 'x' }, { name: 'y' }] },
      false,
    ],
    ['lists are sets', { labels: ['y', 'x'] }, { labels: [{ name: 'x' }, { name: 'y' }] }, true],
    [
      'an item that differs in one of its members differs',
      { custom_fields: custom },
      { custom_fields: [{ field_id: field, value_id: other }] },
      false,
    ],
    [
      'an item with more members is the same',
      { custom_fields: custom },
      { custom_fields: [{ ...custom[0], value: 'High' }] },
      true,
    ],
  ])('%s', async (_, wanted, now, isSame) => {
    const row = { id: 7, external_id: 'S1', name: 'one', ...now };
    const keys = new RecordKeys(contextWith({ lookups: { call: async () => [row], rows: async () => [] } }));
    const decision = await decideUpsert(
      keys,
      upsert('stories', { external_id: 'S1', name: 'one', ...wanted }),
      'S1',
      1,
    );
    expect('unchanged' in decision ? 'same' : decision.change.input.body).toEqual(
      isSame ? 'same' : upsert('stories', wanted).input.body,
    );
  });
  test('reads the whole record if the list leaves out one of the fields of the row', async () => {
    const slim = { id: 7, external_id: 'S1', name: 'one' };
    const asked: string[] = [];
    const call = async (_: unknown, { path }: { readonly path: string }) => {
      asked.push(path);
      return path.endsWith('/search') ? [slim] : { ...slim, description: 'long' };
    };
    const keys = new RecordKeys(contextWith({ lookups: { call, rows: async () => [] } }));
    const row = upsert('stories', { external_id: 'S1', name: 'one', description: 'long' });
    expect(await decideUpsert(keys, row, 'S1', 1)).toEqual({ unchanged: 7 });
    expect(asked).toHaveLength(2);
  });
});
test('one external ID in a list is enough for a lookup', () => {
  const change = changeFrom(tracker.table, { name: 'a', story_ids: [5, 'external:S1'] }, 'ndjson', {
    resource: 'stories',
    op: 'create',
  });
  expect(
    'operation' in change && hasExternal({ ...change, input: { body: { story_ids: [5, 'external:S1'] } } }),
  ).toBe(true);
});
test('a column that is a list of only one resource may repeat in a file without a default resource', () => {
  const columns = ['owner_ids', 'name'].map((column) => isListColumn(tracker.table, {}, column));
  expect(columns).toEqual([true, false]);
});
type Many = AsyncIterable<readonly Uint8Array[]> | Iterable<readonly Uint8Array[]>;
describe('the record before a change', () => {
  const bed = (rows: () => Promise<Many>) => {
    const asked: string[] = [];
    const call = async (_: unknown, { path }: { readonly path: string }) => {
      asked.push(path);
      return { id: 1, name: 'a', description: 'whole' };
    };
    const host = fakeHost();
    return { asked, host, keys: new RecordKeys(contextWith({ host, lookups: { call, rows } })) };
  };
  const readMany = async (keys: RecordKeys, fields: readonly string[]) => {
    for (let i = 0; i < 25; i += 1) await keys.current('labels', { 'label-public-id': 1 }, fields);
    return keys.current('labels', { 'label-public-id': 1 }, fields);
  };
  test('is read completely if the list leaves out one of its fields', async () => {
    const lists = async function* () {
      yield [Buffer.from('{"id":1,"name":"a"}')];
    };
    const { asked, keys } = bed(async () => lists());
    expect(await readMany(keys, ['name'])).toEqual({ id: 1, name: 'a' });
    expect(asked).toHaveLength(25);
    expect(await keys.current('labels', { 'label-public-id': 1 }, ['name', 'description'])).toMatchObject({
      description: 'whole',
    });
    expect(asked).toHaveLength(26);
  });
  test('is read again once the list is older than five seconds and ten times its own duration', async () => {
    let lists = 0;
    const { keys, host } = bed(async () => {
      lists += 1;
      host.advance(600);
      return [[Buffer.from(`{"id":1,"name":"list ${lists}"}`)]];
    });
    const nameNow = async () => (await keys.current('labels', { 'label-public-id': 1 }, ['name']))?.name;
    await readMany(keys, ['name']);
    host.advance(5400);
    expect(await nameNow()).toBe('list 1');
    host.advance(1);
    expect(await nameNow()).toBe('list 2');
  });
  test('is read again after a list that failed', async () => {
    let lists = 0;
    const { keys } = bed(async () => {
      lists += 1;
      if (lists === 1) throw new AppError('network', 'no', { code: 'CONNECTION' });
      return [[Buffer.from('{"id":1,"name":"a"}')]];
    });
    await expect(readMany(keys, ['name'])).rejects.toMatchObject({ category: 'network' });
    expect(await keys.current('labels', { 'label-public-id': 1 }, ['name'])).toEqual({ id: 1, name: 'a' });
  });
  test('is read alone if the list is too long for the memory, and other failures of the list end the run', async () => {
    const failWith = (code: string) => bed(async () => Promise.reject(new AppError('usage', 'no', { code })));
    const long = failWith('TOO_MANY_ROWS');
    expect(await readMany(long.keys, [])).toMatchObject({ description: 'whole' });
    expect(long.asked).toHaveLength(26);
    await expect(readMany(failWith('OTHER').keys, [])).rejects.toMatchObject({ detail: { code: 'OTHER' } });
  });
});

const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301'];
test.each(['epics', 'stories', 'labels'])(
  'a key of %s in another Unicode form is not a second record',
  async (resource) => {
    const row = (key: string, name: string) => ({ external_id: key, name });
    const at = trackerInMemory({
      'a.ndjson': ndjson(row(composed, 'a')),
      'b.ndjson': ndjson(row(decomposed, 'b')),
      'c.ndjson': ndjson(row('na\u00efve', 'c'), row('nai\u0308ve', 'd')),
      'd.ndjson': ndjson(row(composed, 'a2')),
    });
    const ran = async (file: string) => statuses(await sync(at, file, '--resource', resource));
    expect(await ran('a.ndjson')).toEqual(['done']);
    expect(await ran('b.ndjson')).toEqual(['failed']);
    expect((await ran('c.ndjson')).toSorted()).toEqual(['done', 'failed']);
    expect(await ran('d.ndjson')).toEqual(['done']);
  },
);
test.each([
  ['\u8981\u4ef6-1', ['\u8981\u4ef6-1']],
  [decomposed, [decomposed, composed]],
])('the key %j of one story is searched in its forms, without a list of all stories', async (key, forms) => {
  const asked: unknown[] = [];
  const call = async (_: unknown, __: unknown, { body }: { readonly body: Record<string, unknown> }) => {
    asked.push(body.external_id);
    return [{ id: 1, external_id: composed }];
  };
  const keys = new RecordKeys(contextWith({ host: fakeHost(), lookups: { call } }));
  const ended = await keys.find('stories', key).catch(({ category }: AppError) => category);
  expect([ended, asked]).toEqual([key === decomposed ? 'usage' : undefined, forms]);
});
test('a name in another Unicode form is not a second label or record', async () => {
  const at = trackerInMemory({
    'a.csv': `name,labels\nA,${composed}\n`,
    'b.csv': `name,labels\nB,${decomposed}\n`,
    'c.csv': 'name,labels\nC,na\u00efve\nD,nai\u0308ve\n',
    'w.yaml': `labels: [{name: ${decomposed}}]\n`,
  });
  const words = [
    '--resource',
    'epics',
    '--op',
    'create',
    '--create-labels',
    '--concurrency',
    '1',
    '-o',
    'json',
  ];
  const ran = async (file: string) => statuses(await at.run(['bulk', '-f', file, ...words]));
  expect([await ran('a.csv'), await ran('b.csv'), await ran('c.csv')]).toEqual([
    ['done'],
    ['failed'],
    ['done', 'failed'],
  ]);
  const applied = await at.run(['apply', '-f', 'w.yaml', '--yes', '-o', 'json']);
  expect([applied.code, applied.error().code, applied.writes]).toEqual([10, 'PLAN_REFUSED', []]);
  const typed = await at.run(['labels', 'get', decomposed, '-o', 'json']);
  expect([typed.code, typed.json().name]).toEqual([0, composed]);
});
test.each([
  [['stories', 'update', '1', '--before-id', '2', '--after-id', '3', '-o', 'json']],
  [['bulk', '-f', 'a.ndjson', '-o', 'json']],
])('a record has one position: %j', async (words) => {
  const row = { op: 'update', resource: 'stories', id: 1, before_id: 2, after_id: 3 };
  const at = trackerInMemory({ 'a.ndjson': ndjson(row) });
  const ran = await at.run(words);
  expect([ran.code, ran.writes, `${ran.out}${ran.err}`]).toEqual([2, [], expect.stringMatching(/before.id/)]);
});
