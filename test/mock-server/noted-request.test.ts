import { expect, test } from 'vitest';
import { headersOnce, textOnce } from '../../src/mock-server/request-log.ts';

test('headers that a client repeats are kept once; any difference is kept', () => {
  const once = headersOnce();
  const first = once({ host: 'a', 'content-length': '9' });
  expect(once({ host: 'a', 'content-length': '9' })).toBe(first);
  for (const other of [
    { host: 'b', 'content-length': '9' },
    { host: 'b' },
    { host: 'b', 'content-length': '9', accept: '*/*' },
    { 'content-length': '9', accept: 'x' },
    {},
  ])
    expect(once(other)).toBe(other);
  expect(first).toEqual({ host: 'a', 'content-length': '9' });
});

test('a text that repeats is kept once', () => {
  const once = textOnce();
  expect(['/a', '/a', '/b', '', '/a'].map(once)).toEqual(['/a', '/a', '/b', '', '/a']);
});
