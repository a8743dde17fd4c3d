import { expect, test } from 'vitest';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import type { Finding } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

/** Warnings about one member's host, at the limit and just beyond it. */
const finding = (guard: string, host: Partial<NonNullable<ReturnType<typeof seen>['host']>>): Finding => {
  const n2 = seen('n2', { host: { ...seen('n2').host, ...host } });
  const observation = observed([seen('n1'), n2, seen('n3')]);
  const input = {
    observation,
    cluster: clusterFile(3),
    options: planOptions(),
    from: '3.3',
    to: '3.4',
  } as const;
  const [found, ...more] = findingsOf(input).filter((one) => one.guard === guard);
  expect(more).toEqual([]);
  return found as Finding;
};

test.each([0, 1000, -1000])('clocks-agree passes a skew of %i ms', (clock_skew_ms) => {
  expect(finding('clocks-agree', { clock_skew_ms }).level).toBe('pass');
});

test.each([
  [1001, naming('n2', '1.0', 'clock')],
  [-90_000, naming('n2', '-1 min 30 s', 'clock')],
])('clocks-agree warns of a skew of %i ms', covers('guard/clocks-agree'), (clock_skew_ms, message) => {
  expect(finding('clocks-agree', { clock_skew_ms })).toMatchObject({ level: 'warn', member: 'n2', message });
});

test(
  'v2-settle passes up to 50 MB of v2 data, and reports the wait beyond it',
  covers('guard/v2-settle'),
  () => {
    expect(finding('v2-settle', { v2_bytes: 50_000_000 }).level).toBe('pass');
    const more = finding('v2-settle', { v2_bytes: 50_000_001 });
    expect(more.level).toBe('warn');
    expect(more.message).toMatch(/the plan waits 120 s between members$/);
  },
);

const failures = (guard: string, patch: Parameters<typeof observed>[1], members = ['n1', 'n2', 'n3']) => {
  const observation = observed(
    members.map((name) => seen(name)),
    patch,
  );
  const input = {
    observation,
    cluster: clusterFile(3),
    options: planOptions(),
    from: '3.3',
    to: '3.4',
  } as const;
  return findingsOf(input).filter((one) => one.guard === guard);
};

test('leader-agreed blames the login only when authentication is on and the login failed', () => {
  const auth = { is_on: true, problem: 'invalid user ID or password', is_rejected: true } as const;
  const [blamed] = failures('leader-agreed', { leader: undefined, listed: [], auth });
  expect(blamed).toMatchObject({
    level: 'fail',
    message: naming('invalid user ID or password', 'leader'),
  });
  for (const other of [{ is_on: true }, { is_on: true, problem: 'x' }] as const) {
    const [finding] = failures('leader-agreed', { leader: undefined, listed: [], auth: other });
    expect(finding?.message).toEqual(naming('no leader', 'writes'));
  }
});

test('an alarm names its member: as observed, as listed, or by its ID as a removed one', () => {
  const messages = (member_id: string) =>
    failures('no-alarms', { alarms: [{ member_id, alarm: 'NOSPACE' }] }).map(({ message }) => message);
  expect(messages('1002')).toEqual(['alarm NOSPACE is raised by n2']);
  expect(messages('4711')).toEqual([
    'alarm NOSPACE of member 1267 is still raised, although 1267 is no longer a member',
  ]);
  const listed = [{ id: '4711', name: 'n9', peer_urls: [], client_urls: [], is_learner: false }];
  const [finding] = failures('no-alarms', { alarms: [{ member_id: '4711', alarm: 'CORRUPT' }], listed });
  expect(finding).toMatchObject({ member: 'n9', level: 'fail' });
  expect(finding?.hint).toRead('opsctl kv replace-member');
});

test.each([
  [undefined, []],
  [{ before_member: ['/opt/hook.sh', '{name}'] }, ['pass']],
  [{ before_member: ['/opt/hook.sh'], after_member: 'sh -c "/opt/$X"' }, ['unknown']],
  [{ before_member: 'sh -c "eval x"', after_member: ['python3', '-c', 'pass'] }, ['unknown', 'unknown']],
] as const)(
  'hook-programs never passes a hook that computes programs: %j',
  covers('guard/hook-programs'),
  (hooks, levels) => {
    const cluster = { ...clusterFile(3), ...(hooks === undefined ? {} : { hooks }) };
    const input = {
      observation: observed(),
      cluster,
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    } as const;
    const found = findingsOf(input).filter(({ guard }) => guard === 'hook-programs');
    expect(found.map(({ level }) => level)).toEqual(levels);
  },
);
