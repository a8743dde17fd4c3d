import { trustCall } from '../../../core/program-call.ts';
import { after } from '../../../core/next.ts';
import { AppError, problem } from '../../../core/problem.ts';
import { thisProcess, tryLockUntilHolderIsKnown, unlock } from '../../../platform/file-lock.ts';
import type { Host } from '../../../platform/host.ts';
import { describeProcess, processState, waysPast } from '../../../platform/process-identity.ts';
import type { Report } from '../../engine/model.ts';
import {
  type ClusterPlan,
  type Fleet,
  type FleetJournal,
  type FleetPlan,
  type FleetRow,
  type Upgraded,
  completedClusters,
  fleetDirectory,
  inProgress,
  joinPlans,
  openFleetJournal,
  orderOf,
  runFleet,
  startedClusters,
} from './fleet-file.ts';
import type { PlanFlags } from './fleet-export.ts';

/** The result of one cluster's own run in a child process. */
export type ChildDetail = {
  readonly exit_code: number | null;
  readonly message: string;
  readonly report?: Report;
  /** The run ended with a hold, or found an earlier hold, which has no report. */
  readonly isHeld?: true;
};
type ChildAnswer = Partial<Omit<Report, 'outcome'>> & {
  readonly outcome?: string;
  readonly message?: string;
  /** A plan has these. */
  readonly digest?: unknown;
  readonly order?: unknown;
};
type Ended = {
  readonly code: number | null;
  readonly answer: ChildAnswer | undefined;
  readonly message: string;
  /** From the error object at the end of the stderr of a run with -o json. */
  readonly error: string | undefined;
  /** Who holds the run that prevents a new run. */
  readonly heldBy: string | undefined;
};
const parseLine = <Line>(text: string): Line | undefined => {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
};
type Complaint = {
  readonly code?: string;
  readonly message?: string;
  readonly data?: { readonly held_by?: string };
};
const runSelf = async (host: Host, words: readonly string[]): Promise<Ended> => {
  // No signal is passed: a Ctrl-C reaches the child directly and stops it between two members.
  const { code, stdout, stderr } = await host.processes.run(
    ...trustCall([...host.self, ...words, '-o', 'json']),
  );
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const complaint = parseLine<Complaint>(last);
  const answer = parseLine<ChildAnswer>(stdout);
  return {
    code,
    answer,
    error: complaint?.code,
    heldBy: complaint?.code === 'HELD_RUN' ? complaint.data?.held_by : undefined,
    message: answer?.message ?? complaint?.message ?? last,
  };
};
const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null);
/** The plan of a cluster that can be upgraded or is complete; otherwise the reason against the upgrade. */
const checkCluster = async (
  host: Host,
  cluster: string,
  planFlags: PlanFlags,
): Promise<ClusterPlan | string> => {
  const words = ['kv', 'upgrade', '--cluster', cluster, '--dry-run', '--yes', ...planFlags];
  const { code, message, answer } = await runSelf(host, words);
  if (code !== 0) return `${cluster}: ${message}`;
  if (typeof answer !== 'object' || answer === null) return `${cluster}: opsctl cannot read its plan`;
  const [from, to, digest] = [answer?.from, answer?.to, answer?.digest].map(textOr);
  const order: readonly string[] = Array.isArray(answer?.order) ? answer.order.map(String) : [];
  return { cluster, from: from ?? null, to: to ?? null, order, digest: digest ?? null };
};
const isHeld = ({ answer, error }: Ended): boolean => answer?.outcome === 'held' || error === 'HELD';
const detailOf = (ended: Ended): ChildDetail => {
  const { code, answer, message } = ended;
  return {
    exit_code: code,
    message,
    ...(answer?.run === undefined || answer?.members === undefined ? {} : { report: answer as Report }),
    ...(isHeld(ended) ? { isHeld: true } : {}),
  };
};
const lockedForMs = 3_600_000;
const lockedPollMs = 2000;
/** The child of a killed fleet run may still run: waits until it exits, then checks the result. */
const whenUnlocked = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const until = host.elapsed() + lockedForMs;
  for (;;) {
    const ended = await runSelf(host, words);
    if (ended.error !== 'LOCKED' || host.elapsed() > until) return ended;
    await host.sleep(lockedPollMs);
  }
};
export type ChildOptions = {
  /** Flags that decide how the run handles the last member. */
  readonly lastMember: readonly string[];
  readonly planFlags?: PlanFlags;
  /** An earlier fleet run that was killed had started this cluster. */
  readonly wasBegun: boolean;
  /** The digest of the reviewed plan of this cluster; null if there was nothing to do. */
  readonly reviewed?: string | null | undefined;
};
/** Why a cluster must not start: its plan changed while the clusters before it were upgraded. */
const describeChangedPlan = async (
  host: Host,
  cluster: string,
  { planFlags = [], reviewed }: ChildOptions,
): Promise<string | undefined> => {
  if (reviewed === undefined) return undefined;
  const plan = await checkCluster(host, cluster, planFlags);
  if (typeof plan === 'string') return plan;
  return plan.digest === null || plan.digest === reviewed
    ? undefined
    : `not started: its plan has changed since the review (${plan.digest} instead of ${reviewed ?? 'no changes'})`;
};
/**
 * Upgrades one cluster, or continues the run that a killed fleet run had started there. Resumes a held run only if
 * --hold-last holds it: every other hold belongs to its operator. A hold is the result only if it was requested.
 */
