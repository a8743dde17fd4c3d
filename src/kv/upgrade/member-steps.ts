import { crosses, kindOf } from './plan-kind.ts';
import { lintFile } from './configuration/configuration.ts';
import { shellLine } from './cluster/command-line.ts';
import { checksV2, v2CheckLine } from './guards/no-v2-data.ts';
import type { Driver } from './supervisors/driver.ts';
import { settleOf, v2BytesOf } from './guards/store.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type {
  ClusterFile,
  MemberSeen,
  MemberSpec,
  MemberStep,
  Observation,
  PlanKind,
  PlanOptions,
  Step,
} from '../engine/types.ts';

export type StepInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: PlanOptions;
  readonly describe: Driver['describe'];
  /** Absent: an upgrade. */
  readonly kind?: PlanKind | undefined;
};

/** What the steps of every member depend on. */
type Upgrade = {
  readonly input: StepInput;
  readonly from: Minor;
  readonly to: Minor;
  readonly order: readonly MemberSeen[];
};

/** The member whose steps are made, and its place in the order. */
type Turn = Upgrade & { readonly seen: MemberSeen; readonly index: number; readonly isLast: boolean };

const stepOf = <K extends MemberStep['kind']>({ input, seen }: Turn, kind: K, title: string, why: string) => {
  const member = input.cluster.members.find(({ name }) => name === seen.name) as MemberSpec;
  const commands = input.describe(kind, member, 'new');
  return { id: `${seen.name}.${kind}`, kind, member: seen.name, title, why, commands };
};

const holdReason = ({ input: { options }, index, isLast }: Turn): string | undefined => {
  if (isLast && options.hold_last) return '--hold-last';
  return options.hold_after === index ? `--hold-after ${index}` : undefined;
};

const holdSteps = (turn: Turn): Step[] => {
  const reason = holdReason(turn);
  if (reason === undefined) return [];
  const why = `${reason}: the cluster stays mixed, everything can still go back`;
  return [stepOf(turn, 'hold', `hold before ${turn.seen.name}`, why)];
};

/** spec/store#procedure-2: a snapshot backup of each member; it holds only v3 data. */
const snapshotSteps = (turn: Turn): Step[] => {
  const { name, is_reachable } = turn.seen;
  const title = `save and verify a snapshot of ${name}`;
  return is_reachable ? [stepOf(turn, 'snapshot', title, 'a backup before the member is touched')] : [];
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
    { ...stepOf(turn, 'move-leader', title, 'an upgraded member leads from now on: it moves once'), target },
  ];
};

/** Before 3.3 the stop is the only way to hand over, and writes that arrive in those milliseconds are answered by nobody. */
const handsOver = ({ input, seen }: Turn): string =>
  seen.is_leader &&
  input.observation.members.length > 1 &&
  rowOf(seen.server_version)?.can.moveLeader === false
    ? '; it leads and hands over while it stops: a write of that moment may wait until its client gives up'
    : '';

const stopSteps = (turn: Turn): Step[] => {
  const { from, to, seen, isLast } = turn;
  if (!seen.is_reachable) return [];
  const isCrossing = isLast && crosses(turn.input);
  const why = isCrossing
    ? `the last member of ${from}: once it runs ${to} the cluster becomes ${to}`
    : 'one member at a time; the others keep the quorum';
  return [
    {
      ...stepOf(turn, 'stop', `stop ${seen.name} (${seen.server_version})`, `${why}${handsOver(turn)}`),
      ...(isCrossing ? { is_point_of_no_return: true as const } : {}),
    },
  ];
};

const copyDataSteps = (turn: Turn): Step[] => {
  const title = `copy the data directory of ${turn.seen.name}`;
  return turn.input.options.copy_data
    ? [stepOf(turn, 'copy-data', title, 'a copy of a stopped member holds v2 data too')]
    : [];
};

const checkDataSteps = (turn: Turn): Step[] => {
  const path = turn.input.cluster.members.find(({ name }) => name === turn.seen.name)?.data_dir;
  if (!checksV2(turn.input.cluster, turn) || path === undefined) return [];
  const step = stepOf(
    turn,
    'check-data',
    `look for v2 data of ${turn.seen.name}`,
    `${turn.to} does not start with it`,
  );
  return [{ ...step, commands: [shellLine(v2CheckLine(turn.input.cluster, path))] }];
};

const configureSteps = (turn: Turn): Step[] => {
  const { input, to, seen } = turn;
  const spec = input.cluster.members.find(({ name }) => name === seen.name);
  const file = spec?.config_file;
  if (kindOf(input) === 'restart')
    return file === undefined || spec?.new_config_file === undefined
      ? []
      : [
          stepOf(
            turn,
            'configure',
            `put ${spec.new_config_file} in the place of ${file}`,
            'the old text is kept',
          ),
        ];
  const config = seen.host?.config;
  const isRewritten =
    file !== undefined &&
    config !== undefined &&
    lintFile(config, to).some(({ isFixed, isLater }) => isFixed === true && isLater !== true);
  const why = 'the new version would not start with it; the old text is kept';
  return isRewritten ? [stepOf(turn, 'configure', `rewrite ${file} for ${to}`, why)] : [];
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
      'version, identity, health, readiness, leader, a write through it read back through the others, lag, alarms, stable',
    ),
  ];
};

const settleSteps = (turn: Turn): Step[] => {
  const settle = settleOf(v2BytesOf(turn.input.observation));
  if (settle === undefined || turn.isLast) return [];
  const { seconds, why } = settle;
  return [{ ...stepOf(turn, 'settle', `wait ${seconds} s`, why), wait_seconds: seconds }];
};

/** Everything that is done with one member, in the order in which it is done. */
export const memberSteps = (upgrade: Upgrade, seen: MemberSeen, index: number): Step[] => {
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
