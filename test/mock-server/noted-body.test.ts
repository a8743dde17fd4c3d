import { expect, test } from 'vitest';
import { createBodyLog, bodyText } from '../../src/mock-server/request-log.ts';
import type { LogEntry } from '../../src/mock-server/service-set.ts';

const noted = (number: number): LogEntry => ({
  number,
  atMs: 0,
  method: 'POST',
  path: '/',
  query: '',
  headers: {},
  bodyIn: undefined,
  bodyAt: 0,
  bodyBytes: undefined,
  service: undefined,
  fault: undefined,
  status: undefined,
  tookUs: undefined,
});

test('every request finds its own body in any block', () => {
  const note = createBodyLog();
  const bodies = Array.from({ length: 100 }, (_, i) => `${i} é ${'x'.repeat((i * 41) % 4000)}`);
  const all = bodies.map((text, i) => {
    const one = noted(i);
    const bytes = Buffer.from(text);
    note(one, bytes);
    // The next request reuses the buffer of the body.
    bytes.fill(0);
    return one;
  });
  expect(new Set(all.map(({ bodyIn }) => bodyIn)).size).toBeGreaterThan(1);
  expect(all.map(bodyText)).toEqual(bodies);
});

test('a body of 4,096 bytes is kept, a longer one counted; empty and missing bodies differ', () => {
  const note = createBodyLog();
  const texts = [4096, 4097, 0].map((length) => {
    const one = noted(1);
    note(one, new Uint8Array(length).fill(97));
    expect(one.bodyBytes).toBe(length);
    return bodyText(one);
  });
  expect(texts).toEqual(['a'.repeat(4096), undefined, '']);
  expect(bodyText(noted(1))).toBeUndefined();
});
