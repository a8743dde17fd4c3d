import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonRows } from '../../src/api/list-rows.ts';
import type { OutputFormat } from '../../src/core/format.ts';
import { areChecked, markChecked, parseExactJson } from '../../src/core/json.ts';
import { AppError } from '../../src/core/problem.ts';
import {
  checkOutput,
  filterPieces,
  jqPieces,
  mapsEachRow,
  startFilter,
} from '../../src/output/expressions.ts';
import type { Rows } from '../../src/output/formats.ts';
import { startJq } from '../../src/platform/node/jq-run.ts';
import type { Host } from '../../src/platform/host.ts';
import { fakeHost } from '../support/fake-host.ts';

const makeHost = () => {
  const started: string[] = [];
  const jq: Host['jq'] = async (program, args) => {
    started.push(program);
    return startJq(program, args);
  };
  return { host: { ...fakeHost(), jq }, started };
};
/** The rows of a list as the client reads them from a response. */
const encodedRows = (texts: readonly string[]): Uint8Array[] => {
  if (texts.length === 0) return [];
  const list = new JsonRows('GET /x');
  // The keys of the first row are learned before the others arrive.
  list.push(Buffer.from(`[${texts[0]},`));
  const rows = list.push(Buffer.from(`${texts.join(',')}]`));
  list.end();
  return list.areChecked ? markChecked(rows) : rows;
};
async function* burstsOf(rows: readonly Uint8Array[], broken?: Error): AsyncGenerator<unknown[]> {
  const half = Math.ceil(rows.length / 2);
  const isChecked = areChecked(rows);
  for (const part of [rows.slice(0, half), rows.slice(half)])
    if (part.length > 0) yield isChecked ? markChecked(part) : part;
  if (broken !== undefined) throw broken;
}
type Source = { readonly data: unknown } | Rows;
type Shown = { readonly text: string; readonly error: unknown };
const shownBy = async (pieces: AsyncIterable<string>): Promise<Shown> => {
  let text = '';
  try {
    for await (const piece of pieces) text += piece;
    return { text, error: undefined };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { text, error: [error.category, error.message] };
  }
};
/** What the program prints, and what jq prints for the same input. */
const bothOf = async (program: string, format: OutputFormat, source: () => Source) => {
  const note = async (): Promise<void> => undefined;
  const { host, started } = makeHost();
  const start = () => startFilter(host, program, format);
  const onRepeated = (): void => undefined;
  const direct = await shownBy(
    filterPieces(source(), { program, reading: { format }, start, note, onRepeated }),
  );
  const isDirect = started.length === 0;
  async function* piecesOfJq() {
    yield* jqPieces(await start(), source(), { format }, note);
  }
  const byJq = await shownBy(piecesOfJq());
  return { direct, byJq, isDirect };
};
const encoded = (texts: readonly string[], broken?: Error) => (): Source => ({
  rows: burstsOf(encodedRows(texts), broken),
  inBatches: true,
  encoded: true,
});
const FORMATS = ['json', 'ndjson'] as const;
const PROGRAMS = [
  ...[
    '.name',
    '.[].name',
    '.[] | .name',
    '.a.b',
    '.[].a.b',
    ' .a\n| .b ',
    '.list[]',
    '.list.[]',
    '.[]|.list|.[]',
  ],
  ...[
    '.list[].name',
    '.[].list[].name',
    '.list[][]',
    '.and',
    '.[].a',
    '.',
    '.[]',
    '.[][]',
    '. | .id',
    '.[] | . | .id',
  ],
  ...['length', '. | length', '.|length', '.list | length', '.name?', '."name"', '.name, .id'],
];

