import { describe, expect, it } from 'vitest';
import { emptyState, liveAfter } from '../../../src/kv-upgrade/live/live-state.ts';
import { liveLines } from '../../../src/kv-upgrade/live/live-table.ts';
import { timeLeftText, timingAfter } from '../../../src/kv-upgrade/live/time-left.ts';
import type { Timing } from '../../../src/kv-upgrade/live/time-left.ts';
import type { UpgradeEvent } from '../../../src/kv-upgrade/types.ts';
import { failedRun, goodRun } from '../events.ts';

const timingOf = (events: readonly UpgradeEvent[]): Timing | undefined =>
  events.reduce<Timing | undefined>(timingAfter, undefined);
const isGate = (event: UpgradeEvent, member: string): boolean =>
  event.event === 'step-finished' && event.step.id === `${member}.gate`;
const upToFirst = goodRun.slice(0, goodRun.findIndex((event) => isGate(event, 'n2')) + 1);
const elapsed = upToFirst.at(-1)?.elapsed_ms ?? 0;

describe('the time that is left', () => {
  it('is not known before the first member has passed its gate', () => {
    expect(timeLeftText(timingOf(upToFirst.slice(0, -1)), 1)).toBeUndefined();
  });
  it('is then that of the members that are left, and gets shorter', () => {
    const timing = timingOf(upToFirst);
    expect(timing?.left).toEqual(['n1']);
    expect(timing?.tookMs).toHaveLength(1);
    expect(timeLeftText(timing, elapsed)).toMatch(
      /^about \d.* left for 1 member, as members took .+ so far$/,
    );
    const begun = { ...(timing as Timing), begunAt: { n1: elapsed } };
    const ms = (text = '') => Number(/about ([\d.]+) s/.exec(text)?.[1]);
    expect(ms(timeLeftText(begun, elapsed + 2000))).toBeLessThan(ms(timeLeftText(begun, elapsed)));
  });
  it('stands in the table until the run is over', () => {
    const shown = (events: readonly UpgradeEvent[]): string =>
      liveLines(events.reduce(liveAfter, emptyState), { columns: 120, isColored: false, frame: 0 }).join(
        '\n',
      );
    expect(shown(upToFirst)).toContain(' left for 1 member');
    expect(shown(goodRun)).not.toContain(' left for ');
  });
  it('counts a member that was rolled back as one that is left, and nothing in a rollback', () => {
    expect(timingOf(failedRun)?.left).toContain('n2');
    const back = goodRun.map((event) =>
      event.event === 'run-started' ? { ...event, action: 'rollback' as const } : event,
    );
    expect(timingOf(back)).toBeUndefined();
  });
});
