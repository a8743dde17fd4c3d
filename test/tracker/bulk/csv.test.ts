import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { readRows } from '../../../src/tracker/bulk/csv.ts';
import { AppError } from '../../../src/core/problem.ts';
import { caseCount } from '../../differential/cases.ts';
import { randomFrom } from '../../simulator/kernel/random.ts';
import { testSeed } from '../../support/seeded.ts';
import { valuesIn } from '../../support/facts.ts';

type Reference = (text: string, options: Record<string, unknown>) => Record<string, string>[];
const reference: Reference = createRequire(import.meta.url)('csv-parse/sync').parse;

const bytesOf = async function* (text: string | Buffer, size = 7): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text as string);
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
};
const read = async (text: string | Buffer, isList = (_: string) => false) => {
  const rows = [];
  for await (const lines of readRows(bytesOf(text), 'csv', { name: 'rows.csv', delimiter: ',', isList }))
    rows.push(...lines.map(({ row }) => row ?? {}));
  return rows;
};
const rejection = async (text: string | Buffer): Promise<AppError> => {
  const thrown = await read(text).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof AppError)) throw new Error(`accepted: ${JSON.stringify(text)}`);
  return thrown;
};

const ALPHABET = [
  'a',
  'b',
  'é',
  ' ',
  ',',
  ',',
  '"',
  '"',
  '""',
  '\n',
  '\n',
  '\r\n',
  '1',
  ';',
  '\t',
  '=',
  '💥',
];

/** Returns the reason if the two readers differ on purpose. */
const explanation = (text: string): string | undefined => {
  if (/\r(?!\n)/.test(text)) return 'a carriage return outside quotes is rejected';
  if (text.split(/\r?\n/).some((line) => line !== '' && line.trim() === ''))
    return 'a line of spaces is skipped';
  if (text.split(/\r?\n/).some((line) => /^[\s,]+$/.test(line))) return 'a row of delimiters is skipped';
  return undefined;
};

const parsed = (text: string): Record<string, string>[] | 'rejected' => {
  try {
    return reference(text, {
      columns: ['x', 'y'],
      from: 2,
      bom: true,
      skip_empty_lines: true,
      record_delimiter: ['\r\n', '\n'],
    });
  } catch {
    return 'rejected';
  }
};
/** Removes empty cells and rows without a value, because an import does not change a field for an empty cell. */
const withoutEmpty = (rows: readonly Record<string, string>[]) =>
  rows
    .filter((row) => Object.values(row).some((cell) => cell.trim() !== ''))
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== '')));

