import { expect, test } from 'vitest';
import { bodyBytes, keptBody, readCassette } from '../../src/mock-server/cassette/cassette.ts';
import { redactedBody } from '../../src/core/redact-secrets.ts';
import { fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';

const request = { method: 'GET', path: '/', query: '', headers: {} };
const read = (exchange: unknown) => {
  const head = '{"opsctl_cassette":1,"upstream":"http://a"}';
  const { files } = fakeHost({ files: { '/c': `${head}\n${JSON.stringify(exchange)}\n` } });
  return readCassette(files, '/c');
};

test.each([{}, { text: 5 }, { base64: null }, [], 'x'])('a body that cannot be played: %j', async (body) => {
  await expect(read({ request, response: { status: 200, headers: {}, body } })).rejects.toMatchObject({
    category: 'usage',
    message: naming('/c', '2', 'response'),
  });
});
test.each([undefined, { text: '' }, { json: null }, { base64: 'AA==' }])(
  'a body that can: %j',
  async (body) => {
    expect((await read({ request, response: { status: 200, headers: {}, body } })).exchanges).toHaveLength(1);
  },
);

test('a cassette keeps numbers that JavaScript would round', async () => {
  const text = '{"id":12345678901234567890,"ratio":1.5}';
  const kept = keptBody(Buffer.from(text), 'application/json');
  expect(bodyBytes(kept)).toBe(text);
  const head = '{"opsctl_cassette":1,"upstream":"http://a"}';
  const line = JSON.stringify({ request, response: { status: 200, headers: {} } }).replace(
    '"headers":{}}}',
    `"headers":{},"body":{"json":${text}}}}`,
  );
  const { files } = fakeHost({ files: { '/c': `${head}\n${line}\n` } });
  const [exchange] = (await readCassette(files, '/c')).exchanges;
  expect(bodyBytes(exchange?.response.body)).toBe(text);
});

const nest = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
test.each([1, 197, 198, 200, 230, 1000])('a body of %i nested lists can be played', async (levels) => {
  const body = keptBody(Buffer.from(nest(levels)), 'application/json');
  const [exchange] = (await read({ request, response: { status: 200, headers: {}, body } })).exchanges;
  expect(bodyBytes(exchange?.response.body)).toBe(nest(levels));
  expect(exchange?.response.body).toHaveProperty(levels > 197 ? 'text' : 'json');
});
test('a body of any depth is kept without its secrets', () => {
  const deep = (word: string): string => nest(100_000).replace('[]', `[{"token":"${word}"}]`);
  expect(keptBody(Buffer.from(deep('hidden')), 'application/json')).toEqual({ text: deep('***') });
});
test('a masked body keeps its long numbers, its negative zero and both of two equal keys', () => {
  const body = (word: string): string =>
    `{"id":9007199254740993,"n":-0,"token":"${word}","token":"${word}2"}`;
  const shown = body('***').replace('***2', '***');
  expect(redactedBody(body('hidden'))).toBe(shown);
  const kept = keptBody(Buffer.from('{"id":9007199254740993,"n":-0,"token":"hidden"}'), 'application/json');
  expect(bodyBytes(kept)).toBe('{"id":9007199254740993,"n":-0,"token":"***"}');
});
test('a line that JSON has and the reader refuses is not called invalid JSON', async () => {
  const body = { json: JSON.parse(nest(198)) };
  const refusal = expect(read({ request, response: { status: 200, headers: {}, body } })).rejects;
  await refusal.toMatchObject({ message: naming('/c:2', 'line', 'column 314', 'nested', 200) });
});
