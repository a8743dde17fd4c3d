import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type JsonFault, jsonFault, measureJson } from '../../src/core/json-scan.ts';
import {
  jsonLines,
  jsonOfAnyDepth,
  parseExactJson,
  changeResponse,
  lostKey,
  parseJsonRows,
  parseResponseJson,
  readJsonText,
  restoreNumbers,
  shownValue,
} from '../../src/core/json.ts';
import { naming } from '../support/facts.ts';

/** Creates a document of any depth, with every kind of JSON value at each level. */
const nested = (levels: number): unknown => {
  let value: unknown = [];
  for (let i = 0; i < levels; i++)
    value = {
      'a "key"': [value, null, undefined, true, 1.5, 'text\n'],
      gone: undefined,
      empty: {},
      none: [],
    };
  return value;
};

test('a value of usual depth is what JSON.stringify makes of it', () => {
  expect(jsonOfAnyDepth(nested(5))).toBe(JSON.stringify(nested(5)));
  expect(jsonOfAnyDepth(nested(5), 2)).toBe(JSON.stringify(nested(5), null, 2));
  expect(jsonOfAnyDepth(undefined)).toBe('null');
});

test('a value too deep for JSON.stringify comes out whole and can be read again', () => {
  const text = jsonOfAnyDepth(nested(50_000));
  let inner = JSON.parse(text);
  let levels = 0;
  for (; !Array.isArray(inner); levels++) {
    expect(Object.keys(inner)).toEqual(['a "key"', 'empty', 'none']);
    inner = inner['a "key"'][0];
  }
  expect(levels).toBe(50_000);
  expect(text.slice(0, 5)).toBe(JSON.stringify(nested(1)).slice(0, 5));
});

test('a circle stays an error', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  expect(() => jsonOfAnyDepth(circle)).toThrow(TypeError);
});

/** Returns the rows of one piece of a response, as views of its bytes. */
const rowsOf = (...texts: string[]): Uint8Array[] => {
  const bytes = Buffer.from(texts.join(','));
  let at = 0;
  return texts.map((text) => {
    const { length } = Buffer.from(text);
    const row = bytes.subarray(at, at + length);
    at += length + 1;
    return row;
  });
};
const many = Array.from({ length: 100 }, (_, id) => JSON.stringify({ id, name: `naïve ${id}` }));

test('rows of a piece, of several pieces and of no piece have the values that JSON.parse gives', () => {
  const apart = [...rowsOf(...many), ...rowsOf('1', '"a, b"'), Buffer.from('null')];
  expect(parseJsonRows(apart)).toEqual([...many.map((text) => JSON.parse(text)), 1, 'a, b', null]);
  expect(parseJsonRows([])).toEqual([]);
  expect(jsonLines([])).toBe('');
});

test('lines keep numbers of any size, repeated keys and escapes as the service wrote them', () => {
  const texts = ['{"id":12345678901234567890,"n":1.0}', '{"a":1,"a":2}', '"\\u00e9 \\n"'];
  expect(jsonLines(rowsOf(...texts))).toBe(texts.map((text) => `${text}\n`).join(''));
  expect(jsonLines(rowsOf(...many))).toBe(many.map((text) => `${text}\n`).join(''));
});

test('a row is one line without white space between its tokens, and its strings are untouched', () => {
  const rows = rowsOf('{ "a": [1, 2],\n "b": "x: \\" y,  z" }', '\n{"c":\t1}\n');
  expect(jsonLines(rows)).toBe('{"a":[1,2],"b":"x: \\" y,  z"}\n{"c":1}\n');
  const later = rowsOf('{"a":1}', '{"b":\n2}');
  expect(jsonLines(later)).toBe('{"a":1}\n{"b":2}\n');
});

test.each([['{"a":1}x'], ['{"a":}'], ['1 2'], ['{"a":1]']])('%s between good rows is an error', (bad) => {
  for (const read of [parseJsonRows, jsonLines])
    expect(() => read(rowsOf('{"a":1}', bad, '{"b":2}'))).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'NOT_JSON' }) }),
    );
});

test('bytes that are not UTF-8 are an error, and the replacement character itself is data', () => {
  const damaged = [...rowsOf('{"a":1}'), Buffer.from([0x22, 0xff, 0x22])];
  for (const read of [parseJsonRows, jsonLines])
    expect(() => read(damaged)).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'NOT_UTF8' }) }),
    );
  expect(jsonLines(rowsOf('"\uFFFD"', '1'))).toBe('"\uFFFD"\n1\n');
});

