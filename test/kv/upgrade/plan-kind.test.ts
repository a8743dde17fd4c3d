/** Downgrades and restarts use the same plan, decisions and journal with different guards. */
import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/kv/upgrade/decide.ts';
import { nextSteps } from '../../../src/kv/upgrade/execute/session.ts';
import { planText } from '../../../src/kv/upgrade/present/plan-text.ts';
import { progressOf } from '../../../src/kv/engine/progress.ts';
import { isRefusal, planFrom } from '../../../src/kv/upgrade/plan.ts';
import { runningView, viewFor } from '../../../src/kv/upgrade/plan-kind.ts';
import type {
  JournalEntry,
  MemberStatus,
  Observation,
  Plan,
  PlanKind,
  PlanOptions,
  Refusal,
} from '../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../support/observations.ts';

const at36 = (name: string, patch: Partial<MemberStatus> = {}): MemberStatus =>
  seen(name, {
    server_version: '3.6.14',
    cluster_version: '3.6.0',
    storage_version: '3.6.0',
    ...patch,
    host: { ...seen(name).host, old_binary_version: '3.6.14', new_binary_version: '3.5.33', ...patch.host },
  });
const at35 = (name: string): MemberStatus =>
  at36(name, { server_version: '3.5.33', cluster_version: '3.5.0', storage_version: undefined } as never);
const ready = (name: string): MemberStatus =>
  at36(name, { cluster_version: '3.5.0', storage_version: '3.5.0', downgrade_to: '3.5.0' });
const three = (make: (name: string) => MemberStatus): Observation => observed(['n1', 'n2', 'n3'].map(make));
const made = (kind: PlanKind, observation: Observation, options: Partial<PlanOptions> = {}): Plan | Refusal =>
  planFrom({
    observation,
    cluster: clusterFile(observation.members.length),
    options: planOptions(options),
    describe: () => [],
    id: 'run',
    kind,
  });
const planOf = (kind: PlanKind, observation: Observation, options?: Partial<PlanOptions>): Plan => {
  const plan = made(kind, observation, options);
  if (isRefusal(plan)) throw new Error(plan.refused.map(({ message }) => message).join());
  return plan;
};
const refused = (plan: Plan | Refusal): string[] =>
  isRefusal(plan) ? plan.refused.map(({ guard }) => guard) : [];
const journal = (...entries: object[]): JournalEntry[] =>
  entries.map((entry) => ({ at: '2026-01-01T00:00:00.000Z', ...entry }) as JournalEntry);
const steps = (...ids: string[]): JournalEntry[] =>
  journal(
    ...ids.flatMap((step) => [
      { kind: 'begin', step },
      { kind: 'end', step },
    ]),
  );
const next = (plan: Plan, entries: JournalEntry[], observation: Observation) =>
  decide(plan, progressOf(entries), observation);

describe('the plan of a downgrade', () => {
  it('enables first, has no point of no return, leader last, confirms at the end', () => {
    const plan = planOf('downgrade', three(at36));
    expect([plan.from, plan.to, plan.kind]).toEqual(['3.6', '3.5', 'downgrade']);
    expect(plan.steps[0]?.kind).toBe('enable-downgrade');
    expect(plan.steps.at(-1)?.kind).toBe('confirm');
    expect(plan.order.at(-1)).toBe('n1');
    expect(plan.steps.some((step) => step.is_point_of_no_return === true)).toBe(false);
    expect(planText(plan)).toContain('no member of the newer version can be added');
  });
  it.each<[string, Observation]>([
    ['of 3.5', three(at35)],
    ['of a mixed cluster', observed([at36('n1'), at36('n2'), at35('n3')])],
    ['with a member down', observed([at36('n1'), at36('n2'), away('n3')])],
    ['while another one is on', three((name) => at36(name, { downgrade_to: '3.4.0' }))],
  ])('%s is refused', (_, observation) =>
    expect(
      refused(made('downgrade', observation, { accept: ['all-members-healthy', 'quorum-survives'] })),
    ).toContain('version-path'),
  );
  it('a downgrade has another digest than a restart', () =>
    expect(planOf('downgrade', three(at36)).digest).not.toBe(
      planOf(
        'restart',
        three((name) => at36(name, { host: { new_binary_version: '3.6.14' } })),
      ).digest,
    ));
});

describe('next steps of a downgrade', () => {
  const plan = planOf('downgrade', three(at36));
  const kinds = (decision: ReturnType<typeof decide>) =>
    decision.kind === 'steps' ? decision.steps.map(({ id }) => id) : [decision.kind];
  it('a downgrade stops no member before every member is ready, whatever the journal contains', () => {
    expect(kinds(next(plan, [], three(at36)))).toEqual(['enable-downgrade']);
    expect(kinds(next(plan, steps('enable-downgrade'), three(at36)))).toEqual(['enable-downgrade']);
    const late = observed([ready('n1'), ready('n2'), at36('n3')]);
    expect(kinds(next(plan, steps('enable-downgrade'), late))).toEqual(['enable-downgrade']);
  });
  it('replaces the last member without a question: it can go back', () => {
    const last = observed(
      [ready('n1'), at35('n2'), at35('n3')].map((member) => ({ ...member, leader_id: '1001' })),
    );
    const done = steps('enable-downgrade', 'n2.gate', 'n3.gate');
    const decision = next(plan, done, last);
    expect(decision.kind).toBe('steps');
    expect(decision.kind === 'steps' && decision.isCrossing).toBeFalsy();
  });
  it('a member that exits after its health check gets 3.6 again, even if the cluster reports 3.5', () => {
    const fallen = observed([ready('n1'), away('n2', { host: { is_running: false } }), ready('n3')]);
    expect(next(plan, steps('enable-downgrade', 'n2.stop', 'n2.start', 'n2.gate'), fallen).kind).toBe(
      'revert',
    );
  });
  it('after a failure a rollback is offered, not a restore', () =>
    expect(nextSteps({ outcome: 'stopped', plan, isRollback: false, after: three(ready) })).toEqual([
      'opsctl kv resume',
      'opsctl kv rollback',
    ]));
});