test('programs that follow a path print what jq prints, for rows of every kind', async () => {
  const rows = [
    '{"id":1,"name":"a b","a":{"b":"x"},"list":[{"name":"p"},{"name":null}],"and":true}',
    '{"id":2,"name":"\\"quoted\\"\\n\\t\\\\\\/\\b\\f\\r","a":{"b":false},"list":[],"and":null}',
    '{"id":999999999999999,"name":"é ü \u{1F600} \u007f","a":null,"list":[{"name":"q"}],"and":0}',
    '{"id":-5,"name":null,"a":{},"list":[{},{"name":""}],"and":-1}',
  ];
  for (const program of PROGRAMS) {
    const format = program.includes('length') || program.startsWith('.[') ? 'json' : 'ndjson';
    const { direct, byJq } = await bothOf(program, format, encoded(rows));
    expect([program, direct]).toEqual([program, byJq]);
  }
});

test('rows that jq must read, and its messages, stay as they are', async () => {
  const plain = '{"id":1,"name":"a","list":[1,2]}';
  for (const other of [
    '{"id":1.50,"name":"\\ud83d\\ude00","list":[1e3,0.1]}',
    '{"id":12345678901234567890,"name":"\\u0000","list":[-0]}',
    '{"id":1E+2,"name":1e3,"list":[1e400]}',
    '{"id":1,"name":{"b": 1},"list":{"x":3}}',
    '{"id":1,"name":"a","name":"b","list":null}',
    '{"id":1,"na\\u006de":"z","list":"text"}',
    '[1]',
    '"text"',
    '7',
    'null',
    '{}',
  ])
    for (const [program, format] of [
      ['.name', 'ndjson'],
      ['.[].list[]', 'json'],
      ['.[] | .id', 'json'],
    ] as const) {
      const texts = [plain, plain, other, plain];
      const { direct, byJq } = await bothOf(program, format, encoded(texts));
      expect([other, program, direct]).toEqual([other, program, byJq]);
    }
});

