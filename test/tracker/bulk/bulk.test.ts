import { getEventListeners } from 'node:events';
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changeFrom, changeProblems } from '../../../src/tracker/bulk/change.ts';
import { isMadeBy, lineMark, PastLines } from '../../../src/tracker/bulk/previous.ts';
import { openJournal, parseJournal, readPast } from '../../../src/tracker/bulk/journal.ts';
import { failedRowsOnly, progressBar, progressText, runPooled } from '../../../src/tracker/bulk/outcomes.ts';
import { type Line, splitCsv, readRows } from '../../../src/tracker/bulk/csv.ts';
import { FailedRows } from '../../../src/tracker/bulk/bulk.ts';
import { nodeHost } from '../../../src/platform/node/host.ts';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { createCounts, type Outcome } from '../../../src/tracker/bulk/run.ts';
import { naming } from '../../support/facts.ts';
import { makeDirectory } from '../../support/directory.ts';

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
/** Splits the bytes into pieces of `size`, so that a piece boundary cuts every line. */
async function* pieces(text: string, size: number): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}
const rows = async (text: string, format: 'csv' | 'ndjson', size = 3): Promise<Line[]> =>
  (await all(readRows(pieces(text, size), format))).flat();

test('NDJSON: line numbers count empty lines, and each invalid line has a reason', async () => {
  const found = await rows('{"a":1}\r\n\n[1]\n{"b":"é💥"}\nnope', 'ndjson');
  expect(found.map(({ line, row, problem }) => [line, row ?? problem?.rule])).toEqual([
    [1, { a: 1 }],
    [3, 'type'],
    [4, { b: 'é💥' }],
    [5, 'type'],
  ]);
});

test('NDJSON: a byte order mark before a row is ignored', async () => {
  const found = await rows('\uFEFF{"a":1}\n{"a":2}', 'ndjson');
  expect(found.map(({ row }) => row)).toEqual([{ a: 1 }, { a: 2 }]);
  await expect(rows('{"a":1}\n\uFEFF{"a":2}\r\n', 'ndjson')).rejects.toMatchObject({
    detail: { code: 'NOT_UTF8', data: { line: 2, byte: 8 } },
  });
});

test('CSV: quotes, line ends inside quotes and empty cells', async () => {
  const found = await rows('\uFEFFname,description\nbug,"a ""b"", c"\nx,"two\nlines"\ny,\n', 'csv');
  expect(found.map(({ line, row, problem }) => [line, row ?? problem?.rule])).toEqual([
    [2, { name: 'bug', description: 'a "b", c' }],
    [3, { name: 'x', description: 'two\nlines' }],
    [5, { name: 'y' }],
  ]);
});

test('CSV: CRLF ends a line and stays within quotes; the header determines the delimiter', async () => {
  const cells = async (text: string) => (await rows(text, 'csv')).map(({ line, row }) => [line, row]);
  expect(await cells('name,description\r\nx,"two\r\nlines"\r\ny,z\r\n')).toEqual([
    [2, { name: 'x', description: 'two\r\nlines' }],
    [4, { name: 'y', description: 'z' }],
  ]);
  expect(await cells('name;color\nbug,1;#ff0000\n')).toEqual([[2, { name: 'bug,1', color: '#ff0000' }]]);
  expect(await cells('name\tcolor\n"a\tb"\t#ff0000\n')).toEqual([[2, { name: 'a\tb', color: '#ff0000' }]]);
  expect(await cells('name\nbug\n')).toEqual([[2, { name: 'bug' }]]);
});

test('the word null unsets an optional field, and is an error in other fields', () => {
  const change = (row: Record<string, string>) =>
    changeFrom(tracker.table, { id: '1', ...row }, 'csv', { resource: 'labels', op: 'update' });
  expect(change({ color: 'null' })).toMatchObject({ input: { body: { color: null } } });
  expect(change({ description: 'null', name: 'null' })).toEqual([
    expect.objectContaining({ path: 'description', rule: 'null', message: naming('cannot be unset') }),
    expect.objectContaining({ path: 'name', rule: 'null' }),
  ]);
  expect(
    changeFrom(tracker.table, { id: 1, description: 'null' }, 'ndjson', { resource: 'labels', op: 'update' }),
  ).toMatchObject({
    input: { body: { description: 'null' } },
  });
});

