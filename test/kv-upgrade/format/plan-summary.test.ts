import { expect, it } from 'vitest';
import { planSummary, questionRows } from '../../../src/kv-upgrade/format/plan-summary.ts';
import { observed, planned, seen } from '../../support/observations.ts';

const plan = planned();
const warning = (i: number) => ({
  guard: `guard-${i}`,
  level: 'warn' as const,
  message: `warning ${i} `.repeat(30),
  hint: 'what to do '.repeat(20),
});

it('three members: each with its steps, the leader last, the point of no return, how to see more', () => {
  const text = planSummary(plan, { columns: 80, rows: 20 });
  expect(text.split('\n').filter((line) => line.startsWith('  n'))).toEqual([
    '  n2  3.3.25: snapshot, stop, start, health check',
    '  n3  3.3.25: snapshot, stop, start, health check',
    expect.stringMatching(
      /^ {2}n1 {2}3\.3\.25 \(leader, point of no return\): snapshot, move the leadership, /,
    ),
  ]);
  expect(text).toContain('-v shows every step and command');
  expect(text).not.toContain('$ ');
});

it.each([
  [3, 0],
  [3, 12],
  [50, 0],
  [50, 12],
])(
  '%i members and %i warnings: no line is longer than the terminal, and no more lines than there is room',
  (size, warnings) => {
    const members = Array.from({ length: size }, (_, i) => seen(`n${i + 1}`));
    const large = {
      ...planned(observed(members)),
      findings: Array.from({ length: warnings }, (_, i) => warning(i)),
    };
    for (const rows of [12, 16, 20]) {
      const lines = planSummary(large, { columns: 80, rows, tookMs: [1000] }).split('\n');
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
      if (size === 50) expect(lines.join('\n')).toMatch(/… and \d+ more members/);
      if (warnings > 0 && rows < 20) expect(lines.join('\n')).toMatch(/… and \d+ more warnings/);
    }
  },
);

it('a question that wraps needs its lines', () => {
  expect(questionRows('Upgrade test from 3.5 to 3.6?', 80)).toBe(3);
  expect(questionRows('word '.repeat(40), 80)).toBe(5);
});