export const upgradeCluster = async (
  host: Host,
  cluster: string,
  options: ChildOptions,
): Promise<Upgraded<ChildDetail>> => {
  const { lastMember, planFlags = [], wasBegun } = options;
  const flags = ['--cluster', cluster, '--yes', ...lastMember];
  const resumed = wasBegun ? await whenUnlocked(host, ['kv', 'resume', ...flags]) : undefined;
  // The fleet run was killed before the cluster's run started, or after it ended: the plan shows the
  // remaining steps.
  const isOver =
    resumed === undefined ||
    resumed.error === 'NO_RUN' ||
    (resumed.code === 0 && resumed.answer?.members === undefined);
  if (isOver) {
    const message = await describeChangedPlan(host, cluster, options);
    if (message !== undefined) return { ok: false, detail: { exit_code: null, message } };
  }
  const started = isOver ? await runSelf(host, ['kv', 'upgrade', ...flags, ...planFlags]) : resumed;
  const ended = started.heldBy === 'hold-last' ? await runSelf(host, ['kv', 'resume', ...flags]) : started;
  const isHeldAsAsked = isHeld(ended) && lastMember.includes('--hold-last');
  return { ok: ended.code === 0 || isHeldAsAsked, detail: detailOf(ended) };
};

export type FleetInput = {
  readonly host: Host;
  readonly fleet: Fleet;
  /** Absolute path of the fleet file. */
  readonly file: string;
  /** Directory of this program's state. */
  readonly state: string;
  readonly lastMember: readonly string[];
  readonly planFlags?: PlanFlags;
  /** The words that repeat this command, without --dry-run and --digest. */
  readonly line: readonly string[];
  /** The digest of the reviewed plan: a fleet with another plan is refused. */
  readonly digest?: string | undefined;
  readonly signal: AbortSignal;
  readonly info: (text: string) => void;
  readonly label: (cluster: string) => string;
  readonly confirm: () => Promise<void>;
};
const checkedAtOnce = 4;
/**
 * Checks every cluster before the first change. The resume of a cluster that a killed run had started runs
 * its own checks.
 */
