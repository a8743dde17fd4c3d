import { describe, expect, it } from 'vitest';
import { decide, type Decision, stepIn, stepNumber } from '../../../src/kv/upgrade/decide.ts';
import { progressOf } from '../../../src/kv/engine/progress.ts';
import type { JournalEntry, JournalStepId, MemberStatus, Plan } from '../../../src/kv/engine/model.ts';
import { naming } from '../../support/facts.ts';
import { away, clusterFile, observed, planned, planOptions, seen } from '../../support/observations.ts';
import { covers } from '../../support/covers.ts';

const at = '2026-01-01T00:00:00.000Z';
const done = (...steps: string[]): JournalEntry[] =>
  steps.flatMap(
    (step) =>
      [
        { kind: 'begin', at, step },
        { kind: 'end', at, step },
      ] as JournalEntry[],
  );
const begun = (step: JournalStepId): JournalEntry => ({ kind: 'begin', at, step });
const all = (name: string) => done(`${name}.snapshot`, `${name}.stop`, `${name}.start`, `${name}.gate`);
const yes: JournalEntry = { kind: 'crossing-confirmed', at, confirmed_by: 'me' };

const text = (decision: Decision): string => {
  if (decision.kind === 'steps') return decision.steps.map(({ id }) => id).join(' ');
  if (decision.kind === 'refuse')
    return `refuse ${decision.findings.map(({ guard, member }) => `${guard} ${member}`).join()}`;
  if (decision.kind === 'restart')
    return `restart ${decision.member} ${decision.steps.map(({ id }) => id).join(' ')}`;
  return 'member' in decision ? `${decision.kind} ${decision.member}` : decision.kind;
};
const upgraded = (name: string, patch: Partial<MemberStatus> = {}) =>
  seen(name, { server_version: '3.4.23', ...patch });
const crossed = (name: string) => upgraded(name, { cluster_version: '3.4.0' });
const resumedAt = (time: string): JournalEntry => ({
  kind: 'resumed',
  at: time,
  action: 'upgrade',
  owner: { host: 'h', pid: 1 },
});
const moved: JournalEntry = { kind: 'crossed', at, cluster_version: '3.4.0' };
const plan = planned();
const next = (entries: JournalEntry[], members: MemberStatus[], of: Plan = plan): string =>
  text(decide(of, progressOf(entries), observed(members, { taken_at: entries.at(-1)?.at ?? at })));
const [n1, n2, n3] = [seen('n1'), seen('n2'), seen('n3')];

it.each([
  ['has an upgraded member', all('n2'), [n1, away('n2', { host: { is_suspended: true, pid: 7 } }), n3]],
  ['has an old member', [], [n1, n2, away('n3', { host: { is_suspended: true, pid: 7 } })]],
])('the hint for a suspended process resumes it: the run %s', (_, entries, members) => {
  expect(decide(plan, progressOf(entries), observed(members, { taken_at: at }))).toMatchObject({
    kind: 'refuse',
    findings: [{ hint: naming('kill -CONT 7', 'opsctl kv resume') }],
  });
});
it.each([
  ['a minute', '2026-01-01T00:01:00.000Z', 'n2.stop n2.start n2.gate'],
  ['more than a minute', '2026-01-01T00:01:00.001Z', 'n2.snapshot n2.stop n2.start n2.gate'],
  [
    'a time to come, by a clock that was set back',
    '2025-12-31T23:59:59.000Z',
    'n2.snapshot n2.stop n2.start n2.gate',
  ],
])('an early snapshot protects a stop for a minute: %s', (_, taken_at, steps) =>
  expect(text(decide(plan, progressOf(done('n2.snapshot')), observed([n1, n2, n3], { taken_at })))).toBe(
    steps,
  ),
);

