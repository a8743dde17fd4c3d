import { expect, test } from 'vitest';
import fc from 'fast-check';
import { JsonRows, listRows, openList, type RowBatches } from '../../src/api/list-rows.ts';
import { labels } from '../../src/api-specs/tracker/labels.ts';
import { type HttpReply, NetworkError } from '../../src/platform/host.ts';

const text = (row: Uint8Array): string => Buffer.from(row).toString();
const cut = (json: string, size: number, mostBytes?: number): string[] => {
  const rows = new JsonRows('GET /x', mostBytes);
  const bytes = Buffer.from(json);
  const found: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) found.push(...rows.push(bytes.subarray(at, at + size)));
  rows.end();
  return found.map(text);
};

test('any list is read row by row, for pieces of any size', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(undefined, 1),
      (list, size, indent) => {
        expect(cut(JSON.stringify(list, null, indent), size).map((row) => JSON.parse(row))).toEqual(
          JSON.parse(JSON.stringify(list)),
        );
      },
    ),
  );
  expect(cut('[{"a":"]},[\\\\"}, "\\\\\\"", []]', 3)).toEqual(['{"a":"]},[\\\\"}', ' "\\\\\\""', ' []']);
});

test.each(['[1,2', '[1,]', '[,1]', '[1] x', '[{"a":1}'])('the text %s is not a list', (json) => {
  expect(() => cut(json, 2)).toThrow(/JSON after row/);
});

test('the limit is that of a row, not of the list', () => {
  expect(cut(`[${'"abc",'.repeat(99)}"abc"]`, 7, 10)).toHaveLength(100);
  expect(() => cut('["abc","0123456789"]', 7, 10)).toThrow('row 2 of the list is larger than 10 bytes');
});

const reply = (chunks: (string | Error)[], status = 200): HttpReply => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: async () => chunks.join(''),
  bytes: async () => Buffer.from(chunks.join('')),
  async *stream() {
    for (const chunk of chunks) {
      if (chunk instanceof Error) throw chunk;
      yield Buffer.from(chunk);
    }
  },
});
const open = (chunks: (string | Error)[], status?: number) =>
  openList(labels.list, reply(chunks, status), 'http://t.example/api/v3/labels');
const all = async (rows: RowBatches): Promise<string[]> => {
  const found: string[] = [];
  for await (const batch of rows) found.push(...batch.map(text));
  return found;
};

test('whitespace and a byte order mark before the list are skipped; other text is an error', async () => {
  expect(await all(await open([' ', '\uFEFF\n', '[1', ',2]\n']))).toEqual(['1', '2']);
  expect(await all(await open(['[]']))).toEqual([]);
  await expect(open(['{"message":"no"}'], 404)).rejects.toMatchObject({ category: 'not-found' });
  await expect(open(['[1]'], 500)).rejects.toMatchObject({ category: 'network' });
  await expect(open(['null'])).rejects.toMatchObject({ detail: { code: 'OTHER_SHAPE' } });
  await expect(open([''])).rejects.toThrow('is empty');
  await expect(open(['<html>'])).rejects.toMatchObject({ detail: { code: 'NOT_JSON' } });
});

test('an error in several pieces is read completely before it is reported', async () => {
  const pieces = ['{"kind":"error","code":"unfound', '_resource","error":"The label', ' is gone."}'];
  await expect(open(pieces, 404)).rejects.toThrow('The label is gone.');
});

const reset = new NetworkError('RESET', 'the line was cut', true);
const twice = (first: (string | Error)[], second: (string | Error)[]) => {
  const given = [first, second];
  return listRows(
    () => open(given.shift() ?? []),
    () => undefined,
  );
};

test('an interrupted list continues if it is unchanged, and fails otherwise', async () => {
  expect(await all(await twice(['[1,2,', '3', reset], ['[1,2,3,4]']))).toEqual(['1', '2', '3', '4']);
  expect(await all(await twice([reset], ['[1]']))).toEqual(['1']);
  await expect(all(await twice(['[1,2,', reset], ['[1,9,3]']))).rejects.toMatchObject({
    detail: { code: 'LIST_CHANGED' },
  });
  await expect(all(await twice(['[1,2,', reset], ['[1]']))).rejects.toMatchObject({
    detail: { code: 'LIST_CHANGED' },
  });
  await expect(all(await twice(['[1,', reset], ['[1,', reset]))).rejects.toBe(reset);
});

test('the first batch is large enough for columns, the others come as they arrive', async () => {
  const piece = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, i) => `${from + i},`).join('');
  const rows = await open(['[', piece(0, 300), piece(300, 499), piece(499, 500), '500,', '501,', '502]']);
  const sizes: number[] = [];
  for await (const batch of rows) sizes.push(batch.length);
  expect(sizes).toEqual([500, 1, 1, 1]);
});

test('rows before the interruption are delivered; a reader that stops early ends the response', async () => {
  const rows = await open(['[1,2,', reset]);
  expect((await rows.next()).value?.map(text)).toEqual(['1', '2']);
  await expect(rows.next()).rejects.toBe(reset);
  let isEnded = false;
  const answer = reply([]);
  const stream = async function* () {
    try {
      for (let i = 0; i < 2000; i++) yield Buffer.from(i === 0 ? '[' : `${i},`);
    } finally {
      isEnded = true;
    }
  };
  for await (const _ of await openList(labels.list, { ...answer, stream }, 'http://t.example/x')) break;
  expect(isEnded).toBe(true);
});

test('the reader accepts all JSON whitespace around rows, and no other characters', () => {
  expect(cut('[ 1\t,\r\n2 ] \t\r\n', 1).map((row) => row.trim())).toEqual(['1', '2']);
  expect(cut('[ \t\r\n]', 1)).toEqual([]);
  expect(() => cut('[1]\v', 1)).toThrow('after row 1');
});

test('a row of exactly the limit is read', () => {
  expect(cut('["12345678"]', 3, 10)).toEqual(['"12345678"']);
  expect(() => cut('["123456789"]', 3, 10)).toThrow('row 1 of the list');
});
