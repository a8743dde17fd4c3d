import { expect, it } from 'vitest';
import { findingsText, observationText, planText, wayText } from '../../../src/kv-upgrade/format/texts.ts';
import { observed, planned, seen } from '../../support/observations.ts';

it('the first line says how far a mixed cluster is', () => {
  expect(observationText(observed()).split('\n')[0]).toBe('cluster test: version 3.3.0, leader n1');
  const mixed = observed([seen('n1'), seen('n2', { server_version: '3.4.23' }), seen('n3')]);
  expect(observationText(mixed).split('\n')[0]).toBe(
    'cluster test: version 3.3.0 (mixed: 1 of 3 members run 3.4), leader n1',
  );
});
it('a small database has a size too', () => {
  expect(observationText(observed([seen('n1')]))).toContain('20 KiB');
  expect(observationText(observed([seen('n1', { db_size_bytes: 3_000_000 })]))).toContain('2.9 MiB');
});
it('the plan names the leader, and what its stop means before 3.3', () => {
  expect(planText(planned()).split('\n')[0]).toContain('in the order n2, n3, n1 (leader)');
  expect(planText(planned())).not.toContain('may wait until its client gives up');
  const old = observed(
    ['n1', 'n2', 'n3'].map((name) =>
      seen(name, {
        server_version: '3.2.32',
        cluster_version: '3.2.0',
        host: { ...seen(name).host, old_binary_version: '3.2.32', new_binary_version: '3.3.27' },
      }),
    ),
  );
  const lines = planText(planned(old)).split('\n');
  expect(
    lines
      .filter((line) => line.includes('may wait until its client gives up'))
      .map((line) => line.trim().slice(0, 11)),
  ).toEqual(['10. stop n1']);
});

it('a hint that several members share is said once, below them', () => {
  const findings = ['n1', 'n2', 'n3'].map((name) => ({
    guard: 'binaries-are-right',
    level: 'fail' as const,
    member: name,
    message: `${name}: the new binary is 3.5.30, the upgrade goes to 3.4`,
    hint: 'put a 3.4 binary there; nothing was stopped',
  }));
  const text = findingsText([
    ...findings,
    { guard: 'quota', level: 'fail', message: 'full', hint: 'defrag' },
  ]);
  expect(text.split('\n').map((line) => line.trim().slice(0, 12))).toEqual([
    ...['✗ fail     b', '✗ fail     b', '✗ fail     b', '→ put a 3.4 '],
    ...['✗ fail     q', '→ defrag'],
  ]);
});

const longest = (text: string): number =>
  Math.max(...text.split('\n').map((line) => (line.trim().startsWith('$') ? 0 : line.length)));
it('on a terminal no line is longer than it, but for commands, which are copied', () => {
  const findings = [
    {
      guard: 'disk-space',
      level: 'fail',
      message: `${'many words '.repeat(20)}`,
      hint: `${'more words '.repeat(20)}`,
    },
    {
      guard: 'one-cluster',
      level: 'pass',
      message: 'all members are of one cluster and know the same members',
    },
  ] as const;
  for (const columns of [72, 80, 200]) {
    expect(longest(findingsText(findings, columns))).toBeLessThanOrEqual(columns);
    expect(longest(planText(planned(), { columns }))).toBeLessThanOrEqual(columns);
    expect(longest(wayText(observed(), '3.4', columns))).toBeLessThanOrEqual(columns);
  }
  expect(
    planText(planned(), { columns: 60 })
      .split('\n')
      .filter((line) => line.trim().startsWith('$')),
  ).toEqual(
    planText(planned())
      .split('\n')
      .filter((line) => line.trim().startsWith('$')),
  );
});
it('a narrow terminal loses the last columns of the members, never the first', () => {
  const heads = (columns?: number): string => observationText(observed(), columns).split('\n')[2] as string;
  expect(heads()).toMatch(/RAFT INDEX +DB +ID$/);
  expect(heads(80)).not.toContain('ID');
  expect(observationText(observed(), 10).split('\n\n')[1]).toMatch(/^MEMBER +URL +HEALTH +VERSION *\n/);
});
it('check says which way it looked at', () => {
  expect(wayText(observed(), '3.4', 200)).toBe(
    'Cluster test: 3.3 → 3.4; members n1 3.3.25 (leader), n2 3.3.25, n3 3.3.25',
  );
});
