import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { rowsResult } from '../../src/core/result.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { render } from '../../src/output/render.ts';
import type { OutputFormat as Format } from '../../src/core/format.ts';
import { fakeHost } from '../support/fake-host.ts';

const written = async (rows: readonly unknown[], format: Format): Promise<string> => {
  const host = fakeHost();
  await render(
    rowsResult(rows),
    { format, header: true, quiet: false, verbose: false },
    host,
    makeRedactor(),
  );
  return host.out();
};

/** A reader of RFC 4180 that shares no code with the writer. */
const readCsv = (text: string): string[][] => {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let field = '';
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        field += text[at];
        if (text[at] === '"') at++;
      }
      at++;
    } else while (at < text.length && text[at] !== ',' && text[at] !== '\n') field += text[at++];
    row.push(field);
    if (text[at++] === '\n') {
      rows.push(row);
      row = [];
    }
  }
  return rows;
};

const name = fc.constantFrom('id', 'name', 'a,b', 'with "quotes"', 'two\nlines', ' space ');
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '"',
    ',',
    '\n',
    '\r\n',
    'no',
    'on',
    '1e3',
    '0x1f',
    '2026-01-01',
    '~',
    '- a',
    'a: b',
    '#c',
    '&x',
    '*y',
  ),
);
const wellFormed = text.map((value) => Buffer.from(value).toString());

test('CSV: any text comes back from an independent reader', async () => {
  const table = fc.uniqueArray(name, { minLength: 1 }).chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(fc.tuple(...names.map(() => wellFormed)), { minLength: 1, maxLength: 5 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(table, async ({ names, rows }) => {
      const out = await written(
        rows.map((cells) => Object.fromEntries(names.map((key, i) => [key, cells[i]]))),
        'csv',
      );
      expect(readCsv(out)).toEqual([names, ...rows]);
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 300 : 100 },
  );
});

const plain = (values: fc.Arbitrary<string>) =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      values,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    ),
  })).value;

test.each<[Format, (out: string) => unknown]>([
  ['json', (out) => JSON.parse(out)],
  [
    'ndjson',
    (out) =>
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
  ],
  ['yaml', (out) => parse(out)],
])('%s: any value comes back', async (format, read) => {
  await fc.assert(
    fc.asyncProperty(fc.array(plain(wellFormed), { maxLength: 4 }), async (rows) => {
      expect(read(await written(rows, format))).toEqual(JSON.parse(JSON.stringify(rows)));
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 300 : 100 },
  );
});

test('YAML quotes words that older readers interpret differently', async () => {
  for (const word of [
    'no',
    'yes',
    'on',
    'off',
    'y',
    'n',
    '1_000',
    '0777',
    '1:30',
    '2026-01-01',
    'null',
    '~',
  ]) {
    expect(await written([{ a: word }], 'yaml'), word).toBe(`- a: "${word}"\n`);
  }
});
