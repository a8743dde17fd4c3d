import { expect, test } from 'vitest';
import { Answer, LastHead, parseHead } from '../../../src/platform/node/http1-answer.ts';
import { covers } from '../../support/covers.ts';
import { errorWith } from '../../support/facts.ts';

const head = (lines: readonly string[], method = 'GET') => parseHead(lines.join('\r\n'), method);

test('the parser returns status and headers: names in lower case, repeated ones joined, values trimmed', () => {
  const { status, headers } = head([
    'HTTP/1.1 201 Created',
    'X-Many: a',
    'x-many:b ',
    'Empty:',
    'constructor: c',
    'With-Colon: a:b',
  ]);
  expect(status).toBe(201);
  expect(headers).toEqual({ 'x-many': 'a, b', empty: '', constructor: 'c', 'with-colon': 'a:b' });
});

test('the first line of a repeated header with a single value counts, as in node:http', () => {
  const names = [
    'age',
    'content-type',
    'etag',
    'expires',
    'last-modified',
    'location',
    'retry-after',
    'server',
  ];
  for (const name of names) {
    const { headers } = head(['HTTP/1.1 429 Slow', `${name}: 1`, `${name}: 2`]);
    expect(headers).toEqual({ [name]: '1' });
  }
  expect(() => head(['HTTP/1.1 200 OK', 'content-length: 1', 'content-length: 1'])).toThrow(
    expect.objectContaining({ code: 'MALFORMED' }),
  );
});

test('an empty line before the status line is skipped, and a line without CR fails before the head ends', async () => {
  const answer = (...pieces: string[]) => {
    const socket = { pause: () => {}, resume: () => {}, destroy: () => {} };
    const made = new Answer('GET', socket);
    for (const piece of pieces) made.push(Buffer.from(piece));
    return made.reply;
  };
  const whole = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
  expect(await answer(`\r\n\r\n${whole}`)).toMatchObject({ status: 200 });
  expect(() => answer('HTTP/1.1 200 OK\ncontent-length: 0\n\n')).toThrow(
    expect.objectContaining({ code: 'MALFORMED' }),
  );
});

test('an interim response ends the connection only if it says so', async () => {
  const keptAfter = (...interim: string[]): number => {
    const made = new Answer('GET', { pause: () => {}, resume: () => {}, destroy: () => {} });
    made.push(
      Buffer.from(
        `${interim.join('')}HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 0\r\n\r\n`,
      ),
    );
    return made.keptMs;
  };
  const kept = keptAfter();
  expect(kept).toBeGreaterThan(0);
  expect(keptAfter('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')).toBe(kept);
  expect(keptAfter('HTTP/1.1 100 Continue\r\nConnection: Close\r\n\r\n')).toBe(0);
});

test('a head that follows another one on its connection is read as if it were the first', () => {
  const lines = ['a: 1', 'a: 12', 'a: ', 'b: 1', 'A: 1', 'date: x', 'date: y', 'content-length: 2'];
  const heads = lines.flatMap((one) => [
    [one],
    ...lines.map((two) => [one, two]),
    ...lines.map((three) => ['b: 1', three, one]),
  ]);
  const last = new LastHead();
  for (const fields of [...heads, ...heads.toReversed()]) {
    const text = ['HTTP/1.1 200 OK', ...fields].join('\r\n');
    const hasTwoLengths = fields.filter((line) => line.startsWith('content-length')).length > 1;
    if (!hasTwoLengths) expect(parseHead(text, 'GET', last)).toEqual(parseHead(text, 'GET'));
  }
});

test('a value may have tabs and bytes above ASCII', () => {
  expect(head(['HTTP/1.1 200 Tr\xe8s bien', 'x: a\tb \xfc']).headers).toEqual({ x: 'a\tb \xfc' });
});

