import { expect, it } from 'vitest';
import { planSummary, planText, questionRows } from '../../../../src/kv/upgrade/present/plan-text.ts';
import { observed, planned, seen } from '../../../support/observations.ts';

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

it.each(['upgrade', 'downgrade'] as const)('%s: the duration is whole, and the limits have room', (kind) => {
  const plan = { ...planned(observed(['n1', 'n2', 'n3'].map((name) => seen(name)))), kind };
  const isDowngrade = kind === 'downgrade';
  for (const rows of [12, 20, 40]) {
    const text = planSummary(plan, { columns: 80, rows, tookMs: [1000] });
    expect(text.split('\n').length).toBeLessThanOrEqual(rows);
    expect(text.replaceAll('\n  ', ' ')).toMatch(/^Duration: .* of it is waiting time\b/m);
    expect(text.includes('Limits of a downgrade')).toBe(isDowngrade);
    expect(text.includes('opsctl kv downgrade --help')).toBe(isDowngrade && rows < 40);
  }
});

it('no title of a step is wider than the terminal', () => {
  const plan = planned(observed(['n1', 'n2', 'n3'].map((name) => seen(name))));
  const [first, ...others] = plan.steps;
  const title = 'validate and enable the downgrade in the cluster, then wait for each member';
  const text = planText(
    { ...plan, steps: [{ ...(first as (typeof plan.steps)[0]), title }, ...others] },
    { columns: 40 },
  );
  const at = text.split('\n').findIndex((line) => line.includes('validate and enable'));
  expect(text.split('\n')[at]?.length).toBeLessThanOrEqual(40);
});

it('only commands and lines to copy are wider than a terminal of 40 columns', () => {
  const plan = planned(observed(['n1', 'n2', 'n3'].map((name) => seen(name))));
  const [first] = plan.steps;
  const flags = Array.from({ length: 14 }, (_, i) => `--flag-${i}`).join(' ');
  const step = {
    ...(first as (typeof plan.steps)[0]),
    commands: [`/new ${flags}`],
    replaces: [`/old ${flags}`],
  };
  const lines = planText({ ...plan, steps: [step] }, { columns: 40 }).split('\n');
  const prose = lines.filter((line) => !/^ *[$+-] |^digest |^ *──/.test(line));
  expect(prose.join(' ')).toMatch(/14 flags and arguments\s+are\s+unchanged/);
  for (const line of prose) expect(line.length).toBeLessThanOrEqual(40);
});

it('a question that wraps needs its lines', () => {
  expect(questionRows('Upgrade test from 3.5 to 3.6?', 80)).toBe(3);
  expect(questionRows('word '.repeat(40), 80)).toBe(5);
});

/**
 * Returns the first `rows` lines for a plan with `size` members and `warnings` warnings, each with a line and
 * a hint.
 */
const shown = (size: number, warnings: number, rows: number, more: object[] = []): string[] => {
  const members = Array.from({ length: size }, (_, i) => seen(`n${i + 1}`));
  const findings = Array.from({ length: warnings }, (_, i) => ({
    ...{ guard: `g${i}`, level: 'warn' as const, message: 'm', hint: 'h' },
  }));
  const large = { ...planned(observed(members)), findings: [...findings, ...more] as never };
  return planSummary(large, { columns: 100, rows }).split('\n').slice(3, -1);
};
const more = (lines: string[]): string | undefined => lines.find((line) => line.includes('…'));

it('half of the lines that are left, rounded up, are for members', () => {
  expect([shown(8, 0, 20).length, more(shown(8, 0, 20))]).toEqual([8, undefined]);
  expect([shown(9, 0, 20).length, shown(9, 0, 20).at(-1)]).toEqual([
    ...[8, '  … and 2 more members, with the same steps'],
  ]);
  expect(more(shown(9, 0, 21))).toBeUndefined();
  expect(more(shown(9, 0, 19))).toBe('  … and 2 more members, with the same steps');
  // The minimum number of lines is shown even if fewer lines are available.
  expect([shown(4, 0, 1).length, shown(4, 0, 1).at(-1)]).toEqual([
    ...[3, '  … and 2 more members, with the same steps'],
  ]);
  expect(shown(4, 9, 1)).toHaveLength(6);
});
it('warnings are shown with their hints, without them, or only the first', () => {
  const text = (lines: string[]) => lines.slice(3).map((line) => line.trim());
  expect(text(shown(3, 1, 20))).toEqual(['! warn     g0                    m', '→ h']);
  const plain = { guard: 'last', level: 'warn', message: 'm' };
  expect(text(shown(3, 6, 20, [plain]))).toHaveLength(13);
  expect(text(shown(3, 7, 20))).toEqual(
    Array.from({ length: 7 }, (_, i) => `! warn     g${i}                    m`),
  );
  expect(text(shown(3, 13, 20))).toHaveLength(13);
  expect([text(shown(3, 14, 20)).length, text(shown(3, 14, 20)).at(-1)]).toEqual([
    ...[13, '… and 2 more warnings: opsctl kv check'],
  ]);
  expect(text(shown(3, 0, 20, [{ guard: 'g', level: 'pass', message: 'm' }]))).toEqual([]);
});
it('a long line is truncated with a mark', () => {
  const head = 'Plan for test: 3.3 → 3.4, 3 of 3 members, 14 steps';
  const first = (columns: number) => planSummary(plan, { columns, rows: 20 }).split('\n')[0];
  expect(first(head.length)).toBe(head);
  expect(first(head.length - 1)).toBe(`${head.slice(0, -2)}…`);
});
it('every member has its own version, and the end names the source of details', () => {
  const members = [seen('n1'), seen('n20', { server_version: '3.3.27' }), seen('n3')];
  const mixed = { ...plan, digest: '0123456789abcdef', order: ['n20', 'n3', 'n9'] };
  const lines = planSummary({ ...mixed, observation: observed(members) }, { columns: 100, rows: 30 });
  const all = lines.split('\n');
  expect(all.slice(all.indexOf('  n20  3.3.27: ')).slice(0, 3)).toEqual([
    '  n20  3.3.27: ',
    '  n3   3.3.25: snapshot, stop, start, health check',
    '  n9   ?: ',
  ]);
  expect(all.at(-1)).toBe('-v shows every step and command; digest 0123456789ab');
});
it('a restart stays on its version', () =>
  expect(
    planSummary({ ...plan, kind: 'restart' }, { columns: 100, rows: 20 }).startsWith(
      'Plan for test: restart on 3.3, ',
    ),
  ).toBe(true));
it('a question wraps where it would reach the edge with its prompt', () => {
  const word = 'x'.repeat(64);
  expect([questionRows(`${word} 12345`, 80), questionRows(`${word} 123456`, 80)]).toEqual([3, 4]);
});
