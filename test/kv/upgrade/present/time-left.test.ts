import { describe, expect, it } from 'vitest';
import {
  type Timing,
  emptyRun,
  runAfter,
  timingAfter,
} from '../../../../src/kv/upgrade/present/run-model.ts';
import { timeLeftText } from '../../../../src/kv/upgrade/present/plan-text.ts';
import { liveLines } from '../../../../src/kv/upgrade/present/live.ts';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { failedRun, goodRun } from '../events.ts';
import { partlyMade } from '../../../support/context.ts';

const timingOf = (events: readonly UpgradeEvent[]): Timing | undefined =>
  events.reduce<Timing | undefined>(timingAfter, undefined);
const isGate = (event: UpgradeEvent, member: string): boolean =>
  event.event === 'step-finished' && event.step.id === `${member}.gate`;
const upToFirst = goodRun.slice(0, goodRun.findIndex((event) => isGate(event, 'n2')) + 1);
const elapsed = upToFirst.at(-1)?.elapsed_ms ?? 0;

describe('the time that is left', () => {
  it('the remaining time is unknown before the first member has passed its health check', () => {
    expect(timeLeftText(timingOf(upToFirst.slice(0, -1)), 1)).toBeUndefined();
  });
  it('the remaining time is then that of the remaining members, and decreases', () => {
    const timing = timingOf(upToFirst);
    expect(timing?.left).toEqual(['n1']);
    expect(timing?.tookMs).toHaveLength(1);
    expect(timeLeftText(timing, elapsed)).toMatch(/^about \d.* left for 1 member, based on .+ so far$/);
    const begun = { ...(timing as Timing), begunAt: { n1: elapsed } };
    const ms = (text = '') => Number(/about ([\d.]+) s/.exec(text)?.[1]);
    expect(ms(timeLeftText(begun, elapsed + 2000))).toBeLessThan(ms(timeLeftText(begun, elapsed)));
  });
  it('the remaining time is in the table until the run is over', () => {
    const shown = (events: readonly UpgradeEvent[]): string =>
      liveLines(events.reduce(runAfter, emptyRun), { columns: 120, isColored: false, frame: 0 }).join('\n');
    expect(shown(upToFirst)).toContain(' left for 1 member');
    expect(shown(goodRun)).not.toContain(' left for ');
  });
  it('a reverted member counts as remaining, and a rollback has no estimate', () => {
    expect(timingOf(failedRun)?.left).toContain('n2');
    const back = goodRun.map((event) =>
      event.event === 'run-started' ? { ...event, action: 'rollback' as const } : event,
    );
    expect(timingOf(back)).toBeUndefined();
  });
});

describe('input of the remaining time', () => {
  const [begin] = goodRun as [UpgradeEvent & { event: 'run-started' }];
  const { plan } = begin;
  const step = (event: 'step-started' | 'step-finished', id: string, elapsed_ms: number, more: object = {}) =>
    partlyMade<UpgradeEvent>({
      ...{ event, at: '', elapsed_ms, number: 1, count: 1, ...more },
      step: plan.steps.find((one) => one.id === id),
    });
  const started = (id: string, ms: number) => step('step-started', id, ms);
  const finished = (id: string, ms: number, more?: object) => step('step-finished', id, ms, more);
  it('the estimate uses the first step of each member and the end of its health check', () => {
    expect(
      timingOf([begin, started('n2.snapshot', 10), started('n2.stop', 20), finished('n2.stop', 25)]),
    ).toMatchObject({ begunAt: { n2: 10 }, tookMs: [], left: ['n2', 'n1'] });
    expect(
      timingOf([begin, started('n2.snapshot', 10), finished('n2.gate', 60), started('confirm', 70)]),
    ).toEqual({ plan, begunAt: { n2: 10 }, tookMs: [50], left: ['n1'] });
  });
  it('the estimate ignores earlier work, and a health check with an unknown start', () => {
    const before = { was_done_before: true };
    expect(timingOf([begin, started('n2.snapshot', 10), finished('n2.gate', 60, before)])).toMatchObject({
      ...{ tookMs: [], left: ['n1'] },
    });
    expect(timingOf([begin, finished('n2.gate', 60)])).toMatchObject({ tookMs: [], left: ['n1'] });
    expect(timingOf([begin, finished('n2.gate', 60), started('n2.stop', 70)])).toMatchObject({ begunAt: {} });
  });
  it('the estimate of a reverted member restarts', () => {
    const reverting = { event: 'reverting', member: 'n2', reason: '', at: '', elapsed_ms: 70 } as const;
    expect(timingOf([begin, started('n2.stop', 10), finished('n2.gate', 60), reverting])).toMatchObject({
      ...{ begunAt: {}, left: ['n1', 'n2'] },
    });
    expect(timingOf([begin, started('n2.stop', 10), reverting])).toMatchObject({ left: ['n2', 'n1'] });
  });
  it('the estimate is empty before the run has started', () => {
    expect(timingOf([started('n2.stop', 10)])).toBeUndefined();
    expect(timeLeftText(undefined, 0)).toBeUndefined();
  });
  it('the text has the duration, the number of members, and the source', () => {
    const timing = { plan, begunAt: { n1: 5000 }, tookMs: [20_000, 40_000], left: ['n1'] };
    expect(timeLeftText({ ...timing, left: [] }, 5000)).toBeUndefined();
    const textAt = (elapsed: number) => timeLeftText(timing, elapsed) ?? '';
    expect(textAt(5000)).toMatch(/^about .* left for 1 member, based on 40\.0 s per member so far$/);
    expect(textAt(9_000_000)).toMatch(/^about 0.* left for 1 member/);
    const two = { ...timing, begunAt: {}, left: ['n2', 'n1'] };
    expect(timeLeftText(two, 9_000_000)).toMatch(/^about [1-9].* left for 2 members/);
    const both = { ...timing, begunAt: { n2: 1000, n1: 5000 }, left: ['n2', 'n1'] };
    expect(timeLeftText(both, 1000)).toBe(timeLeftText(two, 0));
  });
});