test.each([
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['0.1234567890123456789', true],
  ['90071992.547409931', true],
  ['-12345.678901234567891', true],
  ['1e400', true],
  ['9007199254740992', false],
  ['1.10', false],
  ['100000000000000000000', false],
  ['5e-324', false],
])('the number %s reaches the output as it came (marked: %j)', (number, isMarked) => {
  const text = `{"a":[${number}],"b":"text ${number}"}`;
  const value = parseExactJson(text) as { a: unknown[]; b: string };
  expect([typeof value.a[0] === 'string', value.b]).toEqual([isMarked, `text ${number}`]);
  const written = restoreNumbers(JSON.stringify(value));
  expect(written).toBe(isMarked ? text : JSON.stringify(JSON.parse(text)));
});

test('a text that starts with the mark is a text', () => {
  const text = JSON.stringify({ a: '\uE000\uF5CA123', b: 1 });
  expect(parseExactJson(text)).toEqual({ a: '\uE000\uF5CA123', b: 1 });
});
test('a character of the private use area before a digit stays in the output', () => {
  const value = parseExactJson('{"a":"\\ue0001","b":"\uE0002","n":12345678901234567890}');
  expect(restoreNumbers(JSON.stringify(value))).toBe(
    '{"a":"\uE0001","b":"\uE0002","n":12345678901234567890}',
  );
});

const written = (value: unknown): string => restoreNumbers(JSON.stringify(shownValue(value)));
test('each object and list inside a response has its exact numbers and the repeated key', () => {
  const text = '{"page":{"rows":[{"id":12345678901234567891,"id2":1,"id2":2}]},"nextPageToken":"p2"}';
  const value = parseResponseJson(text) as { page: { rows: [object] } };
  for (const part of [value, value.page, value.page.rows, value.page.rows[0]]) {
    expect(written(part)).toContain('12345678901234567891');
    expect(lostKey(part)).toBe('id2');
  }
});
test('a response with other keys keeps its exact numbers', () => {
  const given = parseResponseJson('{"data":[{"old":12345678901234567891}]}');
  const rename = (one: unknown): unknown => JSON.parse(JSON.stringify(one).replaceAll('"old"', '"new"'));
  const value = changeResponse(given, rename) as { data: unknown[] };
  expect(written(value)).toBe('{"data":[{"new":12345678901234567891}]}');
  expect(written(value.data[0])).toBe('{"new":12345678901234567891}');
});
test('the exact numbers of a very deep response are found without recursion', () => {
  const text = `${'{"a":['.repeat(3000)}12345678901234567891${']}'.repeat(3000)}`;
  let part = parseResponseJson(text) as { a: unknown[] };
  for (let depth = 1; depth < 3000; depth++) part = part.a[0] as { a: unknown[] };
  expect(written(part)).toBe('{"a":[12345678901234567891]}');
});

