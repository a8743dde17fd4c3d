/** The HTTP/1.1 reader, compared with llhttp, which is the reader of node:http. */
import { request } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { Answer } from '../../src/platform/node/http1-answer.ts';
import type { Random } from '../simulator/kernel/random.ts';
import { type Outcome, compareReaders, piecesOf } from './cases.ts';

type Case = { readonly method: string; readonly text: string };
type Response = { status: number; headers: Readonly<Record<string, string>>; body: string };

const readOwn = async ({ method, text }: Case, random: Random): Promise<Outcome> => {
  let isDestroyed = false;
  const answer = new Answer(method, {
    pause: () => undefined,
    resume: () => undefined,
    destroy: () => {
      isDestroyed = true;
    },
  });
  const response = (async (): Promise<Response> => {
    const { status, headers, body } = await answer.reply;
    const parts: Uint8Array[] = [];
    if (body instanceof Uint8Array) parts.push(body);
    else for await (const part of body ?? []) parts.push(part);
    return { status, headers, body: Buffer.concat(parts).toString('latin1') };
  })();
  response.catch(() => undefined);
  try {
    for (const piece of piecesOf(Buffer.from(text, 'latin1'), random)) {
      if (answer.isDone || isDestroyed) break;
      answer.push(piece);
    }
    if (!answer.isDone) answer.end();
  } catch (error) {
    answer.fail(error as Error);
  }
  return response.then(
    (value) => ({ value }),
    (error: Error & { code?: string }) => {
      if (error.code !== 'MALFORMED' && error.code !== 'ECONNRESET') throw error;
      return 'rejected' as const;
    },
  );
};