describe('the CSV reader', () => {
  test('agrees with csv-parse on seeded texts', async () => {
    const { next } = randomFrom(testSeed);
    const differences: unknown[] = [];
    const counts = { accepted: 0, rejected: 0, explained: 0 };
    for (let i = 0; i < caseCount; i += 1) {
      const length = 1 + Math.floor(next() * 14);
      const body = Array.from({ length }, () => ALPHABET[Math.floor(next() * ALPHABET.length)]).join('');
      const text = `x,y\n${body}`;
      const own = await read(text).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        return 'rejected' as const;
      });
      const expected = parsed(text);
      const isSame =
        own === 'rejected' || expected === 'rejected'
          ? own === expected
          : JSON.stringify(own) === JSON.stringify(withoutEmpty(expected));
      counts[own === 'rejected' ? 'rejected' : 'accepted'] += 1;
      if (isSame) continue;
      if (explanation(text) === undefined) differences.push({ text, own, expected });
      else counts.explained += 1;
    }
    expect(differences).toEqual([]);
    process.stdout.write(
      `CSV: ${caseCount} cases, ${counts.accepted} accepted, ${counts.rejected} rejected, ${counts.explained} documented choices, ${differences.length} differences\n`,
    );
    expect(counts.accepted).toBeGreaterThan(caseCount / 16);
    expect(counts.rejected).toBeGreaterThan(caseCount / 4);
    expect(counts.explained).toBeLessThan(caseCount / 10);
  }, 3_600_000);

  test.each([
    ['text after a closing quote', 'op,name,color\ncreate,"bug" ,#f00\n', 2, 13, []],
    ['a quote inside a cell', 'name,color\n5" pipe,x\n', 2, 2, []],
    ['an open quote', 'name,color\na,b\nc,"d\ne\n', 3, 3, []],
    ['a second line of a quoted cell', 'name,color\n"a\nb"x,c\n', 3, 3, []],
    ['a short row', 'name,color\na\n', 2, 1, ['1', '2']],
    ['a long row', 'name,color\na,b,c\n', 2, 1, ['3', '2']],
    ['a value below no name', 'name,\na,b\n', 2, 1, ['2']],
    ['lines before the header', ',\nname,color\n', 1, 1, []],
    ['line ends of another kind', 'name,color\ra,b\r', 1, 11, []],
  ] as const)('rejects %s with its line and column', async (_, text, line, column, values) => {
    const { category, detail } = await rejection(text);
    expect([category, detail.code]).toEqual(['usage', 'MALFORMED_CSV']);
    expect(detail.problems).toMatchObject([{ file: 'rows.csv', line, column, rule: 'format' }]);
    expect(valuesIn(detail.problems?.[0]?.message ?? '')).toEqual(values);
    expect(detail.tryThis).toHaveLength(1);
  });

  test('rejects repeated columns and names both columns', async () => {
    const { detail } = await rejection('name,color,name,Comment,Comment\na,b,c,d,e\n');
    expect(detail.problems?.map(({ message }) => message)).toEqual([
      'column 3 repeats the name of column 1, "name"',
      'column 5 repeats the name of column 4, "Comment"',
    ]);
  });

  test('joins the cells of repeated columns of a list field', async () => {
    const isList = (name: string) => name === 'labels';
    expect(await read('name,labels,labels,labels\na,x,,y\nb,,,\n', isList)).toEqual([
      { name: 'a', labels: ['x', 'y'] },
      { name: 'b' },
    ]);
  });

  test('accepts columns without a name and without values', async () => {
    expect(await read('name,,\na,,\n')).toEqual([{ name: 'a' }]);
  });
});