const scalar = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    'true',
    'false',
    'null',
    '0',
    '-0',
    '1.0',
    '1e5',
    '123456789012345',
    '1234567890123456',
    '"\\u00e9"',
  ),
);
const { value, record } = fc.letrec<{ value: string; list: string; record: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('list'), tie('record')),
  list: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join()}]`),
  record: fc
    .uniqueArray(fc.tuple(fc.constantFrom('name', 'a', 'b', 'list', 'x y', 'é'), tie('value')), {
      maxLength: 4,
      selector: ([key]) => key,
    })
    .map((pairs) => `{${pairs.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`),
}));
/** Most of these programs compile. Both ways report the others in the words of jq. */
const path = fc
  .array(fc.constantFrom('.', '.name', '.a', '.b', '.list', '.[]', '[]', ' | .a', ' | .[]', ' | .'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((steps) => steps.join(''));
const RUNS = Number(process.env.JQ_PATH_RUNS ?? 8);

test('any path over any rows and records prints what jq prints', async () => {
  await fc.assert(
    fc.asyncProperty(
      path,
      fc.array(value, { maxLength: 5 }),
      fc.constantFrom(...FORMATS),
      async (program, texts, format) => {
        const sources = [
          encoded(texts),
          () => ({ rows: texts.map((text) => parseExactJson(text)) }),
          () => ({ data: parseExactJson(texts[0] ?? 'null') }),
        ];
        for (const source of sources) {
          const { direct, byJq } = await bothOf(program, format, source);
          expect(direct).toEqual(byJq);
        }
      },
    ),
    { numRuns: RUNS },
  );
});

test('a path over ordinary rows starts no jq, and a list that breaks off prints what jq prints', async () => {
  const rows = Array.from({ length: 40 }, (_, id) => `{"id":${id},"name":"n${id}","owner":{"name":"o"}}`);
  for (const [program, format] of [
    ['.name', 'ndjson'],
    ['.owner.name', 'ndjson'],
    ['.[].name', 'json'],
    ['.[] | .owner | .name', 'json'],
    ['length', 'json'],
  ] as const) {
    const whole = await bothOf(program, format, encoded(rows));
    expect([program, whole.isDirect, whole.direct]).toEqual([program, true, whole.byJq]);
    const broken = new AppError('network', 'the connection was lost');
    const cut = await bothOf(program, format, encoded(rows, broken));
    expect([program, cut.direct]).toEqual([program, cut.byJq]);
  }
});

test('a program that is not only a path is compiled before the command runs', async () => {
  const options = { header: true, quiet: false, verbose: false, format: 'json' } as const;
  const { host, started } = makeHost();
  await checkOutput({ ...options, jq: '.[].name' }, host);
  expect(started).toEqual([]);
  await expect(checkOutput({ ...options, jq: '.[].name |' }, host)).rejects.toThrow('--jq');
  await expect(checkOutput({ ...options, jq: '. name' }, host)).rejects.toThrow('--jq');
  expect(started).toEqual(['.[].name |', '. name']);
});

/** An expression over a row that uses some of its keys. */
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('.name', '.a', '.list', '."x y"', '.["é"]', '.a.b', '.list[0]', '.b[]?', '1', '"text"'),
    fc
      .tuple(tie('expression'), fc.constantFrom('+', '//', '==', '<', 'and', ','), tie('expression'))
      .map(([a, sign, b]) => `(${a} ${sign} ${b})`),
    fc
      .tuple(
        tie('expression'),
        fc.constantFrom('tostring', 'length', 'not', 'type', 'keys', 'map(.name)', 'add'),
      )
      .map(([a, next]) => `(${a} | ${next})`),
    tie('expression').map((a) => `"<\\(${a})>"`),
    tie('expression').map((a) => `{name, "x y", z: ${a}}`),
    tie('expression').map((a) => `[${a}, .name]`),
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(if ${a} then ${b} else .b end)`),
  ),
}));
const overAll = fc.tuple(
  fc.constantFrom(
    ...['map(select(A) | B)', '[.[] | A, B]', 'map(select(A)) | length', 'sort_by(A) | .[] | B'],
    ...['group_by(A) | map(length)', 'group_by(A) | map(map(B))', 'min_by(A) | B', 'first | A', 'any(A)'],
    ...['map(A)', 'map(select(A))', ' map(A, B) | map(select(.)) ', 'map(A)|map("(" + tostring)'],
    ...['.[1:3] | map(A)', 'map(select(A)) | last | B', 'limit(2; .[] | A)', 'unique_by(A) | map(B)'],
  ),
  expression,
  expression,
);
const fill = ([shape, a, b]: readonly string[]): string => {
  const words: Record<string, string | undefined> = { A: a, B: b };
  return (shape ?? '').replace(/\b[AB]\b/g, (word) => words[word] ?? '');
};

test('a program that uses some keys prints what jq prints for whole rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        overAll.map((parts) => [fill(parts), 'json'] as const),
        fc
          .tuple(fc.constant('select(A) | B'), expression, expression)
          .map((parts) => [fill(parts), 'ndjson'] as const),
      ),
      fc.array(fc.oneof({ weight: 5, arbitrary: record }, { weight: 1, arbitrary: value }), { maxLength: 5 }),
      async ([program, format], texts) => {
        const { direct, byJq } = await bothOf(program, format, encoded(texts));
        expect([program, direct]).toEqual([program, byJq]);
      },
    ),
    { numRuns: RUNS },
  );
});

test.each([
  ...[
    ['map(.a)', true],
    [' map(select(.a == ")")) | map({b: (.c)}) ', true],
    ['map("\\"(")', true],
  ],
  ...[
    ['map(.a) | length', false],
    ['map(.a)[0]', false],
    ['map(.a) + map(.b)', false],
    ['.[]', false],
  ],
  ...[
    ['map(input)', false],
    ['map(halt)', false],
    ['map(debug)', false],
    ['map(.a # )\n)', false],
  ],
  ...[
    ['map("\\(.a)")', false],
    ['map(.a', false],
    ['def map(f): 1; map(.a)', false],
    ['map_values(.a)', false],
  ],
] as const)('jq reads the rows of %s in parts: %s', (program, isInParts) => {
  expect(mapsEachRow(program)).toBe(isInParts);
});