const joined = (raw: readonly string[]): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (let i = 0; i < raw.length; i += 2) {
    const [name, value] = [String(raw[i]).toLowerCase(), String(raw[i + 1])];
    if (!Object.hasOwn(headers, name)) headers[name] = value;
    // As in node:http, the first line of a header with a single value counts.
    else if (name !== 'etag') headers[name] = `${headers[name]}, ${value}`;
  }
  return headers;
};
const readWithNode = ({ method, text }: Case): Promise<Outcome> =>
  new Promise((resolve) => {
    const socket = new Duplex({
      read: () => undefined,
      write: (_, __, done) => {
        done();
      },
    });
    const client = request({ method, path: '/', host: 'h', createConnection: () => socket as never });
    const reject = (): void => {
      resolve('rejected');
      client.destroy();
    };
    let isWhole = (): boolean => false;
    // Bytes after a whole response are an error of the connection, not of the response.
    client.on('error', () => {
      if (!isWhole()) reject();
    });
    client.on('upgrade', reject);
    client.on('response', (response) => {
      isWhole = () => response.complete;
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('aborted', reject);
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          value: {
            status: response.statusCode,
            headers: joined(response.rawHeaders),
            body: Buffer.concat(parts).toString('latin1'),
          },
        });
        client.destroy();
      });
    });
    client.end();
    setImmediate(() => {
      socket.push(Buffer.from(text, 'latin1'));
      socket.push(null);
    });
  });

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200',
  'HTTP/1.0 200 OK',
];
const RARE_LINES = [
  ...['HTTP/1.1 204 No', 'HTTP/1.1 304 Not', 'HTTP/1.1 404 \xe9', 'HTTP/1.1 100 Continue', 'HTTP/1.1 099 X'],
  ...[
    'HTTP/2.0 200 OK',
    'HTTP/1.1  200 OK',
    'http/1.1 200 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 20',
    'ICY 200 OK',
  ],
  ...['HTTP/1.1 200 \x01', 'HTTP/1.2 200 OK', 'HTTP/1.1\t200 OK', 'HTTP/1.1 999 X', 'HTTP/1.1 101 Switch'],
];
const NAMES = [
  'x-a',
  'Content-Length',
  'content-length',
  'Transfer-Encoding',
  'Connection',
  'set-cookie',
  'X_B',
  'etag',
];
const RARE_NAMES = ['x a', 'x-a ', ' x-a', '', 'x\x00', 'x\xe9', 'content-length\t', 'x(', '"x"'];
const VALUES = [
  '1',
  '3',
  '5',
  'chunked',
  'gzip, chunked',
  'close',
  'keep-alive',
  'text',
  'a=b; c',
  '\xe9',
  '',
];
const RARE_VALUES = [
  ...[
    '+3',
    '-3',
    '0x3',
    '3, 3',
    '3,5',
    '3 3',
    '99999999999999999999',
    'chunked, gzip',
    'xchunked',
    'chunked,',
  ],
  ...[
    'Chunked',
    'a\x00b',
    'a\x01b',
    'a\rb',
    'a\x7fb',
    ' 3',
    '3.0',
    '\u00a03',
    'chunked\u00a0',
    ',chunked',
    '\x0b3',
  ],
];
const SPACES = [' ', ' ', ' ', '', '\t', '  ', ' \t'];
const RARE_SPACES = ['\xa0', '\x0b', '\x0c', '\x85'];
const ENDS = ['\r\n'];
const RARE_ENDS = ['\n', '\r', '\r\r\n', '\r\n ', '\r\n\t'];
const CHUNKS = [
  '3\r\nabc\r\n',
  '03\r\nabc\r\n',
  'A\r\n0123456789\r\n',
  '1;x=y\r\nz\r\n',
  '0\r\n\r\n',
  '0\r\n\r\n',
];
const RARE_CHUNKS = [
  ...[
    '3 \r\nabc\r\n',
    '3\nabc\r\n',
    '3\r\nabcd\r\n',
    '3\r\nab',
    ' 3\r\nabc\r\n',
    'g\r\n',
    '-1\r\n',
    '0x3\r\nabc\r\n',
  ],
  ...[
    '0\r\nx: y\r\n\r\n',
    '0\r\nx y\r\n\r\n',
    '\r\n',
    '3;\r\nabc\r\n',
    '3;x="y"\r\nabc\r\n',
    ...['ö', 'x=ö', 'x="ö"', 'x', 'x=y;z="\\""', 'x=', 'x y', 'x="y', ';x', '=y', 'x=y"z"'].map(
      (extension) => `3;${extension}\r\nabc\r\n`,
    ),
    '0\r\n',
    '3\r\nabc\n',
  ],
];
const pick = (random: Random, usual: readonly string[], rare: readonly string[], share: number): string =>
  random.pick(random.chance(share) ? rare : usual);
/** A response that is mostly valid; `share` is the share of unusual parts. */
const caseFrom = (random: Random): Case => {
  const share = random.pick([0, 0.02, 0.08, 0.25]);
  const end = (): string => pick(random, ENDS, RARE_ENDS, share / 3);
  const lines = Array.from({ length: random.below(5) }, () => {
    const space = (): string => pick(random, SPACES, RARE_SPACES, share);
    return `${pick(random, NAMES, RARE_NAMES, share)}:${space()}${pick(random, VALUES, RARE_VALUES, share)}${random.chance(0.2) ? space() : ''}${end()}`;
  });
  const usual = random.chance(0.4) ? [random.pick(['content-length: 3', 'transfer-encoding: chunked'])] : [];
  const chunks = Array.from({ length: random.below(5) }, () => pick(random, CHUNKS, RARE_CHUNKS, share));
  const body = random.chance(0.5)
    ? chunks.join('')
    : random.pick(['', 'abc', 'abcdef', 'HTTP/1.1 200 OK\r\n\r\n']);
  let text = `${pick(random, STATUS_LINES, RARE_LINES, share)}${end()}${lines.join('')}${usual.map((one) => `${one}\r\n`).join('')}${end()}${body}`;
  if (random.chance(share)) {
    const at = random.below(text.length);
    text = random.chance(0.5)
      ? text.slice(0, at)
      : `${text.slice(0, at)}${String.fromCharCode(random.below(256))}${text.slice(at + random.below(2))}`;
  }
  return { method: random.pick(['GET', 'GET', 'GET', 'HEAD', 'DELETE']), text };
};

