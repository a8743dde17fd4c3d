import type {
  Observation,
  Plan,
  Report,
  Step,
  Unstamped,
  UpgradeEvent,
} from '../../../src/kv/engine/model.ts';
import { stepId } from '../../../src/kv/engine/steps.ts';

const seen = (name: string, isLeader: boolean): Observation['members'][number] => ({
  name,
  client_url: `http://${name}:2379`,
  is_reachable: true,
  is_healthy: true,
  server_version: '3.2.32',
  is_leader: isLeader,
  is_learner: false,
  errors: [],
});
const text = { why: 'because', commands: [] };
const step = (kind: 'stop' | 'start' | 'gate' | 'snapshot', member: string, title: string): Step => ({
  ...text,
  id: stepId(member, kind),
  kind,
  member,
  title,
});
const stepsOf = (name: string): Step[] => [
  step('snapshot', name, `save and verify a snapshot of ${name}`),
  step('stop', name, `stop ${name}`),
  step('start', name, `start ${name} with 3.3.27`),
  step('gate', name, `check that ${name} is healthy`),
];
const steps: Step[] = [
  ...stepsOf('n2'),
  ...stepsOf('n1'),
  { ...text, id: 'confirm', kind: 'confirm', title: 'wait for 3.3' },
];
const observation: Observation = {
  taken_at: '2026-03-31T12:00:00.000Z',
  cluster: 'shop',
  members: [seen('n1', true), seen('n2', false)],
  listed: [],
  alarms: [],
  auth: { is_on: false },
  leader: 'n1',
  cluster_version: '3.2.0',
};
const plan: Plan = {
  format: 1,
  id: 'p',
  cluster: 'shop',
  from: '3.2',
  to: '3.3',
  made_at: '2026-03-31T12:00:00.000Z',
  digest: 'd1935e',
  order: ['n2', 'n1'],
  steps,
  findings: [
    {
      guard: 'clocks-agree',
      level: 'warn',
      member: 'n2',
      message: 'clocks differ by <2> s | see',
      hint: 'set them',
    },
  ],
  observation,
  options: { copy_data: false, hold_last: false, stable_seconds: 1, accept: [] },
};
const snapshotOf = (member: string, revision: number) => ({
  member,
  path: `/backup/${member}.db`,
  size_bytes: 57_376,
  file_sha256: 'f'.repeat(64),
  trailer_sha256: 'e'.repeat(64),
  revision,
  duration_ms: 9,
});
const at = (elapsed_ms: number, event: Unstamped): UpgradeEvent => ({
  ...event,
  elapsed_ms,
  at: new Date(Date.UTC(2026, 2, 31, 12) + elapsed_ms).toISOString(),
});
const done = (from: number, id: string, tookMs: number): UpgradeEvent[] => {
  const one = steps.find((row) => row.id === id) as Step;
  return [
    at(from, { event: 'step-started', step: one, number: steps.indexOf(one) + 1, count: steps.length }),
    at(from + tookMs, { event: 'step-finished', step: one, duration_ms: tookMs }),
  ];
};
const wrote = (elapsed: number, latency_ms: number, ok = true): UpgradeEvent =>
  at(elapsed, { event: 'canary', ok, latency_ms, member: 'n1' });

export const report: Report = {
  run: '20260331T120000Z-1',
  cluster: 'shop',
  from: '3.2',
  to: '3.3',
  outcome: 'done',
  message: 'cluster shop runs 3.3',
  owner: { user: 'ann', host: 'ops1', pid: 42 },
  started_at: '2026-03-31T12:00:00.000Z',
  finished_at: '2026-03-31T12:00:06.000Z',
  duration_ms: 6000,
  plan_digest: 'd1935e',
  cluster_version_before: '3.2.0',
  cluster_version_after: '3.3.0',
  members: [
    {
      name: 'n1',
      client_url: 'http://n1:2379',
      version_before: '3.2.32',
      version_after: '3.3.27',
      was_leader: true,
      down_ms: 310,
      snapshot: snapshotOf('n1', 9),
      gate: [{ check: 'version', ok: true, detail: 'runs 3.3.27' }],
    },
    {
      name: 'n2',
      client_url: 'http://n2:2379',
      version_before: '3.2.32',
      version_after: '3.3.27',
      was_leader: false,
      down_ms: 200,
      snapshot: snapshotOf('n2', 3),
      gate: [
        { check: 'lag', ok: false, detail: '7 behind' },
        { check: 'lag', ok: true, detail: 'up to date' },
      ],
    },
  ],
  steps: steps.map(({ id, title }) => ({
    id,
    title,
    started_at: '2026-03-31T12:00:00.000Z',
    duration_ms: 40,
    outcome: 'done',
  })),
  snapshots: [snapshotOf('n2', 3), snapshotOf('n1', 9)],
  canary: { writes: 6, failed: 1, longest_gap_ms: 400, median_ms: 4, p99_ms: 30 },
  unexpected_log_lines: [{ member: 'n1', line: 'panic: <script>alert(1)</script>' }],
  journal: '/state/kv/shop/20260331T120000Z-1/journal.jsonl',
  findings: plan.findings,
};

