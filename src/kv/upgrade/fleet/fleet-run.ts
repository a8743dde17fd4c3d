import { after } from '../../../core/next.ts';
import { AppError, problem } from '../../../core/problem.ts';
import { thisProcess, tryLockUntilHolderIsKnown, unlock } from '../../../platform/file-lock.ts';
import type { Host } from '../../../platform/host.ts';
import { describeProcess, processState, waysPast } from '../../../platform/process-identity.ts';
import { Scalar, stringify } from '../../../platform/yaml.ts';
import { shellLine } from '../../../core/shell.ts';
import { containerArguments, refuseControl } from '../../snapshots/schedule.ts';
import type { Report } from '../../engine/model.ts';
import {
  type FleetFormat,
  type Fleet,
  type FleetJournal,
  type FleetRow,
  type ClusterPlan,
  type FleetPlan,
  joinPlans,
  type Upgraded,
  completedClusters,
  fleetDirectory,
  inProgress,
  openFleetJournal,
  orderOf,
  runFleet,
  startedClusters,
} from './fleet-file.ts';

/** Flags that the plan of each cluster records, such as --copy-data. A resumed run reads them from its plan. */
export type PlanFlags = readonly string[];
export type EmitOptions = {
  readonly fleet: Fleet;
  /** Flags that decide how the run handles the last member of each cluster. */
  readonly lastMember: readonly string[];
  readonly planFlags?: PlanFlags;
  readonly image?: string | undefined;
};

/** Names of steps and keys of the ConfigMap follow RFC 1123. */
const stepName = (label: string): string =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .replace(/^-+|-+$/g, '');

/**
 * Returns a unique label for each cluster, unique as a step name too, in the order of the clusters: the name
 * of the file, otherwise with its directory, otherwise with a number.
 */
export const clusterLabels = (clusters: readonly string[]): Map<string, string> => {
  const plain = (text: string): string => text.replace(/\.[^.]+$/, '').replace(/[^A-Za-z0-9_.-]+/g, '-');
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const cluster of clusters) {
    const parts = cluster.split('/').filter((part) => part !== '');
    let label = '';
    for (let count = 1; count <= parts.length; count += 1) {
      label = plain(parts.slice(-count).join('/'));
      const isUnique = clusters.every(
        (other) =>
          other === cluster || plain(other.split('/').filter(Boolean).slice(-count).join('/')) !== label,
      );
      if (isUnique) break;
    }
    let own = label;
    for (let number = 2; taken.has(stepName(own)); number += 1) own = `${label}-${number}`;
    taken.add(stepName(own));
    names.set(cluster, own);
  }
  return names;
};

/** Returns the waves: first only the canary, then groups of the parallel limit. Pure. */
export const wavesOf = (fleet: Fleet): string[][] => {
  const [canary, ...rest] = orderOf(fleet);
  const waves: string[][] = canary === undefined ? [] : [[canary]];
  for (let i = 0; i < rest.length; i += fleet.atOnce) waves.push(rest.slice(i, i + fleet.atOnce));
  return waves;
};

