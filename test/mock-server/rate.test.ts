import { describe, expect, it } from 'vitest';
import { makeRate } from '../../src/mock-server/faults.ts';

const limited = (perMinute: number) => {
  const clock = { ms: 1_000_000 };
  const rate = makeRate(perMinute, () => clock.ms);
  const takeMany = (count: number, token = 'a'): boolean[] =>
    Array.from({ length: count }, () => rate.take(token) === undefined);
  return { clock, rate, takeMany };
};

describe('the rate limit', () => {
  it('lets 200 through in a minute and refuses the 201st', () => {
    const { rate, takeMany } = limited(200);
    expect(takeMany(200).every(Boolean)).toBe(true);
    expect(rate.take('a')).toEqual({ waitMs: 60_000 });
  });
  it('slides: one more for each that is a minute old', () => {
    const { clock, rate, takeMany } = limited(3);
    takeMany(1);
    clock.ms += 10_000;
    takeMany(2);
    clock.ms += 49_999;
    expect(rate.take('a')).toEqual({ waitMs: 1 });
    clock.ms += 1;
    expect(takeMany(2)).toEqual([true, false]);
    clock.ms += 10_000;
    expect(takeMany(3)).toEqual([true, true, false]);
  });
  it('does not count what it refused', () => {
    const { clock, takeMany } = limited(2);
    takeMany(2);
    clock.ms += 30_000;
    expect(takeMany(50).some(Boolean)).toBe(false);
    clock.ms += 30_000;
    expect(takeMany(2)).toEqual([true, true]);
  });
  it('every token has a separate rate limit', () => {
    const { takeMany } = limited(2);
    expect(takeMany(3, 'a')).toEqual([true, true, false]);
    expect(takeMany(3, 'b')).toEqual([true, true, false]);
  });
  it('the rate limit restarts when the clock is set back', () => {
    const { clock, takeMany } = limited(2);
    takeMany(2);
    clock.ms -= 86_400_000;
    expect(takeMany(3)).toEqual([true, true, false]);
  });
  it('forgets tokens that have been quiet', () => {
    const { clock, rate, takeMany } = limited(1);
    for (let i = 0; i < 5000; i++) rate.take(`token ${i}`);
    clock.ms += 60_000;
    expect(takeMany(2, 'token 1')).toEqual([true, false]);
  });
});