const checkAll = async (
  { host, fleet, planFlags = [], signal }: Pick<FleetInput, 'host' | 'fleet' | 'planFlags' | 'signal'>,
  begun: ReadonlySet<string>,
): Promise<readonly ClusterPlan[]> => {
  const clusters = fleet.clusters.filter((cluster) => !begun.has(cluster));
  const problems: string[] = [];
  const plans: ClusterPlan[] = [];
  for (let i = 0; i < clusters.length; i += checkedAtOnce) {
    const found = await Promise.all(
      clusters.slice(i, i + checkedAtOnce).map((cluster) => checkCluster(host, cluster, planFlags)),
    );
    signal.throwIfAborted();
    for (const one of found)
      if (typeof one === 'string') problems.push(one);
      else plans.push(one);
  }
  if (problems.length === 0) return plans;
  throw new AppError(
    'unsafe',
    `no changes were made: ${problems.length} of ${fleet.clusters.length} clusters ${problems.length === 1 ? 'is' : 'are'} not ready`,
    {
      code: 'FLEET_NOT_READY',
      problems: problems.map((text) => problem('', 'rule', text)),
      tryThis: [
        'fix the listed problems, then run the same command again: finished clusters are skipped',
        '--copy-data and --accept GUARD apply to every cluster of the fleet',
      ],
    },
  );
};
type Planned = Pick<
  FleetInput,
  'host' | 'fleet' | 'planFlags' | 'lastMember' | 'label' | 'signal' | 'digest' | 'line'
>;
/** Returns the plan of the whole fleet, in the order of its run. */
const fleetPlanOf = (
  { fleet, planFlags = [], lastMember, label }: Planned,
  plans: readonly ClusterPlan[],
): FleetPlan => {
  const clusters = orderOf(fleet).flatMap((path) => {
    const plan = plans.find(({ cluster }) => cluster === path);
    return plan === undefined ? [] : [{ ...plan, cluster: label(path) }];
  });
  return joinPlans(fleet, [...lastMember, ...planFlags], clusters);
};
const makeOutdatedError = (input: Planned, message: string, now: string | null): AppError =>
  new AppError('unsafe', `refused: ${message}; no changes were made`, {
    code: 'PLAN_OUTDATED',
    tryThis: [after('run', [...input.line, '--dry-run'], 'and review the new plan')],
    data: { given: input.digest ?? null, now },
  });
const assertReviewed = (input: Planned, { digest }: FleetPlan): void => {
  if (input.digest === undefined || digest === input.digest) return;
  throw makeOutdatedError(input, `the fleet no longer matches the plan ${input.digest}`, digest);
};
/** Checks every cluster and plans the whole fleet. Makes no changes. */
export const planFleet = async (input: Planned): Promise<FleetPlan> => {
  const plan = fleetPlanOf(input, await checkAll(input, new Set()));
  assertReviewed(input, plan);
  return plan;
};
type Reviewed = ReadonlyMap<string, string | null>;
const reviewedOf = (plans: readonly ClusterPlan[]): Reviewed =>
  new Map(plans.map(({ cluster, digest }) => [cluster, digest]));
/**
 * Returns the reviewed plan of each cluster; undefined for a run without a digest. A run that continues belongs to
 * the digest of its start. Its started clusters have other plans now, so the journal supplies their reviewed ones.
 */
