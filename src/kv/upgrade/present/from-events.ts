import type {
  CanaryReport,
  MemberReport,
  MemberSeen,
  Observation,
  Outcome,
  Owner,
  Plan,
  Report,
  SnapshotRecord,
  UpgradeEvent,
} from '../../engine/types.ts';

export type ReportInput = {
  readonly run: string;
  readonly plan: Plan;
  readonly owner: Owner;
  readonly events: readonly UpgradeEvent[];
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly message: string;
  readonly journal: string;
  /** How the cluster looked at the end, when it could be looked at. */
  readonly after?: Observation;
  readonly canary?: CanaryReport;
  /** Of this run and of the ones it resumed. */
  readonly snapshots: readonly SnapshotRecord[];
  readonly next?: readonly string[];
};

const stateOf = ({ is_reachable, is_healthy }: MemberSeen): NonNullable<MemberReport['state']> =>
  !is_reachable ? 'down' : is_healthy ? 'up' : 'unhealthy';

const memberReport = ({ plan, events, after, snapshots }: ReportInput, name: string): MemberReport => {
  const before = plan.observation.members.find((member) => member.name === name);
  const seen = after?.members.find((member) => member.name === name);
  const up = events.findLast((event) => event.event === 'member-up' && event.member === name);
  const copied = events.find(
    (event) => event.event === 'step-finished' && event.step.id === `${name}.copy-data`,
  );
  const snapshot = snapshots.findLast((row) => row.member === name);
  // Of the last time that it had to show something: before that it may have failed and gone back.
  const began = events.findLastIndex(
    (event) => event.event === 'step-started' && event.step.id === `${name}.gate`,
  );
  const gate = events
    .slice(Math.max(0, began))
    .flatMap((event) =>
      event.event === 'gate-check' && event.member === name
        ? [{ check: event.check, ok: event.ok, detail: event.detail }]
        : [],
    );
  return {
    name,
    client_url: before?.client_url ?? '',
    version_before: before?.server_version,
    version_after: seen?.server_version,
    ...(seen === undefined ? {} : { state: stateOf(seen) }),
    was_leader: before?.is_leader ?? false,
    ...(up?.event === 'member-up' ? { down_ms: up.down_ms } : {}),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(copied?.event === 'step-finished' && copied.detail !== undefined
      ? { data_copy: copied.detail.replace(/^copy /, '').replace(/, copied \d+ files?, .*$/, '') }
      : {}),
    gate,
  };
};

const stepRows = ({ plan, events }: ReportInput): Report['steps'] =>
  plan.steps.map((step) => {
    const started = events.findLast((event) => event.event === 'step-started' && event.step.id === step.id);
    const ended = events.findLast(
      (event) =>
        (event.event === 'step-finished' || event.event === 'step-failed') && event.step.id === step.id,
    );
    const outcome = ended === undefined ? 'skipped' : ended.event === 'step-finished' ? 'done' : 'failed';
    const duration_ms =
      started === undefined || ended === undefined ? 0 : ended.elapsed_ms - started.elapsed_ms;
    return {
      id: step.id,
      title: step.title,
      started_at: started?.at ?? '',
      duration_ms: Math.round(duration_ms),
      outcome,
    };
  });

/** What a run did, from its events. Pure. */
export const reportFrom = (input: ReportInput): Report => ({
  run: input.run,
  ...(input.plan.kind === undefined ? {} : { kind: input.plan.kind }),
  cluster: input.plan.cluster,
  from: input.plan.from,
  to: input.plan.to,
  outcome: input.outcome,
  message: input.message,
  owner: input.owner,
  started_at: input.startedAt,
  finished_at: input.finishedAt,
  duration_ms: Math.round(input.durationMs),
  plan_digest: input.plan.digest,
  cluster_version_before: input.plan.observation.cluster_version,
  cluster_version_after: input.after?.cluster_version,
  members: input.plan.observation.members.map(({ name }) => memberReport(input, name)),
  steps: stepRows(input),
  snapshots: input.snapshots,
  ...(input.canary === undefined ? {} : { canary: input.canary }),
  unexpected_log_lines: input.events.flatMap((event) =>
    event.event === 'log-line' && !event.expected ? [{ member: event.member, line: event.line }] : [],
  ),
  journal: input.journal,
  findings: input.plan.findings,
  ...(input.next === undefined ? {} : { next: input.next }),
});
