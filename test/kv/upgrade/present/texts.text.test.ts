import { expect, it } from 'vitest';
import { next } from '../../../../src/core/next.ts';
import { findingsText, observationText, wayText } from '../../../../src/kv/upgrade/present/text.ts';
import { planText } from '../../../../src/kv/upgrade/present/plan-text.ts';
import { observed, planned, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';

it('the first line shows the progress of a mixed cluster', () => {
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

it('a hint for several members is printed once, below them', covers('defect/U-52'), () => {
  const findings = ['n1', 'n2', 'n3'].map((name) => ({
    guard: 'binaries-are-right',
    level: 'fail' as const,
    member: name,
    message: `${name}: the new binary is 3.5.30, the upgrade goes to 3.4`,
    hint: 'put a 3.4 binary there; no member was stopped',
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
it('on a terminal lines fit its width, except commands, which are copied', () => {
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
      message: 'all members belong to one cluster and report the same member list',
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
it('check shows which checks it made', () => {
  expect(wayText(observed(), '3.4', 200)).toBe(
    'Cluster test: 3.3 → 3.4; members n1 3.3.25 (leader), n2 3.3.25, n3 3.3.25',
  );
});

it('a hint with a command that is too long for the column starts further left', () => {
  const hint = next(['kv', 'endpoint', 'hashkv', '--cluster', 'orders/cluster.yaml'], 'compares it');
  const drawHint = (columns: number) =>
    findingsText([{ guard: 'data-agrees', level: 'unknown', message: 'not compared', hint }], columns)
      .split('\n')
      .slice(1);
  expect(drawHint(120)[0]?.indexOf('→')).toBe(33);
  expect(drawHint(80)[0]?.indexOf('→')).toBe(11);
  expect(drawHint(72)).toEqual([
    '           → opsctl kv endpoint hashkv --cluster orders/cluster.yaml',
    '             compares it',
  ]);
});
it('findings stand worst last, each with its guard, wide or below each other', () => {
  const finding = (level: 'pass' | 'unknown' | 'warn' | 'fail') => ({
    ...{ guard: 'quota', level, message: 'one two three', hint: 'do this now' },
  });
  const all = (['fail', 'warn', 'unknown', 'pass'] as const).map(finding);
  const wide = ' '.repeat(33);
  expect(findingsText(all, 72).split('\n')).toEqual([
    '✓ pass     quota                 one two three',
    '? unknown  quota                 one two three',
    `${wide}→ do this now`,
    '! warn     quota                 one two three',
    `${wide}→ do this now`,
    '✗ fail     quota                 one two three',
    `${wide}→ do this now`,
  ]);
  expect(findingsText([finding('fail')], 71).split('\n')).toEqual([
    '✗ fail     quota',
    '           one two three',
    '           → do this now',
  ]);
  expect(
    findingsText([finding('fail')], 22)
      .split('\n')
      .slice(1),
  ).toEqual([...['           one two', '           three', '           → do this', '             now']]);
  expect(
    findingsText([finding('fail')], 24)
      .split('\n')
      .slice(1),
  ).toEqual([...['           one two three', '           → do this now']]);
  // The hint is printed again for another level or another guard.
  expect(findingsText([finding('warn'), finding('fail')]).match(/do this now/g)).toHaveLength(2);
  const other = { ...finding('fail'), guard: 'disk-space' };
  expect(findingsText([finding('fail'), other]).match(/do this now/g)).toHaveLength(2);
});

const step = (id: string, patch: object = {}) => ({
  ...{ id, title: `title ${id}`, why: 'because of it', commands: ['a b'], kind: 'stop', member: 'n1' },
  ...patch,
});
const made = (patch: object, columns?: number) =>
  planText(
    { ...planned(), findings: [], digest: 'd1', order: ['n1'], steps: [step('a')], ...patch } as never,
    columns === undefined ? {} : { columns },
  ).split('\n');
it('a plan is its steps in their order, with the point of no return', () => {
  const steps = [step('a'), step('b', { is_point_of_no_return: true, commands: [] })];
  expect(made({ steps })).toEqual([
    'Plan for test: 3.3 → 3.4, 1 of 3 members, in the order n1 (leader)',
    'Databases: n1 20 KiB',
    'Duration: known after the first member; 5.0 s of it is waiting time',
    '',
    '1. title a  (because of it)',
    '     $ a b',
    '   ── point of no return: after it the cluster stays on 3.4 ──',
    '2. title b  (because of it)',
    ...['', 'digest d1'],
  ]);
});
it('the numbers of ten steps and more stand below each other', () => {
  const lines = made({ steps: Array.from({ length: 10 }, (_, i) => step(`${i}`, { commands: [] })) });
  expect([lines[4], lines[13]]).toEqual([' 1. title 0  (because of it)', '10. title 9  (because of it)']);
});
it('the reason of a step is below it if the line is too long', () => {
  const line = '1. title a  (because of it)';
  expect(made({}, line.length)).toContain(line);
  const narrow = made({}, line.length - 1);
  expect(narrow.slice(narrow.indexOf('1. title a')).slice(0, 3)).toEqual([
    ...['1. title a', '   (because of it)', '     $ a b'],
  ]);
  const short = made({}, 16);
  expect(short.slice(short.indexOf('1. title a')).slice(0, 3)).toEqual([
    ...['1. title a', '   (because of', '   it)'],
  ]);
});
it('warnings stand above the digest, what passed does not', () => {
  const findings = [
    { guard: 'quota', level: 'pass', message: 'small' },
    { guard: 'clocks-agree', level: 'warn', message: 'they differ' },
  ];
  expect(made({ findings }).slice(-4)).toEqual([
    ...['', '! warn     clocks-agree          they differ', '', 'digest d1'],
  ]);
});
it('a downgrade has limits, and a restart no other version', () => {
  expect(made({})).not.toContain('Limits of a downgrade:');
  expect(made({ kind: 'downgrade' })).toContain('Limits of a downgrade:');
  expect(made({ kind: 'restart' })[0]).toContain('Plan for test: restart on 3.3, 1 of 3');
});
it('an unknown member has a row', () => {
  const unknown = {
    ...seen('n2', { is_reachable: false, is_healthy: false, is_leader: false }),
    ...{ server_version: undefined, cluster_version: undefined, raft_index: undefined },
    ...{ db_size_bytes: undefined, member_id: undefined },
  } as never;
  const rows = (...members: Parameters<typeof observed>[0] & object) =>
    observationText(observed(members)).split('\n').slice(2);
  expect(rows(seen('n1'), unknown, seen('n3', { is_learner: true, is_healthy: false }))).toEqual([
    'MEMBER  URL                     HEALTH       VERSION  CLUSTER  ROLE     RAFT INDEX  DB      ID',
    'n1      http://127.0.0.1:20001  healthy      3.3.25   3.3.0    leader   100         20 KiB  3e9',
    'n2      http://127.0.0.1:20002  unreachable  -        -                 -           -       -',
    'n3      http://127.0.0.1:20003  unhealthy    3.3.25   3.3.0    learner  100         20 KiB  3eb',
  ]);
  expect(rows(seen('n1', { is_healthy: false, health_reason: 'slow' }))[1]).toContain('unhealthy (slow)');
});
it('alarms are named above the members', () => {
  const alarms = [
    { member_id: '1001', alarm: 'NOSPACE' },
    { member_id: '1002', alarm: 'CORRUPT' },
  ];
  const head = (patch: object) => observationText(observed(undefined, patch)).split('\n')[0];
  expect(head({ alarms })).toBe('cluster test: version 3.3.0, leader n1, alarms NOSPACE CORRUPT');
  expect(head({ cluster_version: undefined, leader: undefined })).toBe(
    'cluster test: version unknown, leader none',
  );
});
it('a terminal as wide as the members has all of their columns, one less loses the last', () => {
  const whole =
    'MEMBER  URL                     HEALTH   VERSION  CLUSTER  ROLE    RAFT INDEX  DB      ID'.length + 1;
  const head = (columns: number) => observationText(observed(), columns).split('\n')[2];
  expect(head(whole)).toMatch(/ID$/);
  expect(head(whole - 1)).toMatch(/DB$/);
});
