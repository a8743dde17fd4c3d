import { expect, test } from 'vitest';
import { checkMethod, headerLines } from '../../../src/platform/node/http1.ts';

test('names in lower case, the connection kept, the length left to the sender', () => {
  const linesOf = headerLines();
  expect(linesOf({ Accept: 'a', 'Content-Length': '5', 'Transfer-Encoding': 'chunked' })).toEqual({
    text: 'accept: a\r\nconnection: keep-alive\r\n',
    hasHost: false,
    isAscii: true,
    length: '5',
  });
  expect(linesOf({ host: 'h', connection: 'close' })).toMatchObject({
    text: 'host: h\r\nconnection: close\r\n',
    hasHost: true,
  });
  expect(linesOf({ 'x-name': 'é' }).isAscii).toBe(false);
  expect(linesOf(undefined).text).toBe('connection: keep-alive\r\n');
});

test('equal headers are serialized once', () => {
  const linesOf = headerLines();
  const headers = { a: '1' };
  expect(linesOf(headers)).toBe(linesOf(headers));
  expect(linesOf({ a: '1' })).not.toBe(linesOf(headers));
});

test.each(['', 'a b', 'a\nb: c', 'é'])('a header name that cannot be sent: %j', (name) => {
  expect(() => headerLines()({ [name]: 'x' })).toThrow('cannot be sent');
});

test.each(['GET / HTTP/1.1\r\nx: y', '', 'A B'])('a method that cannot be sent: %j', (method) => {
  expect(() => checkMethod(method)).toThrow('cannot be sent');
});