test.each([
  ['', 1, 1, naming('expected', 'value', 'ends')],
  ['{', 1, 2, naming('expected', 'key', 'double quotes', '"}"', 'ends')],
  ['{"a":1,}', 1, 8, naming('expected', 'key', 'double quotes', 'found', '"}"')],
  ["{'a':1}", 1, 2, `expected a key in double quotes or "}", found "'"`],
  ['{"a" 1}', 1, 6, naming('expected', '":"', 'found', '"1"')],
  ['[1,\n 2 3]', 2, 4, naming('expected', '","', '"]"', 'found', '"3"')],
  ['[1,]', 1, 4, naming('expected', 'value', 'found', '"]"')],
  ['{"a":[]\n"b"', 2, 1, naming('expected', '","', '"}"', 'found', 'string')],
  ['{"a":123 "b":2}', 1, 10, naming('expected', '","', '"}"', 'found', 'string')],
  ['["x" "y"]', 1, 6, naming('expected', '","', '"]"', 'found', 'string')],
  [
    '["x" "y\\"]',
    1,
    6,
    naming('expected', '","', '"]"', 'found', 'string', 'closing quote', 'invalid character'),
  ],
  [
    '["\\u00g0"]',
    1,
    2,
    naming('expected', 'value', '"]"', 'found', 'string', 'closing quote', 'invalid character'),
  ],
  [
    '{"a":"x\ny"}',
    1,
    6,
    naming('expected', 'value', 'found', 'string', 'closing quote', 'invalid character'),
  ],
  ['{"a":"\\q"}', 1, 6, naming('expected', 'value', 'found', 'string', 'closing quote', 'invalid character')],
  ['[01]', 1, 2, naming('expected', 'value', '"]"', 'found', '"0"')],
  ['\n\n {"a": nul}', 3, 8, naming('expected', 'value', 'found', '"n"')],
  ['[1,\u00a02]', 1, 4, naming('expected', 'value', 'found', 'U+00A0')],
  ['{} {}', 1, 4, naming('expected', 'end of the text', 'found', '"{"')],
])('jsonFault finds the first invalid place of %j', (text, line, column, what) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(jsonFault(text)).toEqual({ line, column, what });
});
const readOrFault = (text: string): unknown => {
  let fault: JsonFault | undefined;
  try {
    return readJsonText(text, (found) => {
      fault = found;
      return new Error();
    });
  } catch {
    return fault;
  }
};
test('readJsonText refuses what JSON.parse silently changes', () => {
  expect(readOrFault('{"a":1,\n"b":{"c":1,"c" : 2}}')).toMatchObject({
    line: 2,
    column: 12,
    what: naming('key', '"c"', 'twice'),
    hint: naming('one of the two'),
  });
  expect(readOrFault('[1,\n 12345678901234567890]')).toMatchObject({ line: 2, column: 2 });
  const nest = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  expect(readOrFault(nest(limits.yamlDepth + 1))).toMatchObject({ line: 1, column: limits.yamlDepth + 1 });
  expect(JSON.stringify(readOrFault(nest(limits.yamlDepth)))).toBe(nest(limits.yamlDepth));
  expect(readOrFault('\uFEFF{"a":1.50,"b":"12345678901234567890"}')).toEqual({
    a: 1.5,
    b: '12345678901234567890',
  });
});

test.each([
  ['{"a":"\\"b\\":{[1e5","c":{"d":[1,[2]]},"e":":"}', { depth: 4, keys: 4, mayRound: false }],
  ['[123456789012345,-123456789012345,"1234567890123456","1e5"]', { depth: 1, keys: 0, mayRound: false }],
  ['[1234567890123456]', { depth: 1, keys: 0, mayRound: true }],
  ['{"a":1.2,"a" : 1E5}', { depth: 1, keys: 2, mayRound: true }],
  ['{"\\\\":{},"":[{}]}', { depth: 3, keys: 2, mayRound: false }],
  ['-0.00000000000000', { depth: 0, keys: 0, mayRound: true }],
  ['"{"', { depth: 0, keys: 0, mayRound: false }],
])('measureJson reads %s without its strings', (text, measure) => {
  expect(JSON.parse(text)).not.toBeUndefined();
  expect(measureJson(text)).toEqual(measure);
});
test('readJsonText finds a repeated key next to strings that look like keys', () => {
  for (const other of ['"x\\":"', '":"', '{"a":"\\":\\":"}']) {
    expect(readOrFault(`{"a":${other},"b":1}`)).toEqual(JSON.parse(`{"a":${other},"b":1}`));
    expect(readOrFault(`{"a":${other},"b":1,"b":2}`)).toMatchObject({ what: naming('key', '"b"', 'twice') });
  }
});

