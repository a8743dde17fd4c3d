import { createHash } from 'node:crypto';
import {
  type Minor,
  minorOf,
  nextMinor,
  previousMinor,
  rowOf,
  type VersionTable,
} from '../../api-specs/etcd/versions.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { currentGuard } from '../engine/journal.ts';
import { stepId } from '../engine/steps.ts';
import type {
  ClusterFile,
  Finding,
  HostFacts,
  MemberStatus,
  MemberSpec,
  MemberStep,
  Observation,
  Plan,
  PlanKind,
  PlanOptions,
  Refusal,
  Step,
} from '../engine/model.ts';
import { shellLine } from '../../core/shell.ts';
import { lintFile } from './configuration/configuration.ts';
import { findingsOf, guards } from './guards/all.ts';
import { acceptable } from './guards/guard.ts';
import { isGood, isInOrder } from './guards/membership.ts';
import { checksV2, settleOf, v2BytesOf, v2CheckLine } from './guards/store.ts';
import { crosses, kindOf } from './plan-kind.ts';
import type { Driver } from './supervisors/driver.ts';

type StepInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: PlanOptions;
  readonly describe: Driver['describe'];
  /** Absent: an upgrade. */
  readonly kind?: PlanKind | undefined;
};
/** The input for the steps of every member. */
type Upgrade = {
  readonly input: StepInput;
  readonly from: Minor;
  readonly to: Minor;
  readonly order: readonly MemberStatus[];
};
/** The member whose steps are created, and its position in the order. */
type Turn = Upgrade & { readonly seen: MemberStatus; readonly index: number; readonly isLast: boolean };
const stepOf = <K extends MemberStep['kind']>({ input, seen }: Turn, kind: K, title: string, why: string) => {
  const member = input.cluster.members.find(({ name }) => name === seen.name) as MemberSpec;
  const commands = input.describe(kind, member, 'new');
  return { id: stepId(seen.name, kind), kind, member: seen.name, title, why, commands };
};
const holdReason = ({ input: { options }, index, isLast }: Turn): string | undefined => {
  if (isLast && options.hold_last) return '--hold-last';
  return options.hold_after === index ? `--hold-after ${index}` : undefined;
};
const holdSteps = (turn: Turn): Step[] => {
  const reason = holdReason(turn);
  if (reason === undefined) return [];
  const why = `${reason}: the cluster stays on mixed versions, and every member can still be rolled back`;
  return [stepOf(turn, 'hold', `hold before ${turn.seen.name}`, why)];
};
/** spec/store#procedure-2: a snapshot backup of each member; it holds only v3 data. */
const snapshotSteps = (turn: Turn): Step[] => {
  const { name, is_reachable } = turn.seen;
  const title = `save and verify a snapshot of ${name}`;
  return is_reachable ? [stepOf(turn, 'snapshot', title, 'a backup before the member is changed')] : [];
};
/**
 * spec/store#procedure-2: a member that is down or unhealthy comes first, and a snapshot of a healthy member
 * comes before it.
 */
