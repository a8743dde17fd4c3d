import { describe, expect, test } from 'vitest';
import { type BulkOptions, journalPath } from '../../../src/tracker/bulk/earlier-run.ts';
import { open } from '../../../src/tracker/bulk/bulk.ts';
import { limits } from '../../../src/core/limits.ts';
import { readRows } from '../../../src/tracker/bulk/csv.ts';
import type { Context } from '../../../src/api/context.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { naming } from '../../support/facts.ts';
import { contextWith } from '../../support/context.ts';

const host = fakeHost({ files: { '/work/rows.csv': 'name\n', '/work/rows.txt': '' } });
const contextOf = (name = 'default'): Context =>
  contextWith({
    host: { ...host, cwd: '/work' },
    settings: { directories: { state: '/state' }, profile: { name } },
  });

describe('the input', () => {
  const opened = (values: BulkOptions) => open(contextOf(), values);

  test.each<[BulkOptions, string, string | undefined]>([
    [{ file: 'rows.csv' }, 'csv', undefined],
    [{ file: 'rows.txt' }, 'ndjson', undefined],
    [{ file: 'rows.txt', 'input-format': 'csv' }, 'csv', undefined],
    [{ file: 'rows.txt', delimiter: 'comma' }, 'csv', ','],
    [{ file: 'rows.txt', delimiter: 'semicolon' }, 'csv', ';'],
    [{ file: 'rows.csv', delimiter: 'tab' }, 'csv', '\t'],
    [{ file: 'rows.csv', 'input-format': 'ndjson' }, 'ndjson', undefined],
  ])('%j is read as %s', async (values, format, delimiter) => {
    expect(await opened(values)).toMatchObject({ format, delimiter, path: `/work/${values.file}` });
  });

  test('the input has the size of its file; standard input has no size', async () => {
    expect((await opened({ file: '/work/rows.csv' })).sizeBytes).toBe(5);
    expect(await opened({ file: '-' })).toMatchObject({ format: 'ndjson', path: '-', sizeBytes: undefined });
  });

  test('the input is an existing file', async () => {
    const refused = (message: string) => ({ detail: { problems: [{ path: '--file', message }] } });
    await expect(opened({ file: 'other.csv' })).rejects.toMatchObject(
      refused('names other.csv, which does not exist'),
    );
    await expect(opened({ file: '/work' })).rejects.toMatchObject(
      refused('names /work, which is a directory'),
    );
  });
});

describe('the journal', () => {
  const bytes = (async function* () {})();
  const pathOf = (values: Partial<BulkOptions>, path = '/work/rows.csv', profile?: string) =>
    journalPath(contextOf(profile), { file: path, ...values }, { bytes, format: 'csv', path, sizeBytes: 0 });

  test('the journal is the named file, relative to the working directory', async () => {
    expect(await pathOf({ journal: 'a.journal' })).toBe('/work/a.journal');
    expect(await pathOf({ journal: '/b.journal' })).toBe('/b.journal');
    expect(await pathOf({ journal: '/b.journal', resume: true }, '-')).toBe('/b.journal');
  });

  test('the journal depends on the file and the profile', async () => {
    const usual = await pathOf({});
    expect(usual).toMatch(/^\/state\/bulk\/[0-9a-f]{16}\.journal$/);
    expect(await pathOf({ resume: true })).toBe(usual);
    expect(await pathOf({}, '/work/rows.csv', 'other')).not.toBe(usual);
    expect(await pathOf({}, '-')).not.toBe(usual);
    expect(host.files.mode('/state/bulk')).toBe(0o700);
  });

  test('a resumed run from standard input must name its journal, because its input has no identity', async () => {
    await expect(pathOf({ resume: true }, '-')).rejects.toMatchObject({
      detail: { problems: [{ path: '--journal', rule: 'required' }] },
    });
  });

  test('a directory that cannot be made is a matter of configuration', async () => {
    const makeDirectory = () => Promise.reject(new Error('EROFS'));
    const context = contextOf();
    const broken = { ...context, host: { ...context.host, files: { ...host.files, makeDirectory } } };
    const input = { bytes, format: 'csv', path: 'x', sizeBytes: 0 } as const;
    await expect(journalPath(broken, { file: 'x' }, input)).rejects.toMatchObject({ category: 'config' });
  });
});

test('every line knows the number of bytes read up to it', async () => {
  const read = async (pieces: readonly string[], format: 'csv' | 'ndjson' = 'ndjson') => {
    const bytes = (async function* () {
      for (const piece of pieces) yield Buffer.from(piece);
    })();
    const found: [number, number][] = [];
    for await (const lines of readRows(bytes, format))
      found.push(...lines.map(({ line, bytes: upTo }): [number, number] => [line, upTo]));
    return found;
  };
  expect(await read(['{"a":1}\n', '{"a":2}\n{"a"', ':3}'])).toEqual([
    ...([
      [1, 8],
      [2, 20],
    ] as const),
    [3, 23],
  ]);
  expect(await read(['name\na\n', 'b  \n"d', '"\n'], 'csv')).toEqual([
    ...([
      [2, 7],
      [3, 13],
    ] as const),
    [4, 15],
  ]);
  expect(await read(['[1]\n', 'x\n'])).toEqual([
    [1, 4],
    [2, 6],
  ]);
});

const rowsFrom = async (pieces: Iterable<Buffer>, format: 'csv' | 'ndjson') => {
  const bytes = (async function* () {
    yield* pieces;
  })();
  const found = [];
  for await (const lines of readRows(bytes, format)) found.push(...lines);
  return found;
};
const MIB = Buffer.alloc(1024 * 1024, 'x');

test('a line of the input: as long as a row may be, and longer', async () => {
  const mostPieces = limits.rowBytes / MIB.length;
  const [row] = await rowsFrom(Array<Buffer>(mostPieces).fill(MIB), 'ndjson');
  expect(row?.text.length).toBe(limits.rowBytes);
  await expect(
    rowsFrom([...Array<Buffer>(mostPieces).fill(MIB), Buffer.from('x')], 'ndjson'),
  ).rejects.toMatchObject({
    category: 'usage',
    message: naming('line', limits.rowBytes, 'bytes'),
  });
});

test('a quoted cell of many lines with doubled quotes is read once', async () => {
  const inner = '5"" pipe\n'.repeat(100_000);
  const [line] = await rowsFrom([Buffer.from(`name,note\n"${inner}","a"" b\n""c"\n`)], 'csv');
  expect(line?.row).toEqual({ name: '5" pipe\n'.repeat(100_000), note: 'a" b\n"c' });
});
test('a malformed quote after an open cell is reported at its place', async () => {
  await expect(rowsFrom([Buffer.from('name\n"a\nb" c"d"')], 'csv')).rejects.toMatchObject({
    detail: { problems: [{ line: 3, column: 3, message: naming('closing', 'quote') }] },
  });
});
test('a quote that is never closed is not read again at each line', async () => {
  const lines = `${'x'.repeat(100)}\n`.repeat(200_000);
  await expect(rowsFrom([Buffer.from(`name\n"${lines}`)], 'csv')).rejects.toMatchObject({
    detail: { problems: [{ line: 2, column: 1, message: naming('quote', 'opens', 'never') }] },
  });
});
