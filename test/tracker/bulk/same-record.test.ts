import { expect, test } from 'vitest';
import { PackedRecords, RecordTurns } from '../../../src/tracker/bulk/external-keys.ts';
import { type Host, NetworkError } from '../../../src/platform/host.ts';
import { trackerInMemory } from '../../support/in-memory.ts';
import { pause } from '../../support/slow-host.ts';

const ndjson = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
type Bed = ReturnType<typeof trackerInMemory>;
const sorted = (ran: Awaited<ReturnType<Bed['run']>>): any[] =>
  ran.json().toSorted((a: any, b: any) => a.line - b.line);
const statuses = (ran: Awaited<ReturnType<Bed['run']>>): string[] => sorted(ran).map(({ status }) => status);
/** Both lines of each row that was refused because of another row. */
const refusedBy = (ran: Awaited<ReturnType<Bed['run']>>): unknown[] =>
  sorted(ran).flatMap(({ line, error }) => {
    const [found] = error?.problems ?? [];
    return found === undefined ? [] : [[line, found.path, Number(/line (\d+)/.exec(found.message)?.[1])]];
  });
/** The first update of the run reaches the service after all requests that do not wait for it. */
const slowFirst = (host: Host): Host => {
  let updates = 0;
  const request: Host['network']['request'] = async (one) => {
    updates += one.method === 'PUT' ? 1 : 0;
    if (one.method === 'PUT' && updates === 1) await pause(200);
    return host.network.request(one);
  };
  return { ...host, network: { ...host.network, request } };
};
const bed = (rows: readonly object[], file = ndjson(...rows)): { readonly at: Bed; readonly id: number } => {
  const at = trackerInMemory({ 'a.ndjson': file });
  const { id } = at.send('POST', '/labels', { name: 'target', external_id: 'T' });
  return { at, id };
};
const bulk = (at: Bed, ...more: string[]) =>
  at.run(['bulk', '-f', 'a.ndjson', '-o', 'json', ...more], { change: slowFirst });
const label = (id: unknown, more: object) => ({ op: 'update', resource: 'labels', id, ...more });

test.each([
  ['an ID', 'an ID', (id: number) => [id, id]],
  ['a name', 'an ID', (id: number) => ['target', id]],
  ['an ID', 'a name', (id: number) => [id, 'target']],
  ['an external ID', 'an ID', (id: number) => ['external:T', id]],
  ['an ID', 'an external ID', (id: number) => [String(id), 'external:T']],
])('two rows of one record are sent in the order of the file: %s, then %s', async (_, __, address) => {
  const { at, id } = bed([]);
  const [first, second] = address(id);
  const others = [1, 2, 3].map((n) => ({ op: 'create', resource: 'labels', name: `other ${n}` }));
  await at.write(
    'a.ndjson',
    ndjson(label(first, { color: '#111111' }), ...others, label(second, { color: '#222222' })),
  );
  const ran = await bulk(at, '--concurrency', '8');
  expect([ran.code, statuses(ran)]).toEqual([0, Array(5).fill('done')]);
  const put = ran.writes.filter(({ method }) => method === 'PUT').map(({ body }) => body.color);
  expect([put, at.send('GET', `/labels/${id}`).color]).toEqual([['#111111', '#222222'], '#222222']);
  // The rows of other records did not wait.
  expect(ran.writes.findIndex(({ method }) => method === 'PUT')).toBe(3);
});
test('a deletion follows the earlier change, and an upsert sees the values of the earlier row', async () => {
  const { at, id } = bed([]);
  const upsert = { op: 'upsert', resource: 'labels', external_id: 'T', name: 'target', color: '#222222' };
  await at.write('a.ndjson', ndjson(label(id, { color: '#222222' }), upsert));
  expect(statuses(await bulk(at))).toEqual(['done', 'unchanged']);
  await at.write(
    'a.ndjson',
    ndjson(label(id, { color: '#333333' }), { op: 'delete', resource: 'labels', id }),
  );
  const ran = await bulk(at);
  expect([statuses(ran), ran.writes.map(({ method }) => method)]).toEqual([
    ['done', 'done'],
    ['PUT', 'DELETE'],
  ]);
});
test('a row that ends the run also stops the later rows of its record, and a resumed run sends both in order', async () => {
  const { at, id } = bed([]);
  await at.write('a.ndjson', ndjson(label(id, { color: '#111111' }), label(id, { color: '#222222' })));
  const cut = await at.run(['bulk', '-f', 'a.ndjson', '-o', 'json'], {
    meanwhile: ({ method }) => {
      if (method === 'PUT') throw new NetworkError('REFUSED', 'connect ECONNREFUSED', false);
    },
  });
  expect([cut.code, new Set(cut.writes.map(({ body }) => body.color))]).toEqual([11, new Set(['#111111'])]);
  const ran = await bulk(at, '--resume');
  expect([ran.code, ran.writes.map(({ body }) => body.color)]).toEqual([0, ['#111111', '#222222']]);
});