/** RFC 9110 5.5, and node:http: a parser could read a value with such a character as two headers, or truncate it. */
test.each(
  Array.from({ length: 0x20 }, (_, code) => code)
    .concat(0x7f)
    .filter((code) => code !== 9),
)('the control character %i is refused in a value, a name and a reason', covers('defect/S4-5'), (code) => {
  const character = String.fromCharCode(code);
  const refusalOf = (...lines: string[]): unknown => {
    try {
      return head(lines);
    } catch (error) {
      return error;
    }
  };
  const ofTheHeader = { code: 'MALFORMED', message: expect.stringMatching(/header x\b/) };
  expect(refusalOf('HTTP/1.1 200 OK', `x: a${character}b`)).toMatchObject(ofTheHeader);
  expect(refusalOf('HTTP/1.1 200 OK', `x: a${character}`)).toMatchObject(ofTheHeader);
  expect(refusalOf('HTTP/1.1 200 OK', `x${character}: a`)).toMatchObject({ code: 'MALFORMED' });
  expect(refusalOf(`HTTP/1.1 200 O${character}K`)).toMatchObject({ code: 'MALFORMED' });
});

test.each([' b', '\tc', ' x: y', '\t: z'])(
  'a folded line is refused: %j',
  covers('defect/S4-6', 'defect/R-19'),
  (line) => {
    expect(() => head(['HTTP/1.1 200 OK', 'x-long: a', line])).toThrow(errorWith('MALFORMED', 'header'));
    expect(() => head(['HTTP/1.1 200 OK', line])).toThrow(errorWith('MALFORMED', 'header'));
  },
);

test.each<[string, readonly string[], string, number | string]>([
  ['a length', ['content-length: 12'], 'GET', 12],
  ['chunks', ['transfer-encoding: gzip, Chunked'], 'GET', 'chunked'],
  ['another coding', ['transfer-encoding: gzip'], 'GET', 'to-end'],
  ['neither', [], 'GET', 'to-end'],
  ['HEAD', ['content-length: 12'], 'HEAD', 0],
])('%s: how the body ends', (_, lines, method, framing) => {
  expect(head(['HTTP/1.1 200 OK', ...lines], method).framing).toBe(framing);
});

test.each([204, 304])('%i never has a body', (status) => {
  expect(head([`HTTP/1.1 ${status} x`, 'content-length: 12']).framing).toBe(0);
});

test.each<[string, readonly string[], number]>([
  ['1.1', ['content-length: 0'], 1000],
  ['1.1', ['content-length: 0', 'connection: Close'], 0],
  ['1.1', ['content-length: 0', 'keep-alive: timeout=72, max=5'], 71_000],
  ['1.1', ['content-length: 0', 'keep-alive: timeout=1'], 0],
  ['1.1', ['content-length: 0', 'keep-alive: max=5'], 1000],
  ['1.1', [], 0],
  ['1.0', ['content-length: 0'], 0],
  ['1.0', ['content-length: 0', 'connection: keep-alive'], 1000],
])('HTTP/%s with %j: the connection waits %i ms for the next request', (version, lines, ms) => {
  expect(head([`HTTP/${version} 200 OK`, ...lines]).keptMs).toBe(ms);
});

test.each([
  [['220 mail ready'], /no status line/],
  [['HTTP/2 200 OK'], /no status line/],
  [['HTTP/1.1 2000 OK'], /no status line/],
  [['HTTP/1.1 200 OK', 'no colon'], /no name/],
  [['HTTP/1.1 200 OK', ': no name'], /no name/],
  [['HTTP/1.1 200 OK', 'content-length : 5'], /no name/],
  [['HTTP/1.1 200 OK', 'content-length: 5', 'transfer-encoding: chunked'], /two lengths/],
  [['HTTP/1.1 200 OK', 'content-length: 5', 'content-length: 6'], /not a number/],
  [['HTTP/1.1 200 OK', 'content-length: -5'], /not a number/],
  [['HTTP/1.1 200 OK', 'content-length: 0x5'], /not a number/],
])('%j is refused', (lines, message) => {
  expect(() => head(lines)).toThrow(message);
});