test('NDJSON rejects a repeated key in one object', async () => {
  const text =
    '{"name":1,"name":2}\n{"a":{"b":1,"\\u0062":2}}\n{"a":"x:y","b":[{"a":1},{"a":2}]}\n{"a:":1,"b":":"}\n';
  const found = [];
  for await (const lines of readRows(bytesOf(text), 'ndjson'))
    found.push(...lines.map(({ problem }) => problem?.path));
  expect(found).toEqual(['name', 'b', undefined, undefined]);
});
test('NDJSON rejects a number whose digits a number loses, with its source text', async () => {
  const text =
    '{"a":9007199254740993}\n{"a":1e400}\n{"a":[0.12345678901234567890]}\n{"a":1.50,"b":-0}\n{"a":"9007199254740993"}\n';
  const found = [];
  for await (const lines of readRows(bytesOf(text), 'ndjson'))
    found.push(...lines.map(({ problem }) => problem?.hint));
  expect(valuesIn(found.join())).toEqual(['"9007199254740993"', '"1e400"', '"0.12345678901234567890"']);
  expect(found.slice(3)).toEqual([undefined, undefined]);
});
test('a quote inside a cell is one of its characters between tabs, and an error between commas', async () => {
  const rows = [];
  const text = 'name\tid\nFix "x" in y\t5" pipe\n"a ""b"""\tc\n';
  for await (const lines of readRows(bytesOf(text), 'csv')) rows.push(...lines.map(({ row }) => row));
  expect(rows).toEqual([
    { name: 'Fix "x" in y', id: '5" pipe' },
    { name: 'a "b"', id: 'c' },
  ]);
  for (const delimiter of [',', ';'])
    await expect(read(text.replaceAll('\t', delimiter), () => false)).rejects.toThrow(AppError);
});
const readTabs = async (text: string) => {
  const rows = [];
  for await (const lines of readRows(bytesOf(text), 'csv', { name: 'rows.tsv' }))
    rows.push(...lines.map(({ row }) => Object.values(row ?? {})));
  return rows;
};
test.each([
  ['"Beta" label is missing\t1', [['"Beta" label is missing', '1']]],
  ['"a" and "b"\t"c"', [['"a" and "b"', 'c']]],
  ['1\t"a" b', [['1', '"a" b']]],
  [
    '"two\nlines"\t1\n2\t"two\nlines"',
    [
      ['two\nlines', '1'],
      ['2', 'two\nlines'],
    ],
  ],
  ['"a\tb"\t1', [['a\tb', '1']]],
  ['"a\nb\tc"\t1', [['a\nb\tc', '1']]],
] as const)('reads a quote at the start of a cell between tabs: %j', async (text, rows) =>
  expect(await readTabs(`name\tid\n${text}\n`)).toEqual(rows),
);
test.each([
  ['"Foo\tx\nbar"\tq', 2, 1],
  ['a\tb\n"Foo\tx', 3, 1],
  ['a\t"b\nc\td"', 2, 3],
  ['a\t"b\nc" d\te', 3, 3],
])('refuses a quote between tabs that can mean two things: %j', async (text, line, column) => {
  const refused = readTabs(`name\tdescription\n${text}\nThird\tr\n`);
  await expect(refused).rejects.toMatchObject({
    detail: {
      code: 'MALFORMED_CSV',
      problems: [expect.objectContaining({ file: 'rows.tsv', line, column })],
    },
  });
});
test('a header with a wrong quote is no table of one column between tabs', async () => {
  await expect(readTabs('a"b,c\n1,2\n')).rejects.toMatchObject({ detail: { code: 'MALFORMED_CSV' } });
});
test.each([
  ['{"name":"a","__proto__":{"archived":true}}', '__proto__'],
  ['{"name":"a","\\u005f_proto__":1}', '__proto__'],
  ['{"labels":[{"__pr\\u006fto__":1}]}', '__proto__'],
  ['{"a":"__proto__:","b":"\\"__proto__\\":"}', undefined],
  ['{"name":"a","labels":[{"name":"b","__proto__" : 1}]}', '__proto__'],
  ['[{"name":"a"}]', ''],
])('NDJSON judges %s by its parsed keys', async (text, path) => {
  const found = [];
  for await (const lines of readRows(bytesOf(text), 'ndjson'))
    found.push(...lines.map(({ problem }) => problem));
  expect(found).toEqual([path === undefined ? undefined : expect.objectContaining({ path })]);
});
test('a line sep=; before the header states the delimiter and counts as a line', async () => {
  const rows = [];
  for await (const lines of readRows(bytesOf('\uFEFFsep=;\r\nname;id\r\n"a,b";c\r\n'), 'csv'))
    rows.push(...lines.map(({ line, row }) => [line, row]));
  expect(rows).toEqual([[3, { name: 'a,b', id: 'c' }]]);
});

