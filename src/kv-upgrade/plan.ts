import { createHash } from 'node:crypto';
import { lintFile } from './configuration/configuration.ts';
import type { Driver } from './supervisors/driver.ts';
import { findingsOf } from './guards/all.ts';
import { isGood } from './guards/quorum-survives.ts';
import { settleOf, v2BytesOf } from './guards/v2-settle.ts';
import { minorOf, nextMinor, rowOf } from '../api-specs/etcd/versions.ts';
import type { Minor } from '../api-specs/etcd/versions.ts';
import type {
  ClusterFile,
  Finding,
  MemberSeen,
  MemberSpec,
  Observation,
  Plan,
  PlanOptions,
  Refusal,
  MemberStep,
  Step,
} from './types.ts';

export type PlanInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: PlanOptions;
  readonly describe: Driver['describe'];
  readonly id: string;
};

export const wayOf = ({
  observation,
  cluster,
  options,
}: Pick<PlanInput, 'observation' | 'cluster' | 'options'>): {
  readonly from?: Minor;
  readonly to?: Minor;
} => {
  const from = observation.lowest;
  const to = (options.to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from))) as
    | Minor
    | undefined;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};

/** True when there is nothing left to do: every member and the cluster are where the plan would end. */
export const isArrived = (observation: Observation, to: Minor): boolean =>
  observation.members.every(({ server_version }) => minorOf(server_version) === to) &&
  minorOf(observation.cluster_version) === to;

/** Sick members first (they cost no quorum), then followers as the file lists them, the leader last. Members that are there already are left alone. */
const orderOf = (observation: Observation, to: Minor): MemberSeen[] => {
  const rank = (member: MemberSeen): number => (!isGood(member) ? 0 : member.is_leader ? 2 : 1);
  return observation.members
    .filter(({ server_version }) => minorOf(server_version) !== to)
    .toSorted((a, b) => rank(a) - rank(b));
};

type Making = {
  readonly input: PlanInput;
  readonly from: Minor;
  readonly to: Minor;
  readonly order: readonly MemberSeen[];
};

const stepOf = <K extends MemberStep['kind']>(
  making: Making,
  seen: MemberSeen,
  kind: K,
  title: string,
  why: string,
) => {
  const member = making.input.cluster.members.find(({ name }) => name === seen.name) as MemberSpec;
  const commands = making.input.describe(kind, member, 'new');
  return { id: `${seen.name}.${kind}`, kind, member: seen.name, title, why, commands };
};

const handOver = (making: Making, seen: MemberSeen): Step[] => {
  const upgraded = making.input.observation.members.find(
    ({ name, server_version }) => name !== seen.name && minorOf(server_version) === making.to,
  )?.name;
  const target = making.order[0]?.name === seen.name ? upgraded : making.order[0]?.name;
  const canMove = rowOf(seen.server_version)?.can.moveLeader === true && target !== undefined;
  return seen.is_leader && canMove
    ? [
        {
          ...stepOf(
            making,
            seen,
            'move-leader',
            `hand the leadership from ${seen.name} to ${target}`,
            'an upgraded member leads from now on: it moves once',
          ),
          target,
        },
      ]
    : [];
};

/** Before 3.3 the stop is the only way to hand over, and writes that arrive in those milliseconds are answered by nobody. */
const handsOver = ({ input }: Making, seen: MemberSeen): string =>
  seen.is_leader &&
  input.observation.members.length > 1 &&
  rowOf(seen.server_version)?.can.moveLeader === false
    ? '; it leads and hands over while it stops: a write of that moment may wait until its client gives up'
    : '';

const holdWhy = ({ input: { options }, order }: Making, index: number): string | undefined => {
  if (index === order.length - 1 && options.hold_last) return '--hold-last';
  return options.hold_after === index ? `--hold-after ${index}` : undefined;
};

const memberSteps = (making: Making, seen: MemberSeen, index: number): Step[] => {
  const { input, from, to } = making;
  const isLast = index === making.order.length - 1;
  const held = holdWhy(making, index);
  const { cluster, options, observation } = input;
  const { name } = seen;
  const spec = cluster.members.find((member) => member.name === name);
  const make = <K extends MemberStep['kind']>(kind: K, title: string, why: string) =>
    stepOf(making, seen, kind, title, why);
  const settle = settleOf(v2BytesOf(observation));
  const isRewritten =
    spec?.config_file !== undefined &&
    seen.host?.config !== undefined &&
    lintFile(seen.host.config, to).some(({ isFixed }) => isFixed);
  const noReturn = isLast ? { is_point_of_no_return: true as const } : {};
  const isUp = seen.is_reachable;
  return [
    ...(held === undefined
      ? []
      : [
          make(
            'hold',
            `hold before ${name}`,
            `${held}: the cluster stays mixed, everything can still go back`,
          ),
        ]),
    // spec/store#procedure-2: a snapshot backup of each member; it holds only v3 data.
    ...(isUp
      ? [make('snapshot', `save and verify a snapshot of ${name}`, 'a backup before the member is touched')]
      : []),
    ...handOver(making, seen),
    ...(isUp
      ? [
          {
            ...make(
              'stop',
              `stop ${name} (${seen.server_version})`,
              `${isLast ? `the last member of ${from}: once it runs ${to} the cluster becomes ${to}` : 'one member at a time; the others keep the quorum'}${handsOver(making, seen)}`,
            ),
            ...noReturn,
          },
        ]
      : []),
    ...(options.copy_data
      ? [
          make(
            'copy-data',
            `copy the data directory of ${name}`,
            'a copy of a stopped member holds v2 data too',
          ),
        ]
      : []),
    ...(isRewritten
      ? [
          make(
            'configure',
            `rewrite ${spec?.config_file} for ${to}`,
            'the new version would not start with it; the old text is kept',
          ),
        ]
      : []),
    make(
      'start',
      `start ${name} with ${seen.host?.new_binary_version ?? to}`,
      'same data directory, same member',
    ),
    make(
      'gate',
      `prove ${name} good`,
      'version, identity, health, leader, a write through it read back through the others, lag, alarms, stable',
    ),
    ...(settle !== undefined && !isLast
      ? [{ ...make('settle', `wait ${settle.seconds} s`, settle.why), wait_seconds: settle.seconds }]
      : []),
  ];
};

/** Everything that decides what will be done; times, sizes and indexes do not. */
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
    .update(JSON.stringify([plan.cluster, plan.from, plan.to, plan.order, members, steps, plan.options]))
    .digest('hex');
};

/** The plan, or all reasons against it. Pure: no clock, no input, no output. */
export const planFrom = (input: PlanInput): Plan | Refusal => {
  const { observation, cluster, options } = input;
  const { from, to } = wayOf(input);
  const findings: Finding[] = findingsOf({ observation, cluster, options, from, to });
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0 || from === undefined || to === undefined) return { refused, findings, observation };
  const order = orderOf(observation, to);
  const making = { input, from, to, order };
  const steps: Step[] = [
    ...order.flatMap((seen, i) => memberSteps(making, seen, i)),
    {
      id: 'confirm',
      kind: 'confirm',
      title: `wait until every member reports cluster ${to}`,
      why: 'the leader looks every five seconds',
      commands: [],
    },
  ];
  const content = {
    format: 1 as const,
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