const findReviewed = (
  input: FleetInput,
  { before }: FleetJournal,
  plans: readonly ClusterPlan[],
): Reviewed | undefined => {
  const opened = before.find((entry) => entry.kind === 'opened');
  const given = input.digest;
  if (opened === undefined) {
    if (given === undefined) return undefined;
    assertReviewed(input, fleetPlanOf(input, plans));
    return reviewedOf(plans);
  }
  if (opened.digest !== given)
    throw makeOutdatedError(
      {
        ...input,
        line: opened.digest === undefined ? input.line : [...input.line, '--digest', opened.digest],
      },
      `the interrupted run of the fleet has ${opened.digest === undefined ? 'no digest' : `the digest ${opened.digest}`}, not ${given ?? 'none'}`,
      opened.digest ?? null,
    );
  if (given === undefined) return undefined;
  const started = startedClusters(before);
  const stored = new Map(opened.plans);
  const joined = orderOf(input.fleet).map((cluster): ClusterPlan => {
    const plan = plans.find((one) => one.cluster === cluster);
    const digest = started.has(cluster) ? stored.get(cluster) : plan?.digest;
    return { cluster, from: null, to: null, order: [], digest: digest ?? null };
  });
  assertReviewed(input, fleetPlanOf(input, joined));
  return reviewedOf(joined);
};
/** Only one process at a time can run a fleet on this machine. */
const lockFleet = async (host: Host, directory: string): Promise<() => Promise<void>> => {
  const [path, mine] = [`${directory}/lock`, thisProcess(host)];
  await host.files.makeDirectory(directory, 0o700);
  const seen = await tryLockUntilHolderIsKnown(host, path, mine);
  if (seen !== true) {
    const held = seen.kind === 'held' ? seen : undefined;
    const isUnknown = held?.by !== undefined && processState(host, held.by) === 'unknown';
    const who = held?.by === undefined ? 'another command' : describeProcess(host, held.by);
    throw new AppError(
      'unsafe',
      `no changes were made: ${who} is already upgrading this fleet, or was interrupted`,
      {
        code: 'LOCKED',
        tryThis: isUnknown
          ? waysPast(host, held?.by, held?.claim ?? path)
          : ['wait until that run has finished'],
      },
    );
  }
  return () => unlock(host, path, mine);
};
const upgradeOneCluster = async (
  input: FleetInput,
  journal: FleetJournal,
  cluster: string,
  { wasBegun, reviewed }: Pick<ChildOptions, 'wasBegun' | 'reviewed'>,
) => {
  const { host, lastMember, planFlags = [], info, label } = input;
  info(`${label(cluster)}: ${wasBegun ? 'continues' : 'starts'}`);
  journal.write({ kind: 'began', cluster });
  const done = await upgradeCluster(host, cluster, { lastMember, planFlags, wasBegun, reviewed });
  const outcome = done.ok ? 'done' : 'failed';
  journal.write({ kind: 'ended', cluster, outcome, message: done.detail.message });
  // The row of the cluster contains its message.
  info(`${label(cluster)}: ${done.detail.isHeld === true ? 'held' : outcome}`);
  return done;
};
const tellBefore = ({ fleet, info, label }: FleetInput, { before }: FleetJournal): void => {
  if (before.length === 0) return;
  const done = completedClusters(before).length;
  const open = [...inProgress(before)].map(label);
  const begun = open.length === 0 ? '' : `; started and unfinished: ${open.join(', ')}`;
  info(
    `resuming an interrupted run of ${fleet.name}: ${done} of ${fleet.clusters.length} clusters are finished${begun}`,
  );
};
/**
 * Runs a fleet, or continues a fleet run that was killed. The completed work is determined by checking each
 * cluster, not from the journal.
 */
export async function* upgradeFleet(input: FleetInput): AsyncGenerator<FleetRow<ChildDetail>> {
  const { host, fleet, file, state, signal } = input;
  const directory = fleetDirectory(state, file, fleet.name);
  const release = await lockFleet(host, directory);
  try {
    const journal = await openFleetJournal(host, directory);
    try {
      const begun = inProgress(journal.before);
      tellBefore(input, journal);
      const reviewed = findReviewed(input, journal, await checkAll(input, begun));
      await input.confirm();
      const review = input.digest === undefined ? {} : { digest: input.digest, plans: [...(reviewed ?? [])] };
      if (journal.before.length === 0)
        journal.write({ kind: 'opened', fleet: fleet.name, clusters: fleet.clusters, ...review });
      yield* runFleet(
        fleet,
        (cluster) =>
          upgradeOneCluster(input, journal, cluster, {
            wasBegun: begun.has(cluster),
            reviewed: reviewed?.get(cluster),
          }),
        () => !signal.aborted,
      );
      journal.write({ kind: 'closed' });
    } finally {
      journal.close();
    }
  } finally {
    await release();
  }
}

/** The line that the command prints for one cluster. */
export const fleetRow = ({ cluster, outcome, detail }: FleetRow<ChildDetail>, label: string) => ({
  cluster: label,
  file: cluster,
  outcome: detail?.isHeld === true ? 'held' : outcome,
  message: detail?.message ?? 'not started: an earlier cluster failed, or the run received a signal',
  duration_ms: detail?.report?.duration_ms ?? null,
  exit_code: detail?.exit_code ?? null,
  report: detail?.report ?? null,
});
