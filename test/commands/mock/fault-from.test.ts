import { expect, test } from 'vitest';
import { faultFrom } from '../../../src/commands/mock/faults.ts';
import { AppError } from '../../../src/core/problem.ts';

const problemsOf = (act: () => unknown): readonly string[] => {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError) return (error.detail.problems ?? []).map(({ path }) => path);
    throw error;
  }
  return [];
};

test('flags become the fields of a fault', () => {
  expect(
    faultFrom({
      method: 'PUT',
      header: ['Retry-After=3', 'X-Sum=a=b'],
      delay: '100ms..2s',
      'bytes-per-second': 10,
      'content-type': 'text/html',
    }),
  ).toEqual({
    method: 'PUT',
    headers: { 'retry-after': '3', 'x-sum': 'a=b' },
    delay_ms: 100,
    delay_max_ms: 2000,
    bytes_per_second: 10,
    content_type: 'text/html',
  });
});

test('a header without a name and a delay that shrinks are refused', () => {
  expect(problemsOf(() => faultFrom({ header: ['=3'] }))).toEqual(['--header']);
  expect(problemsOf(() => faultFrom({ delay: '2s..100ms' }))).toEqual(['--delay']);
});