describe('a NUL character', () => {
  test.each([
    ['x,y\na\0b,1\n', 2, 2],
    ['x,y\n1,"two\nli\0nes"\n', 3, 3],
    ['x\0,y\n', 1, 2],
  ])('in the table %j is rejected at %i:%i', async (text, line, column) => {
    expect((await rejection(text)).detail).toMatchObject({
      code: 'MALFORMED_CSV',
      problems: [{ file: 'rows.csv', line, column, message: expect.stringContaining('NUL') }],
      tryThis: [expect.stringContaining('iconv -f UTF-16LE')],
    });
  });
  test('in every second byte means UTF-16', async () => {
    expect((await rejection('x\0\n\0y\0\n\0')).detail).toMatchObject({
      code: 'NOT_UTF8',
      tryThis: [expect.stringContaining('iconv -f UTF-16LE')],
    });
  });
  const problemsOf = async (text: string) => {
    const found = [];
    for await (const lines of readRows(bytesOf(text), 'ndjson')) found.push(...lines);
    return found.map(({ line, problem: wrong }) => [line, wrong?.message]);
  };
  test.each([
    ['as a byte', '{"name":"a\0b"}', 11],
    ['as an escape', '{"name":"a\\u0000b"}', 11],
    ['as an escape after an escaped backslash', '{"name":"\\\\\\u0000"}', 12],
  ])('in a row of JSON is rejected %s', async (_, text, column) => {
    expect(await problemsOf(`{"name":"x"}\n${text}\n`)).toEqual([
      [1, undefined],
      [2, `column ${column}: a NUL character is part of the text`],
    ]);
  });
  test('the text of an escape is not an escape', async () => {
    expect(await problemsOf('{"name":"a\\\\u0000b"}')).toEqual([[1, undefined]]);
  });
});
test.each(['sep=;', '"sep=;"', 'SEP=;', '"sep=;" '])('accepts the line %j before the header', async (line) =>
  expect(await readTabs(`${line}\nname;id\n"a,b";c\n`)).toEqual([['a,b', 'c']]),
);
test.each([
  ['sep=|\nname|id\n', 1, ['"|"']],
  ['"sep=|"\nname|id\n', 1, ['"|"']],
  ['sep=\nname,id\n', 1, ['""']],
  ['sep=;\nsep=;\nname;id\n', 2, []],
  ['\nsep=;\nname;id\n', 2, []],
])('rejects the line of a delimiter in %j', async (text, line, values) => {
  const thrown: unknown = await readTabs(text).catch((error: unknown) => error);
  const { detail } = thrown as AppError;
  expect(detail.code).toBe('MALFORMED_CSV');
  expect(detail.problems).toMatchObject([{ file: 'rows.tsv', line }]);
  expect(valuesIn(detail.problems?.[0]?.message ?? '')).toEqual(expect.arrayContaining(values));
});

test.each([1, 7, 4096])('pieces of %d bytes do not hide the format of another program', async (size) => {
  const pages = [
    '<!doctype html><title>x</title>',
    ' \n<html>',
    'version https://git-lfs.github.com/spec/v1\n',
  ];
  for (const text of [...pages, 'PK\u0003\u0004....xl/workbook.xml']) {
    const rows = readRows(bytesOf(text, size), 'csv', { name: 'rows.csv' })[Symbol.asyncIterator]();
    await expect(rows.next()).rejects.toMatchObject({ detail: { code: 'FOREIGN_FORMAT' } });
  }
});
test('pieces of one byte are read like the whole text', async () => {
  const rows: unknown[] = [];
  for await (const lines of readRows(bytesOf('PKEY,name\n1,é\n', 1), 'csv', { name: 'rows.csv' }))
    rows.push(...lines.map(({ row }) => row));
  expect(rows).toEqual([{ PKEY: '1', name: 'é' }]);
});
test.each(['na\u200bme', '\u2060name', 'na\u00adme', 'na\u200cme', 'name\u200d'])(
  'a column whose name has an invisible character is rejected: %j',
  async (name) => {
    const error = await rejection(`external_id,${name}\nA,b\n`);
    expect(error.detail.problems).toMatchObject([
      { line: 1, message: expect.stringMatching(/\\u[\da-f]{4}/) },
    ]);
  },
);
test('a joiner inside a word of another script is part of the name of a column', async () => {
  expect(await read('نام\u200cها,a\n1,2\n')).toEqual([{ 'نام\u200cها': '1', a: '2' }]);
});

test('a byte order mark inside a table is rejected with its line', async () => {
  const { detail } = await rejection('name\na\n\ufeffname\nb\n');
  expect(detail.problems).toMatchObject([{ line: 3 }]);
});