/** A complete successful run: n2, then the leader n1. */
export const goodRun: readonly UpgradeEvent[] = [
  at(0, { event: 'run-started', run: report.run, action: 'upgrade', plan, journal: report.journal }),
  wrote(50, 4),
  ...done(100, 'n2.snapshot', 20),
  at(115, { event: 'snapshot-saved', snapshot: snapshotOf('n2', 3) }),
  done(130, 'n2.stop', 60)[0] as UpgradeEvent,
  at(140, { event: 'member-down', member: 'n2', was_leader: false }),
  done(130, 'n2.stop', 60)[1] as UpgradeEvent,
  ...done(200, 'n2.start', 10),
  at(340, { event: 'member-up', member: 'n2', down_ms: 200 }),
  at(400, { event: 'gate-check', member: 'n2', check: 'version', ok: true, detail: 'runs 3.3.27' }),
  wrote(450, 30),
  wrote(600, 0, false),
  wrote(850, 9),
  ...done(220, 'n2.gate', 1200),
  at(1500, {
    event: 'log-line',
    member: 'n2',
    line: 'peer became active',
    expected: true,
    meaning: 'a connection between members',
  }),
  ...done(1600, 'n1.snapshot', 30),
  at(1620, { event: 'snapshot-saved', snapshot: snapshotOf('n1', 9) }),
  ...done(1650, 'n1.stop', 100),
  at(1660, { event: 'member-down', member: 'n1', was_leader: true }),
  at(1700, { event: 'leader-changed', from: 'n1', to: 'n2' }),
  at(1710, { event: 'log-line', member: 'n1', line: 'panic: something', expected: false }),
  at(1720, { event: 'note', level: 'warn', text: 'the lease lock could not be set' }),
  ...done(1750, 'n1.start', 10),
  at(1970, { event: 'member-up', member: 'n1', version: '3.3.27', down_ms: 310 }),
  ...done(1760, 'n1.gate', 1300),
  wrote(900, 4),
  wrote(1000, 4),
  ...done(3100, 'confirm', 2900),
  at(6000, { event: 'run-finished', outcome: 'done', message: report.message, report }),
];

const gate = steps.find((row) => row.id === 'n2.gate') as Step;
export const failedReport: Report = {
  ...report,
  outcome: 'rolled-back',
  message: 'n2 runs 3.2 again; no other member was changed',
  members: report.members.map((one) => ({ ...one, version_after: '3.2.32' })),
};
/** The new version of n2 exits, and opsctl reverts n2 to the old version. */
export const failedRun: readonly UpgradeEvent[] = [
  ...goodRun.slice(0, 10),
  at(340, { event: 'member-up', member: 'n2', down_ms: 200 }),
  at(400, { event: 'step-started', step: gate, number: 4, count: 9 }),
  at(500, { event: 'step-failed', step: gate, reason: 'it ended with code 1' }),
  at(505, { event: 'member-down', member: 'n2', was_leader: false }),
  at(510, { event: 'reverting', member: 'n2', reason: 'it ended with code 1' }),
  at(900, { event: 'reverted', member: 'n2', duration_ms: 390 }),
  at(950, {
    event: 'run-finished',
    outcome: 'rolled-back',
    message: failedReport.message,
    report: failedReport,
  }),
];
