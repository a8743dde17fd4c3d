import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonRows } from '../../src/api/list-rows.ts';
import type { OutputFormat } from '../../src/core/format.ts';
import { areChecked, jsonLines, markChecked, parseJsonRows, restoreNumbers } from '../../src/core/json.ts';
import { RowShapes } from '../../src/core/json-scan.ts';
import { formatterFor } from '../../src/output/formats.ts';
import type { OutputOptions } from '../../src/output/types.ts';

const options: OutputOptions = { header: true, quiet: false, verbose: false };
/** The rows of a list as JSON texts in one piece, with the keys of the row that they all have. */
const checkedRows = (rows: readonly string[]): Uint8Array[] => {
  const list = new JsonRows('GET /x');
  list.push(Buffer.from(`[${rows[0]},`));
  const found = list.push(Buffer.from(`${rows.join(',')}]`));
  list.end();
  return list.areChecked ? markChecked(found) : found;
};
/** The text of checked rows, and the text of the same rows that are parsed. */
const bothTexts = async (
  format: OutputFormat,
  rows: readonly Uint8Array[],
  more: Partial<OutputOptions> = {},
  name?: string,
): Promise<[copied: string | undefined, parsed: string]> => {
  const make = () =>
    formatterFor(format, { ...(name === undefined ? {} : { name }) }, { ...options, ...more }, {} as never);
  const [first, second] = [await make(), await make()];
  const values = (): unknown[] => parseJsonRows(rows);
  await first.rows(values());
  await second.rows(values());
  const copied = first.copies?.(rows);
  return [
    copied === undefined ? undefined : restoreNumbers(copied),
    restoreNumbers(await second.rows(values())),
  ];
};