describe('the plan of a restart', () => {
  const same = (name: string): MemberStatus => at36(name, { host: { new_binary_version: '3.6.14' } });
  const plan = planOf('restart', three(same));
  it('a restart has every member, the leader last, without a point of no return and a confirmation', () => {
    expect(plan.order).toEqual(['n2', 'n3', 'n1']);
    expect(plan.steps.map(({ kind }) => kind)).not.toContain('confirm');
    expect(plan.steps.some((step) => step.is_point_of_no_return === true)).toBe(false);
  });
  it('a restart is refused in a mixed cluster, and during a downgrade', () => {
    expect(refused(made('restart', three(ready)))).toContain('version-path');
    expect(refused(made('restart', observed([at35('n1'), at35('n2'), same('n3')])))).toContain(
      'version-path',
    );
  });
  it('another minor is refused', () =>
    expect(refused(made('restart', three(at36)))).toContain('binaries-are-right'));
  it.each<[string, JournalEntry[], Observation, string]>([
    ['nothing was begun', [], three(same), 'n2.stop'],
    [
      'its stop was begun, and it answers',
      journal({ kind: 'begin', step: 'n2.stop' }),
      three(same),
      'n2.stop',
    ],
    [
      'it was stopped',
      journal({ kind: 'begin', step: 'n2.stop' }),
      observed([same('n1'), away('n2', { host: { is_running: false } }), same('n3')]),
      'n2.start',
    ],
    ['its start was begun', steps('n2.stop', 'n2.start'), three(same), 'n2.gate'],
    ['its gate was passed', steps('n2.stop', 'n2.start', 'n2.gate'), three(same), 'n3.stop'],
    [
      'it was reverted',
      [
        ...steps('n2.stop', 'n2.start'),
        ...journal({ kind: 'reverting', member: 'n2', reason: 'x' }, { kind: 'reverted', member: 'n2' }),
      ],
      three(same),
      'n2.stop',
    ],
  ])('a restart after a crash: %s', (_, entries, observation, step) => {
    const decision = next(plan, entries, observation);
    expect(decision.kind === 'steps' ? decision.steps.map(({ id }) => id) : decision.kind).toContain(step);
  });
  it('a restart is done when every health check has passed', () =>
    expect(
      next(plan, steps(...plan.order.flatMap((name) => [`${name}.start`, `${name}.gate`])), three(same)).kind,
    ).toBe('done'));
});

describe('the cluster file as each kind reads it', () => {
  const [member] = clusterFile(1).members;
  const file = { ...clusterFile(1), members: [{ ...member!, old_binary: '/old', new_binary: '/new' }] };
  it.each([
    ['upgrade', {}, '/old', '/new'],
    ['downgrade', {}, '/new', '/old'],
    ['restart', {}, '/old', '/new'],
    ['restart', { keep_program: 'old' }, '/old', '/old'],
    ['restart', { keep_program: 'new' }, '/new', '/new'],
  ] as const)('%s %j: from %s to %s', (kind, options, old, fresh) => {
    const [spec] = viewFor(file, { kind, options }).members;
    expect([spec?.old_binary, spec?.new_binary]).toEqual([old, fresh]);
  });
  const table = {
    ...file,
    versions: { '3.5': { binary: '/row-3.5' }, '3.6': { binary: '/row-3.6', ctl_binary: '/ctl-3.6' } },
  };
  it.each([
    ['upgrade', '3.5', '3.6', {}, '/row-3.5', '/row-3.6'],
    ['downgrade', '3.6', '3.5', {}, '/row-3.6', '/row-3.5'],
    ['restart', '3.6', '3.6', {}, '/row-3.6', '/new'],
    ['restart', '3.6', '3.6', { keep_program: 'old' }, '/row-3.6', '/row-3.6'],
    ['restart', '3.4', '3.4', { keep_program: 'old' }, '/old', '/old'],
  ] as const)('%s from %s to %s %j uses the table of versions', (kind, from, to, options, old, fresh) => {
    const view = viewFor(table, { kind, from, to, options });
    const [spec] = view.members;
    expect([spec?.old_binary, spec?.new_binary]).toEqual([old, fresh]);
    expect(view.ctl_binary).toBe(from === '3.6' ? '/ctl-3.6' : file.ctl_binary);
  });
  it('a command for running members reads both rows while two versions run', () => {
    const programs = (...range: [string, string?]) =>
      runningView(table, ...range).members.map(({ old_binary, new_binary }) => [old_binary, new_binary])[0];
    expect(programs('3.5', '3.6')).toEqual(['/row-3.5', '/row-3.6']);
    expect(programs('3.6')).toEqual(['/row-3.6', '/new']);
    expect(programs('3.4')).toEqual(['/old', '/new']);
  });
});