const group = 'etcd_clusters';
const program = "{{ opsctl_program | default('opsctl') }}";
const file = '{{ opsctl_cluster_file }}';
/** Returns a value that Ansible does not treat as a template: it would run the commands of a lookup in a path. */
const plainValue = (text: string): string | Scalar => {
  if (!/\{[{%#]/.test(text)) return text;
  const scalar = new Scalar(text);
  scalar.tag = '!unsafe';
  return scalar;
};
const command = (...words: string[]): object => ({
  argv: [program, 'kv', ...words.map(plainValue), '--cluster', file, '--yes'],
});
/** A run continues when the connection of ansible is interrupted: ansible only polls its state. */
const detached = { async: 86_400, poll: '{{ opsctl_poll_seconds | default(10) | int }}' };

const upgradeTasks = ({ lastMember, planFlags = [] }: EmitOptions): object[] => {
  const isHeld = lastMember.includes('--hold-last');
  return [
    {
      name: 'Upgrade the cluster',
      'ansible.builtin.command': command('upgrade', ...lastMember, ...planFlags, '-o', 'json'),
      register: 'opsctl_upgrade',
      ...detached,
      changed_when: "'already' not in opsctl_upgrade.stdout",
      failed_when: isHeld
        ? "opsctl_upgrade.rc != 0 and not (opsctl_upgrade.rc == 8 and '\"held\"' in opsctl_upgrade.stdout) and 'UNFINISHED_RUN' not in opsctl_upgrade.stderr"
        : "opsctl_upgrade.rc != 0 and 'UNFINISHED_RUN' not in opsctl_upgrade.stderr",
    },
    {
      name: 'Resume an interrupted run',
      'ansible.builtin.command': command('resume', ...lastMember, '-o', 'json'),
      when: "'UNFINISHED_RUN' in opsctl_upgrade.stderr",
      ...detached,
      changed_when: true,
    },
  ];
};

const playbook = (options: EmitOptions): string => {
  const { fleet, planFlags = [] } = options;
  const check = {
    name: plainValue(`Check every cluster of ${fleet.name} before the first one is changed`),
    hosts: group,
    gather_facts: false,
    any_errors_fatal: true,
    tasks: [
      {
        name: 'Plan without changes',
        'ansible.builtin.command': command('upgrade', '--dry-run', ...planFlags, '-o', 'json'),
        register: 'opsctl_check',
        changed_when: false,
        failed_when: "opsctl_check.rc != 0 and 'UNFINISHED_RUN' not in opsctl_check.stderr",
      },
    ],
  };
  const upgrade = {
    name: plainValue(
      `Upgrade ${fleet.name}: the canary, then ${fleet.atOnce} in parallel, stop at the first failure`,
    ),
    hosts: group,
    order: 'inventory',
    serial: [1, fleet.atOnce],
    any_errors_fatal: true,
    max_fail_percentage: 0,
    gather_facts: false,
    tasks: upgradeTasks(options),
  };
  return `# ansible-playbook -i inventory.yaml playbook.yaml; opsctl kv fleet FILE --emit ansible-inventory writes the inventory.
# The inventory selects the machine that runs opsctl; opsctl_program is its path there. The same command resumes an interrupted run.
${stringify([check, upgrade])}`;
};

const inventory = ({ fleet }: EmitOptions): string => {
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const hosts = Object.fromEntries(
    order.map((cluster) => [
      labels.get(cluster) ?? cluster,
      { opsctl_cluster_file: plainValue(cluster), ansible_connection: 'local' },
    ]),
  );
  return `# The canary is first: the order matters. ansible_connection: local runs opsctl on the control node;
# use ansible_host instead to run it on a machine near the cluster, which must then have the cluster file.
${stringify({ all: { children: { [group]: { hosts } } } })}`;
};

/** One run of opsctl for the cluster that a step names. */
const argoTemplate = (name: string, words: readonly string[], image: string | undefined): object => ({
  name,
  inputs: { parameters: [{ name: 'cluster' }] },
  container: {
    image,
    args: [
      ...containerArguments(['kv', ...words]),
      '--cluster',
      '{{inputs.parameters.cluster}}',
      '--yes',
      '-o',
      'json',
    ],
    env: [{ name: 'OPSCTL_HOME', value: '/work' }],
    volumeMounts: [
      { name: 'clusters', mountPath: '/etc/opsctl', readOnly: true },
      { name: 'work', mountPath: '/work' },
    ],
  },
});

const argo = ({ fleet, lastMember, planFlags = [], image }: EmitOptions): string => {
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const nameOf = (cluster: string): string => stepName(labels.get(cluster) ?? cluster);
  const step = (template: string) => (cluster: string) => ({
    name: `${template}-${nameOf(cluster)}`,
    template,
    arguments: { parameters: [{ name: 'cluster', value: `/etc/opsctl/${nameOf(cluster)}.yaml` }] },
  });
  const name = stepName(`opsctl-fleet-${fleet.name}`);
  const files = order.map((cluster) => `--from-file=${nameOf(cluster)}.yaml=${cluster}`);
  const create = shellLine(['kubectl', 'create', 'configmap', name, ...files]);
  const steps = [order.map(step('check')), ...wavesOf(fleet).map((wave) => wave.map(step('upgrade')))];
  const spec = {
    entrypoint: 'fleet',
    // The claim stores the journals of all clusters: a resubmitted workflow continues where this workflow
    // stopped.
    volumes: [
      { name: 'clusters', configMap: { name } },
      { name: 'work', persistentVolumeClaim: { claimName: name } },
    ],
    templates: [
      { name: 'fleet', steps },
      argoTemplate('check', ['upgrade', '--dry-run', ...planFlags], image),
      argoTemplate('upgrade', ['upgrade', ...lastMember, ...planFlags], image),
    ],
  };
  const metadata = { generateName: `${name}-` };
  const object = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow', metadata, spec };
  return `# ${refuseControl(create, 'a comment', 'rename the file')}; the claim ${name} keeps the journals.
# A group of steps starts when all steps of the previous group have succeeded; a failed step ends the workflow.
${stringify(object)}`;
};

const texts: Readonly<Record<FleetFormat, (options: EmitOptions) => string>> = {
  ansible: playbook,
  'ansible-inventory': inventory,
  argo,
};

/**
 * Returns the file for an existing engine: it runs opsctl for each cluster, first the canary, then waves.
 * Pure.
 */
export const fleetText = (format: FleetFormat, options: EmitOptions): string => texts[format](options);

/** The result of one cluster's own run in a child process. */
export type ChildDetail = {
  readonly exit_code: number | null;
  readonly message: string;
  readonly report?: Report;
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
};
const parseLine = <Line>(text: string): Line | undefined => {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
};
const runSelf = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const [command, ...first] = host.self;
  // No signal is passed: a Ctrl-C reaches the child directly and stops it between two members.
  const { code, stdout, stderr } = await host.processes.run(command, [...first, ...words, '-o', 'json']);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const complaint = parseLine<{ readonly code?: string; readonly message?: string }>(last);
  const answer = parseLine<ChildAnswer>(stdout);
  return {
    code,
    answer,
    error: complaint?.code,
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
const detailOf = ({ code, answer, message }: Ended): ChildDetail => ({
  exit_code: code,
  message,
  ...(answer?.run === undefined || answer?.members === undefined ? {} : { report: answer as Report }),
});
const isHeld = ({ answer, error }: Ended): boolean => answer?.outcome === 'held' || error === 'HELD';
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
/** Upgrades one cluster, or continues the run that a killed fleet run had started there. */
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
  const ended = isOver ? await runSelf(host, ['kv', 'upgrade', ...flags, ...planFlags]) : resumed;
  return { ok: ended.code === 0 || isHeld(ended), detail: detailOf(ended) };
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
  const { message } = done.detail;
  journal.write({ kind: 'ended', cluster, outcome: done.ok ? 'done' : 'failed', message });
  info(`${label(cluster)}: ${message}`);
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
  outcome: detail?.report?.outcome === 'held' ? 'held' : outcome,
  message: detail?.message ?? 'not started: an earlier cluster failed, or the run received a signal',
  duration_ms: detail?.report?.duration_ms ?? null,
  exit_code: detail?.exit_code ?? null,
  report: detail?.report ?? null,
});