const withFirstSnapshot = (upgrade: Upgrade, steps: readonly Step[]): readonly Step[] => {
  const { order, input } = upgrade;
  const [first] = order;
  const seen = [...order, ...input.observation.members].find(isGood);
  if (first === undefined || isGood(first) || seen === undefined) return steps;
  const [own] = snapshotSteps({ ...upgrade, seen, index: 0, isLast: false });
  const why = `no member is changed before a backup of a healthy member exists; opsctl repeats it if it is older than one minute when ${seen.name} is stopped`;
  return [{ ...(own as Step), why }, ...steps.filter(({ id }) => id !== own?.id)];
};
const moveLeaderSteps = (turn: Turn): Step[] => {
  const { input, to, order, seen } = turn;
  const upgraded = input.observation.members.find(
    ({ name, server_version }) => name !== seen.name && minorOf(server_version) === to,
  )?.name;
  const target = order[0]?.name === seen.name ? upgraded : order[0]?.name;
  const canMove = rowOf(seen.server_version)?.can.moveLeader === true && target !== undefined;
  if (!seen.is_leader || !canMove) return [];
  const title = `transfer the leadership from ${seen.name} to ${target}`;
  return [
    {
      ...stepOf(
        turn,
        'move-leader',
        title,
        'an upgraded member is the leader from now on, so the leadership moves only once',
      ),
      target,
    },
  ];
};
/** Before 3.3, only a stop moves the leadership, and writes in those milliseconds get no response. */
const handsOver = ({ input, seen }: Turn): string =>
  seen.is_leader &&
  input.observation.members.length > 1 &&
  rowOf(seen.server_version)?.can.moveLeader === false
    ? '; it is the leader and transfers the leadership while it stops: a write at that moment may wait until its client gives up'
    : '';
const stopSteps = (turn: Turn): Step[] => {
  const { from, to, seen, isLast } = turn;
  // A member that does not respond may still run, for example if it is suspended: it keeps its ports and its data directory.
  if (!seen.is_reachable && seen.host?.is_running === false) return [];
  const isCrossing = isLast && crosses(turn.input);
  const why = isCrossing
    ? `the last member of ${from}: once it runs ${to} the cluster becomes ${to}`
    : 'one member at a time; the others keep the quorum';
  return [
    {
      ...stepOf(
        turn,
        'stop',
        `stop ${seen.name} (${seen.server_version ?? 'it does not respond'})`,
        `${why}${handsOver(turn)}`,
      ),
      ...(isCrossing ? { is_point_of_no_return: true as const } : {}),
    },
  ];
};
const copyDataSteps = (turn: Turn): Step[] => {
  const title = `copy the data directory of ${turn.seen.name}`;
  return turn.input.options.copy_data
    ? [stepOf(turn, 'copy-data', title, 'a copy of a stopped member also contains v2 data')]
    : [];
};
const checkDataSteps = (turn: Turn): Step[] => {
  const path = turn.input.cluster.members.find(({ name }) => name === turn.seen.name)?.data_dir;
  if (!checksV2(turn.input.cluster, turn) || path === undefined) return [];
  const step = stepOf(
    turn,
    'check-data',
    `check ${turn.seen.name} for v2 data`,
    `${turn.to} does not start with it`,
  );
  return [{ ...step, commands: [shellLine(v2CheckLine(turn.input.cluster, path))] }];
};
/** Returns whether the new version needs other settings in the configuration file of the member. */
export const rewritesConfig = (
  spec: MemberSpec | undefined,
  config: HostFacts['config'],
  to: Minor,
): boolean =>
  spec?.config_file !== undefined &&
  config !== undefined &&
  lintFile(config, to).some(({ isFixed, isLater }) => isFixed === true && isLater !== true);
