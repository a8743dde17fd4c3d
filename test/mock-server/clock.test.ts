import { describe, expect, it } from 'vitest';
import { makeClock } from '../../src/mock-server/service-set.ts';
import { Store } from '../../src/mock-server/store.ts';

const at = (text: string) => Date.parse(text);
const machine = () => {
  const time = { ms: at('2026-01-01T00:00:00Z') };
  const store = new Store();
  return { time, store, clock: makeClock(store, () => time.ms) };
};

describe('the settable clock', () => {
  it('the clock follows the machine until it is set', () => {
    const { clock, time } = machine();
    time.ms += 5;
    expect(clock.now()).toBe(time.ms);
    expect(clock.state()).toEqual({ time: '2026-01-01T00:00:00.005Z', offset_ms: 0, frozen: false });
  });
  it('runs on from where it was set', () => {
    const { clock, time } = machine();
    clock.set(at('2030-06-01T00:00:00Z'));
    time.ms += 1000;
    expect(clock.state()).toMatchObject({ time: '2030-06-01T00:00:01.000Z', frozen: false });
  });
  it('advances, running or frozen', () => {
    const { clock, time } = machine();
    clock.advance(86_400_000);
    expect(clock.state().time).toBe('2026-01-02T00:00:00.000Z');
    clock.set(at('2027-01-01T00:00:00Z'), true);
    time.ms += 5000;
    clock.advance(1000);
    time.ms += 5000;
    expect(clock.state()).toMatchObject({ time: '2027-01-01T00:00:01.000Z', frozen: true });
  });
  it("the clock can return to the machine's time", () => {
    const { clock, time } = machine();
    clock.advance(1e9);
    clock.clear();
    expect(clock.now()).toBe(time.ms);
  });
  it('the clock is part of the state', () => {
    const { clock, store, time } = machine();
    clock.advance(60_000);
    expect(makeClock(store, () => time.ms).now()).toBe(time.ms + 60_000);
  });
});