/** Numbers and strings in every spelling that a service can choose. */
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    '0',
    '1.0',
    '-0.5',
    '0.1',
    '1e5',
    '1E+2',
    '12.50',
    '12.5',
    '123456789012345',
    '12345678901234567890',
    '0.0000001',
    '1e400',
  ),
);
const stringText = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\/"',
    '"\\u0041"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"a\\nb"',
    '"=1+1"',
    '" a"',
    '"a "',
    '"a,b"',
    '"\\"q\\""',
    '"\u00a0x"',
    '"\u007f"',
    '"\u202e"',
    '"-1"',
    '"\uFF1Dx"',
    '""',
  ),
);
const leafText = fc.oneof(numberText, stringText, fc.constantFrom('true', 'false', 'null', '{}', '[]'));
const nestedText = fc.oneof(
  leafText,
  fc.array(leafText, { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
  fc.tuple(leafText, leafText).map(([a, b]) => `{"x":${a},"y":{"z":[${b}]}}`),
);
const rowText = fc
  .tuple(numberText, stringText, nestedText, nestedText)
  .map(([id, name, a, b]) => `{"id":${id},"name":${name},"nested":${a},"é \u{1F600}":${b}}`);
/** Rows of one list whose keys are in several orders, are missing, or are only in some rows. */
const mixedRowText = fc
  .tuple(numberText, stringText, nestedText, fc.shuffledSubarray([0, 1, 2, 3]))
  .map(([id, name, nested, order]) => {
    const members = [`"id":${id}`, `"name":${name}`, `"nested":${nested}`, `"more":${nested}`];
    return `{${order.map((i) => members[i]).join(',')}}`;
  });

test.each<[OutputFormat, Partial<OutputOptions>]>([
  ['json', {}],
  ['csv', {}],
  ['csv', { csvSafe: true }],
  ['csv', { columns: ['name', 'nested'] }],
  ['csv', { columns: ['none', 'id'] }],
  ['csv', { columns: ['none'] }],
])('checked rows have the same text in %s %j as parsed rows', async (format, more) => {
  await fc.assert(
    fc.asyncProperty(fc.array(rowText, { minLength: 1, maxLength: 6 }), async (texts) => {
      const [copied, parsed] = await bothTexts(format, checkedRows(texts), more);
      expect(copied).toBe(Buffer.from(parsed).toString());
    }),
    { numRuns: 300 },
  );
});
test.each<[OutputFormat, Partial<OutputOptions>]>([
  ['json', {}],
  ['csv', { columns: ['id', 'name', 'nested'] }],
  ['csv', { columns: ['nested', 'id'], csvSafe: true }],
  ['csv', { columns: ['name'] }],
])(
  'checked rows with keys in several orders have the same text in %s %j as parsed rows',
  async (format, more) => {
    await fc.assert(
      fc.asyncProperty(fc.array(mixedRowText, { minLength: 1, maxLength: 8 }), async (texts) => {
        const [copied, parsed] = await bothTexts(format, checkedRows(texts), more);
        expect(copied).toBe(Buffer.from(parsed).toString());
      }),
      { numRuns: 300 },
    );
  },
);
test.each(['id', 'name'])(
  'checked rows have the same text in -o name with the field %s as parsed rows',
  async (field) => {
    await fc.assert(
      fc.asyncProperty(fc.array(rowText, { minLength: 1, maxLength: 6 }), async (texts) => {
        const [copied, parsed] = await bothTexts('name', checkedRows(texts), {}, field);
        expect(copied).toBe(Buffer.from(parsed).toString());
      }),
      { numRuns: 300 },
    );
  },
);

test('rows of the keys of an earlier row are checked without parsing, and their lines are those bytes', () => {
  fc.assert(
    fc.property(fc.array(rowText, { minLength: 1, maxLength: 6 }), (texts) => {
      const rows = checkedRows(texts);
      expect(areChecked(rows)).toBe(true);
      expect(jsonLines(rows)).toBe(texts.map((text) => `${text}\n`).join(''));
    }),
  );
});

test.each([
  ['a repeated key', '{"id":1,"id":2}'],
  ['a repeated key inside', '{"id":1,"a":{"b":1,"b":2}}'],
  ['a key that is a number', '{"id":1,"2":2}'],
  ['white space', '{"id": 1}'],
  ['a key with an escape', '{"\\u0069d":1}'],
])('%s is never checked without parsing', (_, text) => {
  const shapes = new RowShapes();
  const row = Buffer.from(text);
  expect([shapes.learn(row), shapes.endOf(row, 0) === row.length]).toEqual([false, false]);
});
test.each([
  '{"id":01}',
  '{"id":1.}',
  '{"id":.5}',
  '{"id":1e}',
  '{"id":-}',
  '{"id":+1}',
  '{"id":nul}',
  '{"id":"a\nb"}',
  '{"id":"\\x"}',
  '{"id":"\\u12g4"}',
  '{"id":"a}',
  '{"id":[1,]}',
  '{"id":[1 ,2]}',
  '{"id":{"a":1}',
  '{"id":1,}',
  '{"id":}',
  '{"other":1}',
  '{"id":1',
  '{"id":1]',
])('the text %j is not a row that needs no parsing', (text) => {
  const shapes = new RowShapes();
  for (const known of ['{"id":1}', '{"id":[1]}', '{"id":{"a":1}}'])
    expect(shapes.learn(Buffer.from(known))).toBe(true);
  expect(shapes.endOf(Buffer.from(text), 0)).not.toBe(Buffer.byteLength(text));
});
test('what JSON.parse accepts and refuses decides, for every damaged byte of a row', () => {
  const known = '{"id":-1.5e3,"name":"a\\u00e9\\n","list":[true,null,[2]],"in":{"x":"y"}}';
  fc.assert(
    fc.property(fc.nat(known.length - 1), fc.nat(255), (at, byte) => {
      const shapes = new RowShapes();
      shapes.learn(Buffer.from(known));
      const row = Buffer.from(known);
      row[at] = byte;
      const isKnown = shapes.endOf(row, 0) === row.length;
      const text = row.toString();
      if (isKnown) expect(() => JSON.parse(text)).not.toThrow();
    }),
    { numRuns: 3000 },
  );
});
test('rows with a byte that is not UTF-8 are parsed, which reports it', () => {
  const rows = new JsonRows('GET /x');
  rows.push(Buffer.from('[{"name":"a"},'));
  const damaged = Buffer.from('{"name":"?"}]');
  damaged[9] = 0xff;
  const found = rows.push(damaged);
  expect([rows.areChecked, areChecked(markChecked(found))]).toEqual([true, false]);
});
test('a very deep row is parsed, and its levels do not fill the stack', () => {
  const shapes = new RowShapes();
  const deep = Buffer.from(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  expect([shapes.learn(deep), shapes.endOf(deep, 0)]).toEqual([false, -1]);
});
test('a row that has many levels or many bytes has the same indentation as a parsed row', async () => {
  const deep = `${'{"a":'.repeat(14)}1${'}'.repeat(14)}`;
  const long = JSON.stringify({ a: 'x'.repeat(20_000) });
  for (const rows of [
    [deep, deep],
    [long, long],
  ]) {
    const [copied, parsed] = await bothTexts(
      'json',
      rows.map((row) => Buffer.from(row)),
    );
    expect(copied).toBe(parsed);
  }
});
test('columns that are paths, and rows that are not objects, are parsed', async () => {
  const rows = checkedRows(['{"a":{"b":1}}', '{"a":{"b":2}}']);
  expect((await bothTexts('csv', rows, { columns: ['a.b'] }))[0]).toBeUndefined();
  expect((await bothTexts('name', rows, {}, 'a.b'))[0]).toBeUndefined();
  expect((await bothTexts('csv', checkedRows(['1', '2'])))[0]).toBeUndefined();
});
