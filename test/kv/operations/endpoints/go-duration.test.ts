import { describe, expect, it } from 'vitest';
import { goDuration } from '../../../../src/kv/operations/endpoints.ts';

describe('times as the tools of the store print them', () => {
  it.each([
    [2.257987, '2.257987ms'],
    [0.5123, '512.3µs'],
    [12, '12ms'],
    [1500, '1.5s'],
    [123_500, '2m3.5s'],
    [0, '0µs'],
  ])('%d ms is %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });
});