/** A chunk with an extension that is not a name, or a name with a token or a quoted text. */
const BAD_EXTENSION =
  /\n[0-9a-f]+;(?!(?:[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\\r\n]|\\.)*"))?(?:;(?!\r)|(?=\r)))*\r\n)/i;
/** Cases in which the reader is stricter than llhttp, or follows the RFC and llhttp does not. Each pattern describes the text of the case. */
const STRICTER: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^[\r\n]/, 'a response starts with its status line (RFC 9112 2.2)'],
  [/^HTTP\/1\.[01] [^\n]*\r[^\n]/, 'a line ends with CR LF (RFC 9112 2.2)'],
  [/^HTTP\/(?!1\.[01] )/, 'only HTTP/1.0 and HTTP/1.1 are spoken (RFC 9112 2.3)'],
  [/^HTTP\/1\.[01] 0/, 'a status below 100 does not exist (RFC 9110 15)'],
  [
    /^HTTP\/1\.[01] \d{3} [^\r\n]*[^\t\x20-\x7e\x80-\xff\r\n]/,
    'a reason has no control character (RFC 9112 4)',
  ],
  [
    /^(?:HTTP\/1\.[01] 1[\s\S]*?\r\n\r\n)*HTTP\/1\.[01] 101/,
    'no request asks for another protocol (RFC 9110 15.2.2)',
  ],
  [BAD_EXTENSION, 'an extension of a chunk has a name, and a value after its equals sign (RFC 9112 7.1.1)'],
  [
    /\ntransfer-encoding:[ \t]*\r\n[\s\S]*content-length|content-length[\s\S]*\ntransfer-encoding:[ \t]*\r\n/i,
    'a body has one length (RFC 9112 6.1)',
  ],
];
const choiceOf = ({ text }: Case, own: Outcome): string | undefined => {
  // llhttp rejects a content length before a tab, and reads a body after `chunked` and a tab to the end.
  if (/\n(?:content-length:[ \t]*\d+|transfer-encoding:[^\r\n]*chunked)[ \t]*\t[ \t]*\r\n/i.test(text))
    return 'a tab after a value is white space (RFC 9110 5.6.3)';
  if (/\ntransfer-encoding:[^\r\n]*chunked[ \t]*,[ \t,]*\r\n/i.test(text))
    return 'an empty member of a list has no meaning (RFC 9110 5.6.1)';
  // llhttp rejects the final response then. Any interim response ends with its head (RFC 9112 6.3), and another follows it.
  if (/^HTTP\/1\.[01] 1\d\d(?:(?!\r\n\r\n)[\s\S])*\r\nconnection:[^\r\n]*close/i.test(text))
    return 'a connection closes after its final response (RFC 9110 15.2)';
  return own === 'rejected' ? STRICTER.find(([pattern]) => pattern.test(text))?.[1] : undefined;
};

test.each(['close', 'Keep-Alive, Close'])('a connection is not used again after 100 with %s', (value) => {
  const answer = new Answer('GET', { pause: () => {}, resume: () => {}, destroy: () => {} });
  answer.push(
    Buffer.from(
      `HTTP/1.1 100 Continue\r\nConnection: ${value}\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
    ),
  );
  expect(answer.isDone).toBe(true);
  expect(answer.keptMs).toBe(0);
});

test('the HTTP/1.1 reader agrees with llhttp', async () => {
  const result = await compareReaders({
    name: 'HTTP/1.1',
    generate: caseFrom,
    show: (input) => JSON.stringify(input),
    own: readOwn,
    reference: readWithNode,
    choice: choiceOf,
  });
  expect(result.differences).toEqual([]);
  expect(result.accepted).toBeGreaterThan(result.cases / 4);
  expect(result.rejected).toBeGreaterThan(result.cases / 10);
}, 3_600_000);