test('progress counts rows done of rows known, never the bytes that were read', () => {
  const counts = { ...createCounts(), done: 12, failed: 1 };
  const text = (known: { rows: number; bytes: number; isWhole: boolean }, size?: number) =>
    progressText(counts, known, size, 1300);
  expect(text({ rows: 50, bytes: 900, isWhole: true }, 900)).toBe(
    '13 of 50 rows (26 %), 1 failed, about 3.7 s left',
  );
  expect(text({ rows: 50, bytes: 900, isWhole: false }, 1800)).toBe(
    '13 of about 100 rows (13 %), 1 failed, about 8.7 s left',
  );
  expect(text({ rows: 50, bytes: 900, isWhole: false })).toBe('13 rows, 1 failed');
  expect(text({ rows: 50, bytes: 0, isWhole: false }, 1800)).toBe('13 rows, 1 failed');
  expect(text({ rows: 13, bytes: 900, isWhole: true }, 900)).toBe(
    '13 of 13 rows (100 %), 1 failed, about 0 ms left',
  );
  // The speed is still unknown.
  const none = createCounts();
  expect(progressText(none, { rows: 50, bytes: 900, isWhole: true }, 900, 0)).toBe('0 rows, 0 failed');
});

test('the progress line of a terminal has a bar and fits into 80 columns', () => {
  const counts = { ...createCounts(), done: 12_345, failed: 12 };
  const known = { rows: 19_000, bytes: 900, isWhole: false };
  const text = progressBar(counts, known, 950, 754_000);
  expect(text).toMatch(/^\[####----\] 12357 of about \d+ rows \(61 %\), 12 failed, about /);
  expect(`x ${text}`.length).toBeLessThanOrEqual(80);
  expect(progressBar(counts, known, undefined, 1300)).toBe('12357 rows, 12 failed');
});

test('a terminal shows only the failed rows, and -o and a dry run show every row', async () => {
  const rows = ['done', 'failed', 'unchanged', 'refused', 'skipped', 'would'].map((status) => ({ status }));
  expect(await failedRowsOnly({ isDryRun: false }).toTableRows?.(rows)).toEqual([
    { status: 'failed' },
    { status: 'refused' },
  ]);
  expect(failedRowsOnly({ isFormatGiven: true, isDryRun: false })).toEqual({});
  expect(failedRowsOnly({ isDryRun: true })).toEqual({});
});

test('any cells come back from CSV as they went in', () => {
  const cell = fc.string().filter((text) => !/[\n\r]/.test(text));
  const quoted = (text: string) =>
    /[",]/.test(text) || text.startsWith('"') ? `"${text.replaceAll('"', '""')}"` : text;
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
      expect(splitCsv(cells.map(quoted).join(','))).toEqual({ cells });
    }),
  );
});

const ndjson = (row: Record<string, unknown>, defaults = {}) =>
  changeFrom(tracker.table, row, 'ndjson', defaults);
const csv = (row: Record<string, string>, defaults = {}) => changeFrom(tracker.table, row, 'csv', defaults);

test('a row specifies its operation explicitly or by the defaults', () => {
  expect(ndjson({ op: 'create', resource: 'labels', name: 'bug' })).toMatchObject({
    verb: 'create',
    input: { body: { name: 'bug' } },
  });
  expect(ndjson({ name: 'bug' }, { resource: 'labels', op: 'create' })).toMatchObject({
    resource: 'labels',
    verb: 'create',
  });
  expect(ndjson({ op: 'update', resource: 'labels', id: 7, body: { color: null } })).toMatchObject({
    input: { params: { 'label-public-id': 7 }, body: { color: null } },
  });
  expect(ndjson({ op: 'delete', resource: 'stories', id: 7 })).toMatchObject({
    verb: 'delete',
    input: { params: { 'story-public-id': 7 } },
  });
  expect(ndjson({ op: 'create', resource: 'epics', name: 'e', labels: ['bug'] })).toMatchObject({
    input: { body: { labels: [{ name: 'bug' }] } },
  });
});

test('CSV cells take the type of their field', () => {
  expect(
    csv({
      op: 'create',
      resource: 'stories',
      name: '12',
      estimate: '3',
      epic_id: 'null',
      owner_ids: 'a;b',
      labels: 'x|y',
    }),
  ).toMatchObject({
    input: {
      body: {
        name: '12',
        estimate: 3,
        epic_id: null,
        owner_ids: ['a', 'b'],
        labels: [{ name: 'x' }, { name: 'y' }],
      },
    },
  });
  expect(csv({ op: 'update', resource: 'labels', id: '7', archived: 'true' })).toMatchObject({
    input: { params: { 'label-public-id': 7 }, body: { archived: true } },
  });
});

test('a cell that does not fit its field stays the text that it is, and lists may be JSON', () => {
  const body = (row: Record<string, string>): unknown => {
    const change = csv({ op: 'create', resource: 'stories', name: 'x', ...row });
    return 'operation' in change ? change.input.body : change;
  };
  expect(body({ estimate: ' ' })).toMatchObject({ estimate: ' ' });
  expect(body({ estimate: 'many' })).toMatchObject({ estimate: 'many' });
  const label = (archived: string) => csv({ op: 'update', resource: 'labels', id: '7', archived });
  expect(label('yes')).toMatchObject({ input: { body: { archived: 'yes' } } });
  expect(label('false')).toMatchObject({ input: { body: { archived: false } } });
  expect(body({ owner_ids: '["a;b","c"]' })).toMatchObject({ owner_ids: ['a;b', 'c'] });
  expect(body({ owner_ids: '["a"' })).toMatchObject({ owner_ids: '["a"' });
  expect(body({ labels: '[{"name":"x","color":"#112233"}]' })).toMatchObject({
    labels: [{ name: 'x', color: '#112233' }],
  });
});

test('IDs may use their own names, and aliases of other programs select the operation', () => {
  expect(ndjson({ action: 'REMOVE', resource: 'labels', params: { 'label-public-id': 7 } })).toMatchObject({
    verb: 'delete',
    input: { params: { 'label-public-id': 7 } },
  });
  expect(ndjson({ op: 'put', resource: 'labels', params: { label: 8 }, name: 'x' })).toMatchObject({
    verb: 'update',
    input: { params: { 'label-public-id': 8 }, body: { name: 'x' } },
  });
  expect(csv({ op: 'remove', resource: 'labels', id: '7' })).toMatchObject({
    input: { params: { 'label-public-id': 7 } },
  });
});

test.each<[Record<string, unknown>, string, string]>([
  [{ op: 'create', resource: 'lables' }, 'resource', naming('labels?')],
  [{ op: 'create' }, 'resource', ''],
  [{ op: 'explode', resource: 'labels' }, 'op', ''],
  [{ resource: 'labels' }, 'op', ''],
  [{ op: 'create', resource: 'members' }, 'op', ''],
  [{ op: 'create', resource: 'constructor' }, 'resource', ''],
])('a row that cannot be: %j', (row, path, hint) => {
  const found = ndjson(row);
  expect(found).toMatchObject([{ path, ...(hint === '' ? {} : { hint }) }]);
});

test("the checks of the table, with the row's own words", () => {
  const problems = (row: Record<string, unknown>) => {
    const change = ndjson(row);
    return 'operation' in change ? changeProblems(change).map(({ path, rule }) => `${path} ${rule}`) : [];
  };
  expect(problems({ op: 'create', resource: 'labels', name: 'x'.repeat(129), nam: 1 })).toEqual([
    'name max',
    'nam unknown',
  ]);
  expect(problems({ op: 'update', resource: 'labels', body: {} })).toEqual(['id required']);
});

test('the journal keeps finished rows, and ignores an incomplete last line', () => {
  const { startedAt, lines } = parseJournal(
    'h 5\ns 1 aa\nd 1 aa 71\ns 2 bb\ns 3 cc\nf 3 cc\ns 1 aa\nd 4 d',
    'journal',
  );
  expect(startedAt).toBe(5);
  expect([...lines]).toEqual([
    [1, { state: 'done', hash: 'aa', id: '71' }],
    [2, { state: 'sent', hash: 'bb' }],
    [3, { state: 'failed', hash: 'cc' }],
  ]);
  expect(lineMark('{"a":1}')).not.toBe(lineMark('{"a":2}'));
});

test('the lines of an earlier run keep each mark and ID as the journal has it', () => {
  const given = [
    [1, { state: 'done', hash: lineMark('a'), id: '71' }],
    [2, { state: 'sent', hash: lineMark('b') }],
    [3, { state: 'failed', hash: lineMark('') }],
    [4, { state: 'done', hash: '01-1', id: '007' }],
    [5, { state: 'done', hash: '1-10000000', id: '62bd6262-6262-4262-8262-626262626262' }],
    [6, { state: 'done', hash: '-', id: '9'.repeat(20) }],
    [8, { state: 'sent', hash: '1-{' }],
    [9, { state: 'sent', hash: '-1' }],
    [10, { state: 'sent', hash: 'aa' }],
    [11, { state: 'done', hash: '1-1z141z4' }],
    [255, { state: 'sent', hash: '1-1z141z3' }],
    [256, { state: 'done', hash: '1-A', id: '5' }],
    [1_000_000, { state: 'done', hash: lineMark('far'), id: '6' }],
  ] as const;
  const lines = new PastLines();
  for (const [line, state] of given) lines.set(line, state);
  expect([...lines]).toEqual(given);
  for (const [line, state] of given) expect(lines.get(line)).toEqual(state);
  expect([...lines.values()]).toHaveLength(given.length);
  lines.set(4, { state: 'sent', hash: '2-2' });
  expect(lines.get(4)).toEqual({ state: 'sent', hash: '2-2' });
  for (const line of [4, 5, 7, 99_999]) lines.delete(line);
  expect([lines.get(4), lines.get(5), lines.get(7), lines.get(0)]).toEqual(Array(4).fill(undefined));
});

test('only a completed line with the same text needs no second reading', () => {
  const lines = new PastLines();
  lines.set(1, { state: 'done', hash: lineMark('one'), id: '71' });
  lines.set(2, { state: 'sent', hash: lineMark('two') });
  lines.set(3, { state: 'failed', hash: lineMark('three') });
  lines.set(4, { state: 'done', hash: lineMark('four'), id: 'a word' });
  expect(lines.findDone(1, 'one')).toEqual({ id: '71' });
  expect(lines.findDone(4, 'four')).toMatchObject({ id: 'a word' });
  for (const [line, text] of [
    [1, 'onE'],
    [1, 'one '],
    [2, 'two'],
    [3, 'three'],
    [4, 'fouR'],
    [5, 'one'],
  ] as const)
    expect(lines.findDone(line, text), `${line} ${text}`).toBeUndefined();
});

test('a journal is read in pieces as it is read at once, and a torn last line is cut', async () => {
  const { path, journal } = await journalIn();
  journal.close();
  const whole = `h 5\nm {"file":"\u00e4\u{1f600}"}\nb 1 {"values":{"name":"\u2028 \u00fc \ufeff"}}\ns 1 1-a\nd 1 1-a 71\n`;
  const bytes = Buffer.concat([Buffer.from(whole), Buffer.from('b 2 {"name":"\u00fc').subarray(0, -1)]);
  writeFileSync(path, bytes);
  for (const size of [1, 2, 7, 1000]) {
    const host = nodeHost({ env: {} });
    const stream = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const read = await readPast({ ...host, files: { ...host.files, stream } }, path);
    expect([...(read?.past.lines ?? [])]).toEqual([[1, { state: 'done', hash: '1-a', id: '71' }]]);
    expect(read?.wholeBytes).toBe(Buffer.byteLength(whole));
  }
});

test('a record matches a row if its plain fields are equal and it was created since', () => {
  const at = Date.parse('2026-01-01T00:00:10Z');
  const found = { id: 1, name: 'x', color: '#112233', created_at: '2026-01-01T00:00:10Z' };
  expect(isMadeBy({ name: 'x' }, found, at)).toBe(true);
  expect(isMadeBy({ name: 'x', color: '#112233' }, found, at)).toBe(true);
  expect(isMadeBy({ name: 'y' }, found, at)).toBe(false);
  expect(isMadeBy({ name: 'x', color: '#445566' }, found, at)).toBe(false);
  expect(isMadeBy({ name: 'x' }, { ...found, created_at: '2026-01-01T00:00:05Z' }, at)).toBe(false);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const pool = <I, O>(
  size: number,
  work: (item: I) => O | Promise<O>,
  signal = new AbortController().signal,
) => ({ size, work, turn, signal });

test('the pool never exceeds its size, yields results when ready, and processes every item once', async () => {
  let running = 0;
  let most = 0;
  async function* numbers(): AsyncIterable<number[]> {
    for (let i = 0; i < 50; i += 5) yield [i, i + 1, i + 2, i + 3, i + 4];
  }
  const work = async (n: number): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, (n * 7) % 5));
    running -= 1;
    return n;
  };
  const found = (await all(runPooled(numbers(), pool(4, work)))).flat();
  expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(most).toBe(4);
});

test('the pool gives results while its input waits, and passes on a failure after the rest has ended', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* slow(): AsyncIterable<number[]> {
    yield [1];
    await gate;
    yield [2];
  }
  const results = runPooled(
    slow(),
    pool(2, async (n: number) => n),
  );
  expect((await results.next()).value).toEqual([1]);
  release();
  expect((await results.next()).value).toEqual([2]);
  async function* three(): AsyncIterable<number[]> {
    yield [1, 2, 3];
  }
  const ended: number[] = [];
  const failing = runPooled(
    three(),
    pool(2, async (n: number) => {
      if (n === 2) throw new Error('no');
      await Promise.resolve();
      ended.push(n);
      return n;
    }),
  );
  await expect(all(failing)).rejects.toThrow('no');
  expect(ended).toContain(1);
});

test('immediate results arrive in batches, in order, and not faster than their reader', async () => {
  let worked = 0;
  async function* many(): AsyncIterable<number[]> {
    for (let i = 0; i < 20; i++) yield Array.from({ length: 100 }, (_, j) => i * 100 + j);
  }
  const results = runPooled(
    many(),
    pool(4, (n: number) => {
      worked += 1;
      return n;
    }),
  );
  const first = (await results.next()).value as number[];
  expect(first).toHaveLength(500);
  for (let i = 0; i < 20; i++) await turn();
  expect(worked).toBeLessThan(1100);
  const rest = (await all(results)).flat();
  expect([...first, ...rest]).toEqual(Array.from({ length: 2000 }, (_, i) => i));
});

test('results that arrive in the same turn are delivered together', async () => {
  const waiting: (() => void)[] = [];
  async function* three(): AsyncIterable<number[]> {
    yield [1, 2, 3];
  }
  const work = (n: number): Promise<number> => new Promise((resolve) => waiting.push(() => resolve(n)));
  const next = runPooled(three(), pool(3, work)).next();
  await expect
    .poll(
      async () => {
        await turn();
        return waiting.length < 3;
      },
      { interval: 1 },
    )
    .toBe(false);
  for (const go of waiting) go();
  expect((await next).value).toEqual([1, 2, 3]);
});

test('a stopped pool starts no new item, and waits for running items but not for input', async () => {
  const controller = new AbortController();
  const begun: number[] = [];
  async function* endless(): AsyncIterable<number[]> {
    yield [1, 2, 3];
    await new Promise(() => {});
  }
  const work = async (n: number): Promise<number> => {
    begun.push(n);
    if (n === 2) controller.abort();
    await turn();
    return n;
  };
  expect((await all(runPooled(endless(), pool(2, work, controller.signal)))).flat()).toEqual([1, 2]);
  expect(begun).toEqual([1, 2]);
});

test('a finished pool leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  async function* two(): AsyncIterable<number[]> {
    yield [1, 2];
  }
  await all(
    runPooled(
      two(),
      pool(2, async (n: number) => n, signal),
    ),
  );
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a pool without a reader starts no new item', async () => {
  const begun: number[] = [];
  async function* five(): AsyncIterable<number[]> {
    yield [1, 2, 3, 4, 5];
  }
  const work = async (n: number): Promise<number> => {
    begun.push(n);
    await turn();
    return n;
  };
  for await (const _ of runPooled(five(), pool(1, work))) break;
  const then = begun.length;
  for (let i = 0; i < 10; i++) await turn();
  expect(begun.length).toBeLessThanOrEqual(then + 1);
  expect(begun.length).toBeLessThan(5);
});

const journalIn = async (resume = false) => {
  const path = join(makeDirectory(), 'a.journal');
  return { path, journal: await openJournal(nodeHost({ env: {} }), path, resume) };
};

test.each([
  ['a row', '{"op":"create","resource":"labels","name":"x"}\n'],
  ['a line without its end', 'notes'],
  ['bytes', '\u0000\u0001'],
])('a file that contains %s is not a journal, and stays unchanged', async (_, text) => {
  const { path, journal } = await journalIn();
  journal.close();
  writeFileSync(path, text);
  for (const resume of [false, true])
    await expect(openJournal(nodeHost({ env: {} }), path, resume)).rejects.toMatchObject({
      category: 'config',
      message: expect.stringContaining(path),
    });
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('the start of a run, which is its ID, is the start in its journal', async () => {
  const real = nodeHost({ env: {} });
  let time = 1_700_000_000_000;
  const host = Object.assign(Object.create(real), { now: () => (time += 1) });
  const path = join(makeDirectory(), 'a.journal');
  const { past, close } = await openJournal(host, path, false);
  close();
  expect(parseJournal(readFileSync(path, 'utf8'), path).startedAt).toBe(past.startedAt);
});

test.each(['', 'h', 'h 17'])('a journal that was cut to %j is started again', async (text) => {
  const { path, journal } = await journalIn();
  journal.close();
  writeFileSync(path, text);
  (await openJournal(nodeHost({ env: {} }), path, true)).close();
  expect(readFileSync(path, 'utf8')).toMatch(/^h \d+\n$/);
});

test('a damaged journal line is reported with its number, because a guess could repeat a row', () => {
  const whole = ['h 5', 's 1 aa', 'd 1 aa 71', 's 2 bb', ''];
  for (const line of [2, 3, 4])
    for (const odd of ['null', '{}', 'q 1 aa', 'd', 'd x aa', ''])
      expect(() => parseJournal(whole.with(line - 1, odd).join('\n'), '/j'), `${line} ${odd}`).toThrow(
        `/j:${line} is damaged`,
      );
});

test('entries of one turn are in the file before any of their rows may be sent', async () => {
  const { path, journal } = await journalIn();
  const seen: string[] = [];
  const rows = [1, 2, 3].map((line) =>
    journal.noteSent(line, `h${line}`).then(() => seen.push(readFileSync(path, 'utf8'))),
  );
  expect(readFileSync(path, 'utf8')).not.toContain('s 1');
  await Promise.all(rows);
  expect(seen.every((text) => /s 1 h1\ns 2 h2\ns 3 h3\n$/.test(text))).toBe(true);
  journal.noteDone(2, 'h2', 71);
  journal.flush();
  expect(readFileSync(path, 'utf8')).toMatch(/d 2 h2 71\n$/);
  journal.noteFailed(3, 'h3');
  journal.close();
  expect(
    [...parseJournal(readFileSync(path, 'utf8'), path).lines.values()].map(({ state }) => state),
  ).toEqual(['sent', 'done', 'failed']);
});

test('a resumed journal keeps its complete lines; a new one replaces it, readable only by its owner', async () => {
  const { path, journal } = await journalIn();
  journal.noteDone(1, 'h1', 71);
  journal.close();
  appendFileSync(path, 's 2 h2\nd 2 h');
  const again = await openJournal(nodeHost({ env: {} }), path, true);
  expect([...again.past.lines].map(([line, { state, id }]) => [line, state, id])).toEqual([
    [1, 'done', '71'],
    [2, 'sent', undefined],
  ]);
  again.noteDone(3, 'h3', undefined);
  again.close();
  expect(readFileSync(path, 'utf8')).toMatch(/^h \d+\nd 1 h1 71\ns 2 h2\nd 3 h3\n$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const anew = await openJournal(nodeHost({ env: {} }), path, false);
  anew.close();
  expect(readFileSync(path, 'utf8')).toMatch(/^h \d+\n$/);
  await expect(openJournal(nodeHost({ env: {} }), dirname(path), false)).rejects.toMatchObject({
    category: 'usage',
  });
});

test('a journal is on the disk when it is closed', async () => {
  const host = nodeHost({ env: {} });
  const { path } = await journalIn();
  const did: string[] = [];
  const append: typeof host.files.append = (at, mode) => {
    const file = host.files.append(at, mode);
    return {
      ...file,
      write: (data) => void did.push(`write ${data}`),
      sync: () => void did.push('sync'),
      close: () => (file.close(), void did.push('close')),
    };
  };
  const journal = await openJournal({ ...host, files: { ...host.files, append } }, path, false);
  journal.noteFailed(1, 'a');
  journal.close();
  expect(did).toEqual(['write f 1 a\n', 'sync', 'close']);
});

test('a row whose entry cannot be written is never sent, nor is any after it', async () => {
  const host = nodeHost({ env: {} });
  const { path } = await journalIn();
  let isFull = true;
  const append: typeof host.files.append = (at, mode) => {
    const file = host.files.append(at, mode);
    const write = (data: string | Uint8Array): void => {
      if (isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      file.write(data);
    };
    return { ...file, write };
  };
  const journal = await openJournal({ ...host, files: { ...host.files, append } }, path, false);
  await expect(journal.noteSent(1, 'a')).rejects.toMatchObject({
    category: 'config',
    detail: { code: 'JOURNAL_UNWRITABLE' },
  });
  isFull = false;
  await expect(journal.noteSent(2, 'b')).rejects.toMatchObject({ detail: { code: 'JOURNAL_UNWRITABLE' } });
  journal.close();
  await expect(journal.noteSent(3, 'c')).rejects.toMatchObject({ category: 'config' });
});

test.each([150, 10_000, 10_003])(
  'a report of a bulk run contains or counts each of %i failed rows',
  async (count) => {
    const error = { code: 'NOT_FOUND', message: 'label not found', problems: [] };
    const outcome = (line: number): Outcome => ({ line, status: 'failed', error });
    async function* batches() {
      yield Array.from({ length: count }, (_, i) => outcome(i + 1));
      yield [{ line: count + 1, status: 'done' } as Outcome];
    }
    const failures = new FailedRows('rows.csv');
    await all(failures.watch(batches()));
    const found = failures.findings();
    expect(found[0]).toEqual({
      rule: 'NOT_FOUND',
      level: 'fail',
      message: error.message,
      line: 1,
      file: 'rows.csv',
    });
    const counted = found
      .filter(({ rule }) => rule === 'more-rows')
      .map(({ message }) => parseInt(message, 10));
    expect(found.length - counted.length + (counted[0] ?? 0)).toBe(count);
  },
);
