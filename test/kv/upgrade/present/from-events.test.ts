import { describe, expect, it } from 'vitest';
import { reportFrom, type ReportInput } from '../../../../src/kv/upgrade/present/report.ts';
import type {
  GateCheck,
  MemberReport,
  Step,
  Unstamped,
  UpgradeEvent,
} from '../../../../src/kv/engine/model.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';

const plan = planned();
const at = (elapsed_ms: number, event: Unstamped): UpgradeEvent => ({
  ...event,
  elapsed_ms,
  at: `2026-03-31T12:00:00.${String(elapsed_ms).padStart(3, '0')}Z`,
});
const named = (id: string): Step => ({ ...(plan.steps[0] as Step), id }) as Step;
const started = (ms: number, id: string) =>
  at(ms, { event: 'step-started', step: named(id), number: 1, count: 9 });
const finished = (ms: number, id: string, detail?: string) =>
  at(ms, {
    event: 'step-finished',
    step: named(id),
    duration_ms: 1,
    ...(detail === undefined ? {} : { detail }),
  });
const failed = (ms: number, id: string) =>
  at(ms, { event: 'step-failed', step: named(id), reason: 'it ended' });
const check = (member: string, name: GateCheck, ok: boolean | null) =>
  at(5, { event: 'gate-check', member, check: name, ok, detail: 'd' });

const made = (events: readonly UpgradeEvent[], patch: Partial<ReportInput> = {}) =>
  reportFrom({
    ...{ run: 'r', plan, owner: { host: 'h', pid: 1 } as never, outcome: 'done', message: 'm' },
    ...{ journal: '/j', entries: [], events },
    ...patch,
  } as ReportInput);
const memberOf = (name: string, events: readonly UpgradeEvent[], patch: Partial<ReportInput> = {}) =>
  made(events, patch).members.find((one) => one.name === name) as MemberReport;

describe('the report of a run', () => {
  it('the report of an unknown run has the members of its plan', () =>
    expect(made([])).toEqual({
      ...{ run: 'r', cluster: 'test', from: '3.3', to: '3.4', outcome: 'done', message: 'm' },
      ...{ owner: { host: 'h', pid: 1 }, started_at: '', finished_at: '', duration_ms: 0 },
      ...{ plan_digest: plan.digest, cluster_version_before: '3.3.0', cluster_version_after: undefined },
      members: ['n1', 'n2', 'n3'].map((name) => ({
        ...{ name, client_url: seen(name).client_url, version_before: '3.3.25', version_after: undefined },
        ...{ was_leader: name === 'n1', gate: [] },
      })),
      steps: plan.steps.map(({ id, title }) => ({
        ...{ id, title, started_at: '', duration_ms: 0, outcome: 'skipped' },
      })),
      ...{ snapshots: [], unexpected_log_lines: [], journal: '/j', journal_lines: 0 },
      findings: plan.findings,
    }));
  it('the report has its kind, the canary and the next command, if there are any', () => {
    const canary = { writes: 1, failed: 0, longest_gap_ms: 3 };
    const kind = { ...plan, kind: 'restart' } as const;
    expect(made([], { plan: kind, canary, next: ['a'] })).toMatchObject({
      ...{ kind: 'restart', canary, next: ['a'] },
    });
  });
  it('the report contains the last observed state of each member', () => {
    const sick = seen('n2', { is_healthy: false, server_version: '3.4.45' });
    const after = observed([seen('n1', { server_version: '3.4.45' }), sick, away('n3')], {
      cluster_version: '3.4.0',
    });
    const report = made([], { after });
    expect(report.cluster_version_after).toBe('3.4.0');
    expect(report.members.map(({ state, version_after }) => [state, version_after])).toEqual([
      ['up', '3.4.45'],
      ['unhealthy', '3.4.45'],
      ['down', undefined],
    ]);
  });
  it('the report has for each member its last downtime, its snapshot and its copy', () => {
    const up = (member: string, down_ms: number) => at(9, { event: 'member-up', member, down_ms });
    const entries = [
      { kind: 'snapshot', snapshot: { member: 'n2', revision: 1 } },
      { kind: 'snapshot', snapshot: { member: 'n2', revision: 2 } },
      { kind: 'snapshot', snapshot: { member: 'n3', revision: 3 } },
    ] as never;
    const events = [
      up('n2', 7),
      up('n2', 8),
      up('n3', 9),
      finished(9, 'n1.copy-data', 'copy /copy/n1'),
      finished(9, 'n2.copy-data', 'copy /copy/n2'),
      finished(9, 'n3.copy-data'),
    ];
    const about = (name: string) => {
      const { down_ms, snapshot, data_copy } = memberOf(name, events, { entries });
      return [down_ms, snapshot?.revision, data_copy];
    };
    expect(['n1', 'n2', 'n3'].map(about)).toEqual([
      [undefined, undefined, '/copy/n1'],
      [8, 2, '/copy/n2'],
      [9, 3, undefined],
    ]);
  });
  it('the report has the checks of the last health check', () => {
    const events = [
      started(1, 'n2.gate'),
      check('n2', 'lag', false),
      started(2, 'n2.gate'),
      check('n2', 'version', true),
      check('n3', 'version', null),
      at(3, { event: 'note', level: 'warn', text: 'x' }),
    ];
    expect(memberOf('n2', events).gate).toEqual([{ check: 'version', ok: true, detail: 'd' }]);
    expect(memberOf('n3', events).gate).toEqual([{ check: 'version', ok: null, detail: 'd' }]);
    expect(memberOf('n1', events).gate).toEqual([]);
    expect(memberOf('n2', [check('n2', 'version', true)]).gate).toHaveLength(1);
  });
  it('the report has the last attempt of a step', () => {
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = plan.steps.map(({ id }) => id);
    const events = [
      started(10, first),
      failed(20, first),
      started(30, first),
      finished(70, first),
      started(80, second),
      failed(95, second),
      started(100, third),
      finished(110, fourth),
      // The process was killed during the second attempt.
      ...[started(120, fifth), failed(130, fifth), started(150, fifth)],
    ];
    const rows = made(events).steps.map(({ started_at, duration_ms, outcome }) => [
      ...[started_at.slice(-4, -1), duration_ms, outcome],
    ]);
    expect(rows.slice(0, 5)).toEqual([
      ['030', 40, 'done'],
      ['080', 15, 'failed'],
      ['100', 0, 'skipped'],
      ['', 0, 'done'],
      ['150', 0, 'failed'],
    ]);
  });
  it('the report has the unexpected log lines', () => {
    const line = (text: string, expected: boolean) =>
      at(1, { event: 'log-line', member: 'n1', line: text, expected });
    expect(made([line('usual', true), line('odd', false)]).unexpected_log_lines).toEqual([
      { member: 'n1', line: 'odd' },
    ]);
  });
});