const configureSteps = (turn: Turn): Step[] => {
  const { input, to, seen } = turn;
  const spec = input.cluster.members.find(({ name }) => name === seen.name);
  const file = spec?.config_file;
  if (kindOf(input) === 'restart')
    return file === undefined || spec?.new_config_file === undefined
      ? []
      : [stepOf(turn, 'configure', `replace ${file} with ${spec.new_config_file}`, 'the old file is kept')];
  const why = 'the new version would not start with it; the old file is kept';
  return rewritesConfig(spec, seen.host?.config, to)
    ? [stepOf(turn, 'configure', `rewrite ${file} for ${to}`, why)]
    : [];
};
const startAndGateSteps = (turn: Turn): Step[] => {
  const { name, host } = turn.seen;
  const member = turn.input.cluster.members.find((one) => one.name === name) as MemberSpec;
  const replaces = turn.input.describe('start', member, 'old');
  const start = stepOf(
    turn,
    'start',
    `start ${name} with ${host?.new_binary_version ?? turn.to}`,
    'same data directory, same member',
  );
  return [
    replaces.length === 0 ? start : { ...start, replaces },
    stepOf(
      turn,
      'gate',
      `check that ${name} is healthy`,
      'version, identity, health, readiness, leader, a write through it that the other members return, lag, alarms, stability',
    ),
  ];
};
const settleSteps = (turn: Turn): Step[] => {
  const settle = settleOf(v2BytesOf(turn.input.observation));
  if (settle === undefined || turn.isLast) return [];
  const { seconds, why } = settle;
  return [{ ...stepOf(turn, 'settle', `wait ${seconds} s`, why), wait_seconds: seconds }];
};
/** Returns all steps of one member in their order. */
export const memberSteps = (upgrade: Upgrade, seen: MemberStatus, index: number): Step[] => {
  const turn = { ...upgrade, seen, index, isLast: index === upgrade.order.length - 1 };
  return [
    ...holdSteps(turn),
    ...snapshotSteps(turn),
    ...moveLeaderSteps(turn),
    ...stopSteps(turn),
    ...copyDataSteps(turn),
    ...checkDataSteps(turn),
    ...configureSteps(turn),
    ...startAndGateSteps(turn),
    ...settleSteps(turn),
  ];
};

export type PlanInput = StepInput & { readonly id: string };
type Way = { readonly from?: Minor; readonly to?: Minor };
const wayBack = ({ highest, lowest }: Observation, kind: PlanKind | undefined): Way => {
  const from = kind === 'downgrade' ? highest : lowest;
  const to = from === undefined ? undefined : kind === 'downgrade' ? previousMinor(from) : from;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};
export const wayOf = ({
  observation,
  cluster,
  options,
  kind,
}: Pick<PlanInput, 'observation' | 'cluster' | 'options' | 'kind'>): Way => {
  if (kind === 'downgrade' || kind === 'restart') return wayBack(observation, kind);
  const from = observation.lowest;
  const to = (options.to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from))) as
    | Minor
    | undefined;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};
/** Returns true if every member and the cluster already run the target version. */
export const isArrived = (observation: Observation, to: Minor): boolean =>
  observation.members.every(({ server_version }) => minorOf(server_version) === to) &&
  minorOf(observation.cluster_version) === to;
/**
 * Unhealthy members come first (they cost no quorum), then followers in the order of the file, then the
 * leader. Members that already run the target version are left out.
 */
