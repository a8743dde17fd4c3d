/** The view for a maintenance window: fitting content, unobserved values and drawing. */
import { describe, expect, it } from 'vitest';
import { fullScreen, redraw } from '../../../../src/kv/upgrade/present/live.ts';
import { type TopLook, topLines } from '../../../../src/kv/upgrade/present/status.ts';
import type { FoundRun } from '../../../../src/kv/engine/journal.ts';
import { asciiSigns } from '../../../../src/output/types.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';

const look = (columns = 100, rows = 40): TopLook => ({ columns, rows, isColored: false, hasKeys: true });
const plan = planned();
const run = partlyMade<FoundRun>({
  run: '20260101T000000Z-1',
  directory: '/runs/1',
  entries: [
    {
      kind: 'opened',
      at: '',
      run: '1',
      action: 'upgrade',
      plan,
      owner: { host: 'h', pid: 1 },
      cluster_file: 'c',
    },
    { kind: 'begin', at: '', step: plan.steps[0]?.id },
    { kind: 'end', at: '', step: plan.steps[0]?.id },
    { kind: 'begin', at: '', step: plan.steps[1]?.id },
  ],
});
const state = {
  observation: observed([seen('n1'), seen('n2', { raft_index: 40 }), away('n3')]),
  run,
  worker: 'in progress on h',
};

describe('kv top', () => {
  it('shows members, leader, lag, sizes, alarms, the run and the keys', () => {
    const text = topLines(state, look()).join('\n');
    expect(text).toMatch(/n1 +leader +3\.3\.25 +0 /);
    expect(text).toMatch(/n2 +follower +3\.3\.25 +60 /);
    expect(text).toMatch(/n3 +down +\? +\? +\? +\? +\?/);
    expect(text).toContain(`1 of ${plan.steps.length} steps, in progress on h`);
    expect(text).toMatch(/^✓▶·+$/m);
    expect(text).toContain(`now: ${plan.steps[1]?.title}`);
    expect(text).toContain('q quit');
  });
  it('kv top shows alarms by member, and reports when no member responds', () => {
    const alarms = [{ member_id: '1002', alarm: 'NOSPACE' as const }];
    expect(topLines({ observation: observed(undefined, { alarms }) }, look()).join('\n')).toContain(
      'alarm NOSPACE by n2',
    );
    const dark = topLines({ observation: observed([away('n1')]) }, look()).join('\n');
    expect(dark).toContain('alarms ?: no member responds');
    expect(dark).not.toContain('no alarm is raised');
  });
  it.each([40, 60, 80, 120, 200])('fits into %i columns and keeps name and role', (columns) => {
    const canary = { writes: 123_456, failed: 2, lastMs: 3, longestGapMs: 900 };
    const lines = topLines({ ...state, canary, message: 'x'.repeat(300) }, look(columns));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    expect(lines.join('\n')).toMatch(/n2 +follower/);
  });
  it('kv top never has more lines than the terminal, and the keys are the last', () => {
    const lines = topLines(state, look(80, 6));
    expect([lines.length, lines.at(-1)]).toEqual([6, expect.stringContaining('q quit')]);
  });
  const hostile = [
    '\u001b]0;title\u0007',
    '\u001b[2J',
    '\u009b2J',
    'a\rb',
    'a\nb',
    'a\u202eb',
    'a\u200bb',
    '\u001b[31mred',
  ];
  it.each(hostile)('kv top gives the terminal no command of a member: %j', (text) => {
    const alarms = [{ member_id: '1001', alarm: text as 'NOSPACE' }];
    const members = [seen(text, { server_version: text, is_leader: true }), away(`n2${text}`)];
    const observation = {
      ...observed(members, { alarms }),
      cluster: text,
      leader: text,
      cluster_version: text,
    };
    for (const isColored of [false, true]) {
      const frame = topLines({ observation, worker: text, message: text }, { ...look(200), isColored });
      expect(frame.join('\n')).not.toContain(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors of the view itself
      expect(frame.join('').replaceAll(/\u001b\[(?:1|2|22|3[0-9]|39)m/g, '')).not.toMatch(
        /[\p{Cc}\p{Bidi_Control}\u200b]/u,
      );
    }
  });
  it.each(hostile.filter((text) => !text.includes('[31m')))(
    'a screen passes only colors to the terminal, not %j',
    async (text) => {
      const host = fakeHost({ tty: ['stdout'] });
      const screen = fullScreen(host);
      await screen.draw([`n1 ${text}`, '\u001b[1mbold\u001b[22m'], 80, 24);
      const shown = host.writes.join('');
      expect(shown).not.toContain(text);
      expect(shown).toContain('\u001b[1mbold\u001b[22m');
      if (!text.includes('\n'))
        expect(redraw(0, [`first\nsecond ${text}`], [`n1 ${text}`])).not.toContain(text);
    },
  );
  it('kv top uses ASCII in an ASCII locale', () => {
    expect(asciiSigns(topLines(state, look()).join('\n'))).toMatch(/^[\x20-\x7e\n]*$/);
  });
});

it('an unchanged frame is not sent again; a resized one is', async () => {
  const host = fakeHost({ tty: ['stdout'] });
  const screen = fullScreen(host);
  await screen.open();
  await screen.draw(['a'], 80, 24);
  const once = host.writes.length;
  await screen.draw(['a'], 80, 24);
  expect(host.writes.length).toBe(once);
  await screen.draw(['a'], 40, 24);
  await screen.close();
  expect(host.writes.length).toBe(once + 2);
  // The screen clears each line to its end, and all lines below the last one.
  expect(host.writes[once]).toBe('\u001b[Ha\u001b[K\u001b[J');
});