describe('the next thing to do', () => {
  it.each([
    ['a voter', false, 'refuse quorum-survives n2'],
    ['a learner', true, 'n2.snapshot n2.stop n2.start n2.gate'],
  ])('%s that joined after the plan counts like the others', (_, is_learner, expected) => {
    const stranger = { id: '9', name: 'n9', peer_urls: [], client_urls: [], is_learner };
    const now = observed([n1, n2, n3], { taken_at: at, listed: [...observed().listed, stranger] });
    expect(text(decide(plan, progressOf([]), now))).toBe(expected);
  });
  it.each<[string, JournalEntry[], MemberStatus[], string]>([
    [
      'the current leader is last, although the plan stops it first',
      [],
      [seen('n1', { is_leader: false }), seen('n2', { is_leader: true }), n3],
      'n3.snapshot n3.stop n3.start n3.gate',
    ],
    ['at the beginning the first follower', [], [n1, n2, n3], 'n2.snapshot n2.stop n2.start n2.gate'],
    [
      'after a crash in the snapshot, again',
      [begun('n2.snapshot')],
      [n1, n2, n3],
      'n2.snapshot n2.stop n2.start n2.gate',
    ],
    [
      'after the snapshot it is not taken twice',
      done('n2.snapshot'),
      [n1, n2, n3],
      'n2.stop n2.start n2.gate',
    ],
    [
      'a stop that was announced and did not happen',
      [...done('n2.snapshot'), begun('n2.stop')],
      [n1, n2, n3],
      'n2.stop n2.start n2.gate',
    ],
    [
      'a stop under way',
      [...done('n2.snapshot'), begun('n2.stop')],
      [n1, away('n2', { host: { is_running: true } }), n3],
      'n2.stop n2.start n2.gate',
    ],
    [
      'a stop that happened',
      [...done('n2.snapshot'), begun('n2.stop')],
      [n1, away('n2', { host: { is_running: false } }), n3],
      'n2.start n2.gate',
    ],
    [
      'a start that did not happen',
      [...done('n2.snapshot', 'n2.stop'), begun('n2.start')],
      [n1, away('n2', { host: { is_running: false } }), n3],
      'n2.start n2.gate',
    ],
    [
      'a start under way',
      [...done('n2.snapshot', 'n2.stop'), begun('n2.start')],
      [n1, away('n2', { host: { is_running: true } }), n3],
      'n2.gate',
    ],
    [
      'a start whose gate is open',
      done('n2.snapshot', 'n2.stop', 'n2.start'),
      [n1, upgraded('n2'), n3],
      'n2.gate',
    ],
    ['the second follower', all('n2'), [n1, upgraded('n2'), n3], 'n3.snapshot n3.stop n3.start n3.gate'],
    [
      'before the last member a question',
      [...all('n2'), ...all('n3')],
      [n1, upgraded('n2'), upgraded('n3')],
      'ask n1',
    ],
    [
      'after the answer the leader hands over',
      [...all('n2'), ...all('n3'), yes],
      [n1, upgraded('n2'), upgraded('n3')],
      'n1.snapshot n1.move-leader n1.stop n1.start n1.gate',
    ],
    [
      'a leadership that moved already is not moved again',
      [...all('n2'), ...all('n3'), yes],
      [seen('n1', { is_leader: false }), upgraded('n2'), upgraded('n3')],
      'n1.snapshot n1.stop n1.start n1.gate',
    ],
    [
      'then the cluster version',
      [...all('n2'), ...all('n3'), yes, ...all('n1')],
      [upgraded('n1'), upgraded('n2'), upgraded('n3')],
      'confirm',
    ],
    [
      'then nothing',
      [...all('n2'), ...all('n3'), yes, ...all('n1'), ...done('confirm')],
      [upgraded('n1'), upgraded('n2'), upgraded('n3')],
      'done',
    ],
    [
      'a new version that ended after its gate gets its old one back',
      all('n2'),
      [n1, away('n2', { host: { is_running: false } }), n3],
      'revert n2',
    ],
    [
      'one that is only cut off does not',
      all('n2'),
      [n1, away('n2', { host: { is_running: true } }), n3],
      'refuse all-members-healthy n2',
    ],
    [
      'one of whose process nothing is known does not',
      all('n2'),
      [n1, away('n2'), n3],
      'refuse all-members-healthy n2',
    ],
    [
      'a member that is down by our hand comes first',
      [...all('n2'), ...done('n3.snapshot', 'n3.stop')],
      [n1, away('n2', { host: { is_running: false } }), away('n3', { host: { is_running: false } })],
      'n3.start n3.gate',
    ],
    [
      'also when no member of the old version is left, while the cluster version has not moved',
      [...all('n2'), ...all('n3'), yes, ...all('n1')],
      [upgraded('n1'), away('n2', { host: { is_running: false } }), upgraded('n3')],
      'revert n2',
    ],
    [
      'once the cluster version has moved it can only be started with the new one',
      [...all('n2'), ...all('n3'), yes, ...all('n1')],
      [crossed('n1'), away('n2', { host: { is_running: false } }), crossed('n3')],
      'restart n2 n2.start n2.gate',
    ],
    [
      'and a line of the journal says so when nobody answers any more',
      [...all('n2'), ...all('n3'), yes, ...all('n1'), moved],
      [upgraded('n1'), away('n2', { host: { is_running: false } }), upgraded('n3')],
      'restart n2 n2.start n2.gate',
    ],
    [
      'a revert that was begun and became impossible is dropped',
      [...all('n2'), { kind: 'reverting', at, member: 'n2', reason: 'crashed' }],
      [crossed('n1'), crossed('n2'), crossed('n3')],
      'drop-revert n2',
    ],
    [
      'then the member has to pass its gate',
      [
        ...all('n2'),
        { kind: 'reverting', at, member: 'n2', reason: 'crashed' },
        { kind: 'revert-dropped', at, member: 'n2', reason: 'crashed' },
      ],
      [crossed('n1'), crossed('n2'), crossed('n3')],
      'n2.gate',
    ],
    [
      'a confirmation does not outlive the end of its run',
      [...all('n2'), ...all('n3'), yes, { kind: 'closed', at, outcome: 'stopped', message: '' }],
      [n1, upgraded('n2'), upgraded('n3')],
      'ask n1',
    ],
    [
      'a snapshot of an hour ago predates the stop that it is to protect',
      [...done('n2.snapshot'), resumedAt('2026-01-01T01:00:00.000Z')],
      [n1, n2, n3],
      'n2.snapshot n2.stop n2.start n2.gate',
    ],
    [
      'one that was taken just before a crash does not',
      [...done('n2.snapshot'), resumedAt('2026-01-01T00:00:30.000Z')],
      [n1, n2, n3],
      'n2.stop n2.start n2.gate',
    ],
    [
      'a return that was begun comes before everything',
      [
        ...done('n2.snapshot', 'n2.stop', 'n2.start'),
        { kind: 'reverting', at, member: 'n2', reason: 'crashed' },
      ],
      [n1, away('n2'), n3],
      'revert n2',
    ],
    [
      'a member that was reverted begins again, with a new snapshot',
      [
        ...done('n2.snapshot', 'n2.stop', 'n2.start'),
        { kind: 'reverting', at, member: 'n2', reason: 'crashed' },
        { kind: 'reverted', at, member: 'n2' },
      ],
      [n1, n2, n3],
      'n2.snapshot n2.stop n2.start n2.gate',
    ],
    ['another member away: no stop', [], [n1, n2, away('n3')], 'refuse all-members-healthy n3'],
    [
      'another member unhealthy: no stop',
      [],
      [n1, n2, seen('n3', { is_healthy: false })],
      'refuse all-members-healthy n3',
    ],
    [
      'the next member itself is cut off from its peers',
      all('n2'),
      [n1, upgraded('n2'), seen('n3', { is_healthy: false })],
      'refuse all-members-healthy n3',
    ],
    ['an upgraded member that fell', all('n2'), [n1, away('n2'), n3], 'refuse all-members-healthy n2'],
    [
      'a member of a third version',
      [],
      [n1, seen('n2', { server_version: '3.5.16' }), n3],
      'refuse version-path n2',
    ],
    [
      'a follower that leads now comes after the one that led before',
      all('n2'),
      [seen('n1', { is_leader: false }), upgraded('n2'), seen('n3', { is_leader: true })],
      'n1.snapshot n1.stop n1.start n1.gate',
    ],
    [
      'and hands over to somebody upgraded',
      [...all('n2'), ...all('n1'), yes],
      [upgraded('n1', { is_leader: false }), upgraded('n2'), seen('n3', { is_leader: true })],
      'n3.snapshot n3.move-leader n3.stop n3.start n3.gate',
    ],
  ])(
    '%s',
    covers('defect/U-13', 'defect/U-15', 'defect/U-55', 'spec/store#choices-2'),
    (_, entries, members, expected) => {
      expect(next(entries, members)).toBe(expected);
    },
  );
  it.each([
    [1, 2, 'n2'],
    [40, 2, 'n2'],
    [300, 2, 'n3'],
    [300, 290, 'n2'],
  ])(
    'the leadership goes to the first upgraded member, but not to one that is slow: %i ms and %i ms',
    (of2, of3, target) => {
      const observation = observed([
        n1,
        upgraded('n2', { latency_ms: of2 }),
        upgraded('n3', { latency_ms: of3 }),
      ]);
      const decision = decide(plan, progressOf([...all('n2'), ...all('n3'), yes]), observation);
      expect(
        decision.kind === 'steps' && decision.steps.find(({ kind }) => kind === 'move-leader')?.target,
      ).toBe(target);
    },
  );
  it('an alarm stops the run before the next member, and the error names the member with the alarm', () => {
    const observation = observed([n1, upgraded('n2'), n3], {
      alarms: [{ member_id: '1001', alarm: 'NOSPACE' }],
    });
    expect(text(decide(plan, progressOf(all('n2')), observation))).toBe('refuse no-alarms n1');
  });
  it('an alarm is named before those that are unhealthy because of it', () => {
    const sick = [n1, n2, n3].map((member) => ({ ...member, is_healthy: false }));
    expect(
      text(
        decide(plan, progressOf([]), observed(sick, { alarms: [{ member_id: '1001', alarm: 'NOSPACE' }] })),
      ),
    ).toBe('refuse no-alarms n1');
  });
  it('an unhealthy member that the operator accepted does not stop a run with a majority', () => {
    const five = observed(['n1', 'n2', 'n3', 'n4', 'n5'].map((name) => seen(name)));
    const accepted = planned(five, undefined, planOptions({ accept: ['all-members-healthy'] }));
    const now = observed(
      five.members.map((member) => (member.name === 'n5' ? { ...member, is_healthy: false } : member)),
    );
    expect(text(decide(accepted, progressOf([]), now))).toMatch(/^n2\.snapshot/);
    expect(text(decide(planned(five), progressOf([]), now))).toBe('refuse all-members-healthy n5');
  });
  it('--hold-last holds instead of asking', () => {
    const held = planned(observed(), undefined, planOptions({ hold_last: true }));
    expect(next([...all('n2'), ...all('n3'), yes], [n1, upgraded('n2'), upgraded('n3')], held)).toBe(
      'hold n1',
    );
  });
  describe('a member that was down when the plan was made comes first', () => {
    const gone = away('n3', { host: { ...seen('n3').host, is_running: false } });
    const hung = away('n3', { host: { ...seen('n3').host, is_running: true } });
    const options = planOptions({ accept: ['all-members-healthy'] });
    const planOf = (member: MemberStatus, copy_data = false): Plan =>
      planned(observed([n1, n2, member]), undefined, { ...options, copy_data });
    it.each([
      ['it is still down', gone, gone, 'n3.start n3.gate'],
      ['it does not respond, but runs', hung, hung, 'n3.stop n3.start n3.gate'],
      ['it was started since the plan and does not respond', gone, hung, 'n3.stop n3.start n3.gate'],
      ['it exited since the plan', hung, gone, 'n3.start n3.gate'],
    ])('%s: a healthy member is saved before it is changed', (_, then, now, expected) => {
      const of = planOf(then);
      expect(next([], [n1, n2, now], of)).toBe('n2.snapshot');
      expect(next(done('n2.snapshot'), [n1, n2, now], of)).toBe(expected);
      // A journal of an earlier version has no snapshot.
      expect(next([begun('n3.stop')], [n1, n2, gone], of)).toBe('n2.snapshot');
      const old = { ...of, steps: of.steps.filter(({ kind }) => kind !== 'snapshot') };
      expect(next([], [n1, n2, now], old)).toMatch(/^n[12]\.snapshot$/);
      const ill = [n1, n2].map((member) => ({ ...member, is_healthy: false }));
      expect(next([], [...ill, gone], planOf(gone))).toBe('refuse all-members-healthy n3');
    });
    it('the snapshot of an unhealthy member and an old snapshot do not protect the first change', () => {
      const ill = seen('n3', { is_healthy: false });
      const of = planOf(ill);
      expect(next(done('n3.snapshot'), [n1, n2, ill], of)).toBe('n2.snapshot');
      expect(next(done('n2.snapshot'), [n1, n2, ill], of)).toBe('n3.snapshot n3.stop n3.start n3.gate');
      const late = observed([n1, n2, gone], { taken_at: '2026-01-01T00:02:00.000Z' });
      expect(text(decide(planOf(gone), progressOf(done('n2.snapshot')), late))).toBe('n2.snapshot');
    });
    it.each([
      ['it was started since the plan', gone],
      ['it responds since the plan', hung],
    ])('%s: it is saved before its stop', (_, then) => {
      expect(next([], [n1, n2, n3], planOf(then))).toBe('n3.snapshot n3.stop n3.start n3.gate');
      // The operator started its old version after a crash of the run.
      const crashed = [...done('n2.snapshot'), begun('n3.stop'), begun('n3.start')];
      expect(next(crashed, [n1, n2, n3], planOf(then))).toBe('n3.snapshot n3.stop n3.start n3.gate');
      expect(next(crashed, [n1, n2, n3], planOf(then, true))).toBe(
        'n3.snapshot n3.stop n3.copy-data n3.start n3.gate',
      );
    });
    it('its data is copied only after its stop', () => {
      expect(next([], [n1, n2, n3], planOf(gone, true))).toBe(
        'n3.snapshot n3.stop n3.copy-data n3.start n3.gate',
      );
    });
    it('a step that the plan does not contain has the number of the step after it', () => {
      const of = planOf(gone);
      const own = decide(of, progressOf([]), observed([n1, n2, n3], { taken_at: at }));
      const numbers = own.kind === 'steps' ? own.steps.map((step) => [step.id, stepNumber(of, step)]) : [];
      expect(numbers).toEqual([
        ['n3.snapshot', 2],
        ['n3.stop', 2],
        ['n3.start', 2],
        ['n3.gate', 3],
      ]);
      expect(stepIn(of, 'n3.stop')).toMatchObject({ kind: 'stop', member: 'n3' });
      expect(stepIn(of, 'n9.stop')).toBeUndefined();
    });
    it('an unhealthy leader that the operator accepted comes first as well', () => {
      const sick = seen('n1', { is_healthy: false });
      const five = ['n2', 'n3', 'n4', 'n5'].map((name) => seen(name));
      const of = planned(observed([sick, ...five]), undefined, options);
      expect(next(done('n2.snapshot'), [sick, ...five], of)).toMatch(/^n1\.snapshot n1\.stop/);
    });
    it('no other member is stopped before it is healthy', () => {
      const ill = upgraded('n3', { is_healthy: false });
      expect(next(all('n3'), [n1, n2, ill], planOf(gone))).toBe('refuse quorum-survives n2');
      expect(next(all('n3'), [n1, n2, upgraded('n3')], planOf(gone))).toMatch(/^n2\.snapshot/);
    });
  });
  it.each([
    ['does not answer', true, 'n1.stop n1.start n1.gate'],
    ['is down', false, 'n1.start n1.gate'],
  ])(
    'the last member, stopped before the point of no return, that now %s: its new version needs a confirmation',
    (_, is_running, steps) => {
      const entries = [...done('n1.snapshot'), begun('n1.stop'), ...all('n2'), ...all('n3')];
      const members = [away('n1', { host: { is_running } }), upgraded('n2'), upgraded('n3')];
      expect(next(entries, members)).toBe('ask n1');
      expect(next([...entries, yes], members)).toBe(steps);
      const held = planned(observed(), undefined, planOptions({ hold_last: true }));
      expect(next(entries, members, held)).toBe('refuse all-members-healthy n1');
      // The new version has already started, so its health check decides.
      expect(
        next(
          [...entries, begun('n1.start')],
          [away('n1', { host: { is_running: true } }), ...members.slice(1)],
        ),
      ).toBe('n1.gate');
    },
  );
  it(
    '--hold-after holds when the given number of members run the new version, not before',
    covers('defect/U-60'),
    () => {
      const held = planned(observed(), undefined, planOptions({ hold_after: 1 }));
      expect(held.steps.find(({ kind }) => kind === 'hold')?.id).toBe('n3.hold');
      expect(next([], [n1, n2, n3], held)).toMatch(/^n2\.snapshot/);
      expect(next(all('n2'), [n1, upgraded('n2'), n3], held)).toBe('hold n3');
    },
  );
  it('a copy is not taken any more once the new version has run', () => {
    const copied = planned(observed(), undefined, planOptions({ copy_data: true }));
    expect(next([...done('n2.snapshot', 'n2.stop')], [n1, away('n2'), n3], copied)).toBe(
      'n2.copy-data n2.start n2.gate',
    );
    expect(
      next(
        [...done('n2.snapshot', 'n2.stop', 'n2.copy-data'), begun('n2.start')],
        [n1, away('n2'), n3],
        copied,
      ),
    ).toBe('n2.start n2.gate');
    // After a restore the member runs the old version again, and the earlier copy lacks its data.
    expect(next([...all('n2'), ...done('n2.copy-data')], [n1, n2, n3], copied)).toBe(
      'n2.stop n2.copy-data n2.start n2.gate',
    );
  });
  it('the wait for v2 data is resumed', () => {
    const host = { ...n1.host, v2_bytes: 60_000_000 };
    const members = [seen('n1', { host }), seen('n2', { host }), seen('n3', { host })];
    const slow = planned(observed(members), clusterFile(), planOptions({ accept: ['v2-backup'] }));
    expect(next(all('n2'), [n1, upgraded('n2'), n3], slow)).toBe('n2.settle');
    expect(next([...all('n2'), ...done('n2.settle')], [n1, upgraded('n2'), n3], slow)).toBe(
      'n3.snapshot n3.stop n3.start n3.gate n3.settle',
    );
  });
  it('the run waits for v2 data between all members, in any order', () => {
    const host = { ...n1.host, v2_bytes: 60_000_000 };
    const members = [seen('n1', { host }), seen('n2', { host }), seen('n3', { host })];
    const slow = planned(observed(members), clusterFile(), planOptions({ accept: ['v2-backup'] }));
    const follows = seen('n1', { is_leader: false });
    const leads = seen('n3', { is_leader: true });
    const settled = [...all('n2'), ...done('n2.settle')];
    expect(next(settled, [follows, upgraded('n2'), leads], slow)).toBe(
      'n1.snapshot n1.stop n1.start n1.gate n1.settle',
    );
    const last = [...settled, ...all('n1'), ...done('n1.settle'), yes];
    expect(next(last, [upgraded('n1', { is_leader: false }), upgraded('n2'), leads], slow)).toBe(
      'n3.snapshot n3.move-leader n3.stop n3.start n3.gate',
    );
  });
  it('a confirmation is valid once: after a rollback it is requested again', () => {
    const entries: JournalEntry[] = [
      ...all('n2'),
      ...all('n3'),
      yes,
      ...done('n1.snapshot', 'n1.stop', 'n1.start'),
      { kind: 'reverting', at, member: 'n1', reason: 'x' },
      { kind: 'reverted', at, member: 'n1' },
    ];
    expect(next(entries, [n1, upgraded('n2'), upgraded('n3')])).toBe('ask n1');
  });
});