const orderOf = (observation: Observation, to: Minor, kind: PlanKind | undefined): MemberStatus[] => {
  const rank = (member: MemberStatus): number => (!isGood(member) ? 0 : member.is_leader ? 2 : 1);
  return observation.members
    .filter((member) => isInOrder(member, to, kind))
    .toSorted((a, b) => rank(a) - rank(b));
};
/** Covers everything that affects the steps; times, sizes and indexes do not. */
const digestOf = (plan: Omit<Plan, 'digest' | 'id' | 'made_at'>): string => {
  const members = plan.observation.members.map(
    ({ name, client_url, member_id, cluster_id, server_version, host }) => [
      name,
      client_url,
      member_id,
      cluster_id,
      server_version,
      host?.new_binary_version,
    ],
  );
  const steps = plan.steps.map(({ id, target, wait_seconds, commands }) => [
    id,
    target,
    wait_seconds,
    commands,
  ]);
  return createHash('sha256')
    .update(
      JSON.stringify([
        plan.cluster,
        plan.from,
        plan.to,
        plan.order,
        members,
        steps,
        plan.options,
        ...(plan.kind === undefined ? [] : [plan.kind]),
      ]),
    )
    .digest('hex');
};
const enableStep = (to: Minor): Step => ({
  id: 'enable-downgrade',
  kind: 'enable-downgrade',
  title: `validate and enable the downgrade to ${to}, and wait until every member reports cluster and storage ${to}`,
  why: 'a member of the older version that starts earlier keeps the cluster where it is',
  commands: [],
});
const confirmStep = (to: Minor): Step => ({
  id: 'confirm',
  kind: 'confirm',
  title: `wait until every member reports cluster ${to}`,
  why: `the leader checks every ${rowOf(to)?.monitorSeconds ?? 5} seconds`,
  commands: [],
});
/** Creates the plan, or returns all reasons against it. Pure: no clock, no input, no output. */
export const planFrom = (input: PlanInput): Plan | Refusal => {
  const { observation, cluster, options, kind } = input;
  const { from, to } = wayOf(input);
  const findings: Finding[] = findingsOf({ observation, cluster, options, from, to, kind });
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0 || from === undefined || to === undefined) return { refused, findings, observation };
  const order = orderOf(observation, to, kind);
  const making = { input, from, to, order };
  const steps: Step[] = [
    ...(kind === 'downgrade' ? [enableStep(to)] : []),
    ...withFirstSnapshot(
      making,
      order.flatMap((seen, i) => memberSteps(making, seen, i)),
    ),
    ...(kind === 'restart' ? [] : [confirmStep(to)]),
  ];
  const content = {
    format: 1 as const,
    ...(kind === undefined || kind === 'upgrade' ? {} : { kind }),
    cluster: cluster.name,
    from,
    to,
    order: order.map(({ name }) => name),
    steps,
    findings,
    observation,
    options,
  };
  return { ...content, id: input.id, made_at: observation.taken_at, digest: digestOf(content) };
};
export const isRefusal = (made: Plan | Refusal): made is Refusal => 'refused' in made;

/** The values of a plan's flags, each under its name. */
type Given = {
  readonly accept: readonly string[];
  readonly to?: string | undefined;
  readonly 'copy-data'?: boolean | undefined;
  readonly 'hold-last'?: boolean | undefined;
  readonly 'hold-after'?: number | undefined;
  readonly 'stable-for'?: number | undefined;
  readonly 'stable-before-last'?: number | undefined;
};
const whyNotAccepted = (name: string, allowed: readonly string[]): string => {
  if (!guards.some(({ id }) => id === name)) return `${name} is not a guard`;
  // A restore accepts other guards than an upgrade, and a guard of an upgrade may not apply to it.
  return acceptable.every((one) => allowed.includes(one))
    ? `${name} cannot be accepted: the upgrade would damage the cluster`
    : `${name} is not a guard that this command accepts`;
};
/** Returns the current names of guards. Rejects a guard that cannot be accepted as a warning. */
export const acceptedGuards = (
  names: readonly string[] = [],
  allowed: readonly string[] = acceptable,
): string[] => {
  const accept = names.map(currentGuard);
  for (const name of accept) {
    if (allowed.includes(name)) continue;
    throw invalidArguments([
      problem('--accept', 'enum', whyNotAccepted(name, allowed), `one of ${allowed.join(', ')}`),
    ]);
  }
  return accept;
};
/** Flags override the cluster file, which overrides the defaults. */
export const planOptions = (
  given: Given,
  cluster: ClusterFile,
  versions: VersionTable | undefined,
): PlanOptions => {
  return {
    ...(versions === undefined ? {} : { versions }),
    ...(given.to === undefined ? {} : { to: given.to as Minor }),
    copy_data: given['copy-data'] ?? false,
    hold_last: given['hold-last'] ?? false,
    ...(given['hold-after'] === undefined ? {} : { hold_after: given['hold-after'] }),
    stable_seconds: given['stable-for'] ?? cluster.timeouts?.stable_seconds ?? 1,
    stable_before_last_seconds:
      given['stable-before-last'] ??
      cluster.timeouts?.stable_before_last_seconds ??
      // A simulated cluster has no users.
      (cluster.simulated === true ? 2 : 10),
    accept: given.accept,
  };
};
