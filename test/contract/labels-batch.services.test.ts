import { beforeAll, expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../support/labels-server.ts';

let server: LabelServer;
beforeAll(async () => {
  server = await labelServer();
});

const post = async (parts: readonly string[], type = 'multipart/mixed; boundary="===b==="') => {
  const body = `${parts.map((part) => `--===b===\r\n${part}\r\n`).join('')}--===b===--`;
  const headers = { authorization: 'Bearer any-token', 'content-type': type };
  const reply = await fetch(`${server.mock.origin}/batch`, { method: 'POST', headers, body });
  return { status: reply.status, type: reply.headers.get('content-type') ?? '', text: await reply.text() };
};
const part = (id: string, request: string): string =>
  `Content-Type: application/http\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: binary\r\nContent-ID: <b29c5de2 + ${id}>\r\n\r\n${request}`;
const title = '{"labelType":"SHARED","properties":{"title":"Batched"}}';

// source: document, rule
test('every call of a batch gets its response by its ID, and a rejected call does not stop others', async () => {
  const reply = await post([
    part(
      '1',
      `POST /v2beta/labels HTTP/1.1\r\nContent-Type: application/json\r\ncontent-length: ${title.length}\r\n\r\n${title}`,
    ),
    part('2', 'GET /v2beta/labels/nothing HTTP/1.1\r\n\r\n'),
    part('3', 'GET /v2beta/labels?fields=labels(properties/title)&prettyPrint=false HTTP/1.1\r\n'),
  ]);
  expect([reply.status, reply.type]).toEqual([200, expect.stringMatching(/^multipart\/mixed; boundary=/)]);
  const boundary = /boundary=(.*)$/.exec(reply.type)?.[1] ?? '';
  const answers = reply.text.split(`--${boundary}`).slice(1, -1);
  expect(answers.map((one) => /Content-ID: (.*)\r/.exec(one)?.[1])).toEqual([
    '<response-b29c5de2 + 1>',
    '<response-b29c5de2 + 2>',
    '<response-b29c5de2 + 3>',
  ]);
  expect(answers.map((one) => /HTTP\/1\.1 (\d+)/.exec(one)?.[1])).toEqual(['200', '404', '200']);
  expect(answers[2]).toContain('{"labels":[{"properties":{"title":"Batched"}}]}');
});

// source: rule
test('a header of a call may follow its colon without a space', async () => {
  const request = 'GET /v2beta/labels HTTP/1.1\r\n';
  const reply = await post([`Content-Type:application/http\r\nContent-ID:7\r\n\r\n${request}`]);
  expect(/Content-ID: .*response-(.*?)>?\r/.exec(reply.text)?.[1]).toBe('7');
});

// source: rule, choice
test.each([
  ['no multipart', ['x'], 'application/json'],
  ['no parts', [], undefined],
  ['a part that is no request', [part('1', 'hello')], undefined],
  [
    'more than 100 calls',
    Array.from({ length: 101 }, (_, i) => part(String(i), 'GET /v2beta/labels HTTP/1.1')),
    undefined,
  ],
] as const)('%s is a 400', async (_, parts, type) => {
  const reply = await post(parts, type);
  expect([reply.status, JSON.parse(reply.text).error.status]).toEqual([400, 'INVALID_ARGUMENT']);
});

// source: document, choice
test('a call without a token uses the token of the batch; without both it is rejected', async () => {
  const body = `--b\r\n${part('1', 'GET /v2beta/labels HTTP/1.1\r\n')}\r\n--b--`;
  const headers = { 'content-type': 'multipart/mixed; boundary=b' };
  const reply = await fetch(`${server.mock.origin}/batch`, { method: 'POST', headers, body });
  expect(await reply.text()).toContain('HTTP/1.1 401 Unauthorized');
});