test.each([
  ['1e999', 'large'],
  ['-1e999', 'large'],
  ['1e-999', 'zero'],
  ['0.12345678901234567', 'digits'],
])('readJsonText says what is lost of the number %s', (number, what) => {
  expect(readOrFault(`[${number}]`)).toMatchObject({
    ...{ line: 1, column: 2, what: naming(number, what, 'number') },
    hint: naming('text', `"${number}"`),
  });
});
test.each(['0.00000000000000000', '-0.00000000000000000', '0e999', '0.0000000000000000e-999'])(
  'the zero %s is exact',
  (zero) => {
    expect(readOrFault(`{"a":${zero}}`)).toEqual({ a: Number(zero) });
    const shown = restoreNumbers(JSON.stringify(parseExactJson(`{"a":${zero}}`)));
    // JSON.stringify loses the sign of a negative zero, so that zero keeps its notation.
    expect(shown).toBe(zero.startsWith('-') ? `{"a":${zero}}` : '{"a":0}');
  },
);
test.each(['-0', '[-0]', '{"a":-0}', '[1, -0.0]', '[\n  -0e5\n]'])(
  'the negative zero of %s is shown',
  (text) => {
    const shown = restoreNumbers(JSON.stringify(parseExactJson(text)));
    expect(shown).toBe(text.replace(/\s/g, ''));
  },
);
test('a number with many groups of zeros is compared in time that grows with its length', () => {
  const number = `1${`${'0'.repeat(200_000)}1`.repeat(2)}`;
  expect(readOrFault(`[${number}]`)).toMatchObject({ what: naming(number, 'large') });
});
// The stack of a regular expression holds about 8.5 million steps.
test.each([
  ['characters', 'x'.repeat(12_000_000)],
  ['escaped quotes', '\\"'.repeat(9_000_000)],
])('a string of millions of %s does not exhaust a stack', (_, string) => {
  const text = `{"a":"${string}","id":12345678901234567890}`;
  expect(readOrFault(text)).toMatchObject({ what: expect.stringContaining('12345678901234567890') });
  expect(jsonFault(`${text} 1`)).toMatchObject({ what: naming('end of the text', '"1"') });
});
test('a long string stays as it is where its row is printed', () => {
  const text = `{"id":12345678901234567890, "a":"${'x \\" '.repeat(2_200_000)}"}`;
  expect(restoreNumbers(JSON.stringify(parseExactJson(text))).length).toBe(text.length - 1);
  expect(jsonLines(rowsOf(text)).length).toBe(text.length);
  expect(lostKey(parseResponseJson(text.replace('}', ',"id":1}')))).toBe('id');
});

/**
 * Files with patterns that repeat a group without a limit, the number of lines, and why their texts are small. Each repetition
 * needs stack, so a text of some megabytes ends the program with "Maximum call stack size exceeded".
 */
const boundedTexts: Readonly<Record<string, readonly [lines: number, why: string]>> = {
  'api-specs/labels/label.ts': [4, 'words of descriptions'],
  'api-specs/oauth/console-records.ts': [1, 'a field of at most 255 characters'],
  'api-specs/oauth/endpoints.ts': [1, 'an address of a flag'],
  'auth/conformance/run.ts': [1, 'a value with every sign and no pattern'],
  'auth/loopback/pages.ts': [1, 'a script and no pattern'],
  'auth/read-secret.ts': [1, 'a secret of at most 8 KiB'],
  'core/check.ts': [1, 'the name of a pattern, and no pattern'],
  'kv/upgrade/configuration/values.ts': [2, 'a value of a setting, and the host of its URL'],
  'core/runnable-words.ts': [1, 'a command line of a start script, a unit or a hook'],
  'core/shell.ts': [2, 'a command line of a start script, a unit or a hook'],
  'kv/engine/journal.ts': [1, 'a name in a journal of this program'],
  'kv/upgrade/window/window.ts': [1, 'the time of a flag or a cluster file'],
  'labels/sync-permissions.ts': [1, 'names of columns, each from a list'],
  'mock-server/labels/service.ts': [1, 'a header'],
  'mock-server/server.ts': [1, 'the name in a header'],
  'mock-server/tracker/search-match.ts': [1, 'the query of a URL'],
  'output/expressions.ts': [1, 'a program of a flag'],
  'output/page-text.ts': [1, 'an example in the help'],
  'platform/node/http1-answer.ts': [1, 'the size of a chunk'],
  'platform/node/programs.ts': [4, 'an environment variable'],
  'reference/completion.ts': [1, 'a line of a shell'],
  'support/raw-requests.ts': [1, 'the name of a flag'],
};
test('no pattern repeats a group in a text of unlimited size', () => {
  const root = new URL('../../src/', import.meta.url);
  const isComment = /^\s*(?:\/\/|\/?\*)/;
  const isPattern = /\)(?:[*+]|\{\d+,\})/;
  const withoutClasses = (line: string): string => line.replaceAll(/\[(?:\\.|[^\]\\])*\]/g, '[]');
  const found = (readdirSync(root, { recursive: true }) as string[]).flatMap((path) => {
    if (!path.endsWith('.ts')) return [];
    const lines = readFileSync(new URL(path, root), 'utf8').split('\n');
    const count = lines.filter(
      (line) => isPattern.test(withoutClasses(line)) && !isComment.test(line),
    ).length;
    return count === 0 ? [] : [[path, count]];
  });
  const wanted = Object.entries(boundedTexts).map(([path, [lines]]) => [path, lines]);
  expect(found.sort(), 'Read such a text with a loop, as endOfQuotes does, or limit the repetition.').toEqual(
    wanted.sort(),
  );
});