const epic = (more: object) => ({ resource: 'epics', ...more });
const twice: readonly (readonly [what: string, rows: readonly object[], refused: readonly unknown[]])[] = [
  [
    'creates with one external ID',
    [
      epic({ op: 'create', external_id: 'E', name: 'a' }),
      epic({ op: 'create', external_id: 'E', name: 'b' }),
    ],
    [[2, 'external_id', 1]],
  ],
  [
    'a create after an upsert',
    [
      epic({ op: 'upsert', external_id: 'E', name: 'a' }),
      epic({ op: 'create', external_id: 'E', name: 'b' }),
    ],
    [[2, 'external_id', 1]],
  ],
  [
    'upserts of one name with two values',
    [
      epic({ op: 'upsert', name: 'a', description: 'x' }),
      epic({ op: 'upsert', name: 'a', description: 'y' }),
    ],
    [[2, 'name', 1]],
  ],
];
test.each(twice)('%s: the later row is refused with both lines, in each run', async (_, rows, refused) => {
  for (const more of [['--dry-run'], [], ['--resume']]) {
    const { at } = bed(rows);
    if (more[0] === '--resume') await bulk(at);
    const ran = await bulk(at, ...more);
    expect([more, ran.code === 0, refusedBy(ran)]).toEqual([more, false, refused]);
    if (more[0] !== '--dry-run') expect(at.send('GET', '/epics')).toHaveLength(1);
  }
});
test('keys of records in different stories, and a repeated row of one name, are not refused', async () => {
  const at = trackerInMemory({});
  const state = at.send('GET', '/workflows')[0].default_state_id;
  const ids = [1, 2].map(() => at.send('POST', '/stories', { name: 's', workflow_state_id: state }).id);
  const rows = ids.map((story) => ({
    op: 'create',
    resource: 'story-comments',
    story,
    external_id: 'C',
    text: 't',
  }));
  const named = { op: 'upsert', resource: 'labels', name: 'again', color: '#111111' };
  await at.write('a.ndjson', ndjson(...rows, named, named));
  expect(statuses(await bulk(at, '--dry-run'))).toEqual(['would', 'would', 'would', 'unchanged']);
  const ran = await bulk(at);
  expect([statuses(ran), ran.writes.length]).toEqual([['done', 'done', 'done', 'unchanged'], 3]);
});
test('a row waits for the earlier rows of its record only, also if a later row knows its record first', async () => {
  const turns = new RecordTurns();
  const [first, second, other] = [turns.enter(), turns.enter(), turns.enter()];
  const order: string[] = [];
  const second2 = second.wait('labels 1').then((hasWaited) => order.push(`second ${hasWaited}`));
  const other2 = other.wait('labels 2').then((hasWaited) => order.push(`other ${hasWaited}`));
  await pause();
  expect(order).toEqual([]);
  const first2 = first.wait('labels 1').then((hasWaited) => order.push(`first ${hasWaited}`));
  await pause();
  expect(order).toEqual(['first false', 'other false']);
  first.leave();
  await Promise.all([first2, second2, other2]);
  expect(order).toEqual(['first false', 'other false', 'second true']);
});

test('packed records are read as they were added, in any order', () => {
  const records = new PackedRecords();
  const rows = Array.from({ length: 333 }, (_, id) => ({ id, name: `n\u00e4me ${id}`, list: [id, null] }));
  const places = rows.map((row) => records.add(row));
  for (const step of [1, 37, 200]) {
    const order = rows.map((_, i) => (i * step) % rows.length);
    expect(order.map((i) => records.get(places[i] ?? -1))).toEqual(order.map((i) => rows[i]));
  }
  expect([records.get(-1), records.get(333)]).toEqual([undefined, undefined]);
});
test('a record that has another key by now is not found by the old key', async () => {
  const change = (external_id: string, more: object) => ({
    op: 'update',
    resource: 'epics',
    id: `external:${external_id}`,
    ...more,
  });
  const { at } = bed([
    change('E', { name: 'a' }),
    change('E', { external_id: 'new' }),
    change('E', { name: 'b' }),
  ]);
  at.send('POST', '/epics', { name: 'epic', external_id: 'E' });
  expect(statuses(await bulk(at, '--concurrency', '1'))).toEqual(['done', 'done', 'failed']);
});
test('a long run collects its garbage again and again', async () => {
  const { at } = bed(
    Array.from({ length: 3500 }, (_, i) => ({ op: 'delete', resource: 'labels', id: i + 1 })),
  );
  let calls = 0;
  const keepMemorySmall = (): void => {
    calls += 1;
  };
  await at.run(['bulk', '-f', 'a.ndjson', '--dry-run'], { change: (host) => ({ ...host, keepMemorySmall }) });
  expect(calls).toBe(4);
});
