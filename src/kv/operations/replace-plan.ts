import { dirname } from 'node:path';
import { type Advice, after, next, adviceText } from '../../core/next.ts';
import { FILE_VARIABLE, findServerFile, variableOf } from '../../api-specs/etcd/server-settings.ts';
import { type Minor, minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { holdText } from '../engine/locks.ts';
import type { ListedMember } from '../client/etcd-client.ts';
import type {
  ClusterFile,
  Finding,
  MemberStatus,
  MemberSpec,
  Observation,
  PathStatus,
} from '../engine/model.ts';
import { argvOf } from '../../core/shell.ts';
import { flagsOf } from '../upgrade/configuration/configuration.ts';
import { newDataFinding } from '../upgrade/guards/disk-space.ts';
import {
  findListed,
  findMixedEntries,
  listStrangers,
  quorumOf,
  repairOf,
} from '../upgrade/guards/membership.ts';
import { alarmMessages } from '../upgrade/guards/store.ts';
import type { Which } from '../upgrade/supervisors/driver.ts';
import { walDirOf } from '../upgrade/supervisors/wal-directory.ts';
import type { OperationPlan, OperationRefusal, OperationStep } from './journal.ts';
import { promotionIsKept } from './membership-plan.ts';
import { condition, disarmStep, healthIgnoringCorrupt, findInOtherMembers, buildPlan } from './plan.ts';

/**
 * Settings of a member that joins with an empty data directory: the current members and the join state. The
 * flag and the configuration key have the same name.
 */
export type JoinSettings = {
  readonly 'initial-cluster': string;
  readonly 'initial-cluster-state': 'existing';
};
export const joinSettings = (initialCluster: string): JoinSettings => ({
  'initial-cluster': initialCluster,
  'initial-cluster-state': 'existing',
});
const wordsOf = (member: MemberSpec, which: Which): readonly string[] | undefined =>
  argvOf(member[`${which}_command`], member[`${which}_binary`]);
/** Returns the arguments with this flag: replaced in either form if it exists, appended otherwise. */
const withFlag = (words: readonly string[], flag: string, value: string): string[] => {
  const at = words.findIndex(
    (word) => word.replace(/^--?/, '').split('=')[0] === flag && word.startsWith('-'),
  );
  if (at < 0) return [...words, `--${flag}=${value}`];
  const isOne = (words[at] as string).includes('=');
  return [...words.slice(0, at), `--${flag}=${value}`, ...words.slice(at + (isOne ? 1 : 2))];
};
/** The version of the other members, which the replaced member will run. */
const minorOfOthers = ({ members }: Observation, name: string): Minor | undefined =>
  minorOf(members.find((one) => one.name !== name && one.is_healthy)?.server_version);
/**
 * How the settings reach the server. A server with a configuration file ignores flags and environment
 * variables.
 */
export type JoinBy = 'file' | 'command' | undefined;
export const joinsBy = (
  { cluster, member, observation }: Pick<ReplaceInput, 'cluster' | 'member' | 'observation'>,
  which: Which,
): JoinBy => {
  if (member.config_file !== undefined) return 'file';
  const by = cluster.driver === 'ssh' ? (cluster.ssh?.then ?? 'local') : (cluster.driver ?? 'local');
  const words = wordsOf(member, which);
  if (by !== 'local' || words === undefined) return undefined;
  // The new process inherits the environment of its predecessor.
  const environment = observation.members.find(({ name }) => name === member.name)?.host?.environment;
  const variable = member.env?.[FILE_VARIABLE] ?? environment?.[FILE_VARIABLE];
  const minor = minorOfOthers(observation, member.name);
  return findServerFile(flagsOf(words.slice(1)), variable, minor) === undefined ? 'command' : undefined;
};
/**
 * Returns the member for this single start. The server rejects a setting that is both a flag and a variable,
 * so each setting keeps its form.
 */
export const joiningMember = (member: MemberSpec, which: Which, settings: JoinSettings): MemberSpec => {
  let words = [...(wordsOf(member, which) ?? [])];
  let env = { ...member.env };
  for (const [flag, value] of Object.entries(settings)) {
    if (env[variableOf(flag)] === undefined) words = withFlag(words, flag, value);
    else env = { ...env, [variableOf(flag)]: value };
  }
  words = words.filter((word) => !/^--?force-new-cluster(=|$)/.test(word));
  return { ...member, env, [`${which}_command`]: words };
};
/** Returns the configuration file with these settings. Preserves comments and order. */
export const joiningFile = async (text: string, settings: JoinSettings): Promise<string> => {
  const { parseDocument } = await import('../../platform/yaml.ts');
  const document = parseDocument(text);
  for (const [key, value] of Object.entries(settings)) document.set(key, value);
  document.delete('force-new-cluster');
  return document.toString({ lineWidth: 0 });
};

export type ReplaceInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly member: MemberSpec;
  /** Findings that the operator accepts as warnings. */
  readonly accept?: readonly string[] | undefined;
};
type Others = readonly MemberStatus[];
const seenOf = ({ observation, member }: ReplaceInput): MemberStatus =>
  observation.members.find(({ name }) => name === member.name) as MemberStatus;
const othersOf = ({ observation, member }: ReplaceInput): Others =>
  observation.members.filter(({ name }) => name !== member.name);
const listedOf = ({ observation, member }: ReplaceInput): ListedMember | undefined =>
  findListed(observation, member);
const peerUrlsOf = (input: ReplaceInput): readonly string[] => {
  const { peer_url, old_command, old_binary } = input.member;
  const flag = flagsOf(argvOf(old_command, old_binary) ?? []).get('initial-advertise-peer-urls');
  return listedOf(input)?.peer_urls ?? (peer_url === undefined ? (flag?.split(',') ?? []) : [peer_url]);
};
/** Returns which command starts the version of the other members. */
const startsOf = (input: ReplaceInput): Which | undefined => {
  const { host } = seenOf(input);
  const minor = minorOfOthers(input.observation, input.member.name);
  if (minor === undefined) return undefined;
  if (minorOf(host?.old_binary_version) === minor) return 'old';
  return minorOf(host?.new_binary_version) === minor ? 'new' : undefined;
};
const othersAreHealthy = (input: ReplaceInput): Finding => {
  const sick = othersOf(input).find(({ is_healthy }) => !is_healthy);
  return condition(
    'others-are-healthy',
    'every other member is healthy',
    sick === undefined
      ? undefined
      : {
          member: sick.name,
          message: `${sick.name} is not healthy (${sick.error ?? sick.health_reason ?? 'unknown'}): two members would be down`,
          hint:
            alarmMessages(input.observation)[0]?.hint ??
            after(`${repairOf([sick], 'start it')} first:`, ['kv', 'status']),
        },
  );
};
const othersAreMajority = (input: ReplaceInput): Finding => {
  const voters = Math.max(
    input.observation.members.filter(({ is_learner }) => !is_learner).length,
    input.observation.listed.filter(({ is_learner }) => !is_learner).length,
  );
  const good = othersOf(input).filter(({ is_healthy, is_learner }) => is_healthy && !is_learner).length;
  const others = othersOf(input).length;
  return condition(
    'others-are-majority',
    `the ${good} other members are a majority`,
    others > 0 && good >= quorumOf(voters)
      ? undefined
      : {
          message: `without ${input.member.name} ${good} of ${voters} members are healthy, but the quorum is ${quorumOf(voters)}: it could not be removed`,
          hint:
            others === 0
              ? next(['kv', 'restore'], 'rebuilds it from a snapshot')
              : after(`${repairOf(othersOf(input), 'start the other members')} first, or`, ['kv', 'restore']),
        },
  );
};
const othersAgree = ({ observation, cluster }: ReplaceInput): Finding => {
  const strangers = listStrangers(observation, cluster);
  return condition(
    'one-cluster',
    'the cluster file contains all members',
    strangers.length === 0
      ? undefined
      : {
          message: `member ${strangers.map(({ name, peer_urls }) => name || peer_urls.join(', ')).join(', ')} is in the cluster but not in the cluster file, or was never started`,
          hint: next(
            ['kv', 'member', 'list'],
            after('; then add it to the file, or', ['kv', 'member', 'remove']),
          ),
        },
  );
};
type Need = {
  readonly guard: string;
  readonly good: string;
  readonly isMet: boolean;
  readonly message: string;
  readonly hint: Advice;
};
/**
 * The server needs the join settings. A unit or container from another tool starts the server with its own
 * flags.
 */
const needsOf = (input: ReplaceInput): Need[] => {
  const { cluster, member } = input;
  const { name, data_dir } = member;
  const which = startsOf(input);
  return [
    {
      guard: 'binary-is-right',
      good: 'its program has the version of the other members',
      isMet: which !== undefined,
      message: `neither old_binary nor new_binary of ${name} has the version that the other members run`,
      hint: after('add it to the cluster file:', ['kv', 'init'], 'writes one'),
    },
    {
      guard: 'join-is-possible',
      good: 'opsctl can start it with --initial-cluster-state existing',
      isMet: joinsBy(input, which ?? 'old') !== undefined,
      message: `driver ${cluster.driver ?? 'local'} starts ${name} with flags that opsctl cannot change`,
      hint: after(
        'add config_file to the cluster file, or',
        ['kv', 'member', 'remove'],
        after(',', ['kv', 'member', 'add', '--learner'], ', and start it by hand'),
      ),
    },
    {
      guard: 'data-directory-is-known',
      good: 'its data directory is known',
      isMet: data_dir !== undefined,
      message: `data_dir of ${name} is not in the cluster file`,
      hint: 'data_dir: PATH',
    },
    {
      guard: 'peer-url-is-known',
      good: 'its peer URL is known',
      isMet: peerUrlsOf(input).length > 0,
      message: `the peer URL of ${name} is unknown`,
      hint: 'peer_url: URL',
    },
  ];
};
const canBeStarted = (input: ReplaceInput): Finding[] =>
  needsOf(input).map(({ guard, good, isMet, message, hint }) =>
    condition(guard, good, isMet ? undefined : { member: input.member.name, message, hint }),
  );
const acceptedIn = ({ accept }: ReplaceInput, found: Finding): Finding =>
  found.level === 'fail' && accept?.includes(found.guard)
    ? { ...found, level: 'warn', message: `${found.message} (accepted)` }
    : found;
/** The server receives the database of the others, and the old data stays. */
const hasSpace = (input: ReplaceInput): Finding => {
  const db = Math.max(0, ...othersOf(input).map(({ db_size_bytes }) => db_size_bytes ?? 0));
  return acceptedIn(input, newDataFinding(input.member.name, seenOf(input).host, db));
};
const moveFinding = (input: ReplaceInput, place: PathStatus | undefined, what: string): Finding => {
  const { name } = input.member;
  const guard = 'data-directories';
  // The content of a mount point moves into a directory inside. This fact covers the log too.
  const isWritable =
    place?.is_mount === true ? seenOf(input).host?.data_dir_writable : place?.beside.is_writable;
  if (place === undefined || isWritable === undefined)
    return {
      ...{ guard, level: 'unknown', member: name },
      message: `cannot check whether the old ${what} of ${name} can be moved aside`,
    };
  const at = place.is_mount === true ? place.real : dirname(place.beside.path);
  const found = condition(
    guard,
    `the old ${what} can be kept next to its directory`,
    isWritable || !place.exists
      ? undefined
      : {
          member: name,
          message: `${at} is not writable: the old ${what} of ${name} could not be moved aside`,
          hint: `run opsctl as a user who can write ${at}`,
        },
  );
  return acceptedIn(input, found);
};
/** The old data is moved after the member was removed, so a move that fails would leave a smaller cluster. */
const dataCanMove = (input: ReplaceInput): Finding[] => {
  const { data_place, wal_place } = seenOf(input).host ?? {};
  return [
    moveFinding(input, data_place, 'data'),
    ...(wal_place === undefined ? [] : [moveFinding(input, wal_place, 'write-ahead log')]),
  ];
};
/** A start in another directory that belongs to no other entry: `one-cluster` reports the directory of another member. */
const usesDirectory = (input: ReplaceInput): Finding[] =>
  (seenOf(input).host?.other_directories ?? []).map(({ where, path }) =>
    acceptedIn(input, {
      guard: 'data-directories',
      level: 'fail',
      member: input.member.name,
      message: `${input.member.name}: ${where} runs on the data directory ${path}; data_dir is ${input.member.data_dir}`,
      hint: 'correct it in the cluster file: opsctl moves the content of data_dir aside',
    }),
  );
const dataIsGivenUp = (input: ReplaceInput): Finding =>
  condition(
    'data-is-given-up',
    'the member does not work now',
    seenOf(input).is_healthy
      ? {
          member: input.member.name,
          message: `${input.member.name} is healthy: opsctl stops it, and it receives all data again from the other members`,
        }
      : undefined,
    'warn',
  );
/** The replacement of the last old member by the new version is the point of no return of an upgrade. */
const holdAllows = (input: ReplaceInput): Finding => {
  const { hold, cluster_version } = input.observation;
  const which = startsOf(input);
  const { host } = seenOf(input);
  const starts = which === 'new' ? host?.new_binary_version : host?.old_binary_version;
  const isCrossing = starts !== undefined && minorOf(starts) !== minorOf(cluster_version);
  return condition(
    'cluster-hold',
    'no hold prevents the version that the member starts',
    hold && isCrossing
      ? {
          member: input.member.name,
          message: `${holdText(hold)}; ${input.member.name} would start ${starts}, while the cluster is ${cluster_version}`,
          hint: next(['kv', 'hold', 'remove'], 'removes the hold'),
        }
      : undefined,
  );
};
const stepsOf = (input: ReplaceInput, isLearner: boolean): OperationStep[] => {
  const { member } = input;
  const { name, data_dir } = member;
  const target = othersOf(input).find(({ is_healthy }) => is_healthy)?.name;
  const step = (kind: OperationStep['kind'], title: string, why?: string): OperationStep => ({
    ...{ id: `${name}.${kind}`, kind, title, member: name },
    ...(why === undefined ? {} : { why }),
  });
  const urls = peerUrlsOf(input).join(', ');
  return [
    ...(seenOf(input).is_leader && target !== undefined
      ? [{ ...step('move-leader', `transfer the leadership from ${name} to ${target}`), target }]
      : []),
    step('stop', `stop ${name} if its process still runs`),
    step(
      'remove',
      `remove ${name} (${urls}) from the cluster`,
      'first, so that the working members form the majority',
    ),
    ...disarmStep(input.observation, listedOf(input)?.id),
    step(
      'set-aside',
      `keep the old content of ${data_dir} next to it`,
      'the member joins with an empty data directory',
    ),
    step(
      'add',
      `add ${name} again${isLearner ? ' as a learner' : ''}`,
      isLearner
        ? 'the member does not vote before it has all data'
        : 'this version does not support learners: the member counts immediately',
    ),
    step('start', `start ${name} with --initial-cluster-state existing`),
    step('catch-up', `wait until ${name} has the data`),
    ...(isLearner ? [step('promote', `make ${name} a voting member`)] : []),
    step('check', `check that ${name} is healthy and has caught up`),
  ];
};
/**
 * Plans a replacement with at most one member down. The other members must be healthy, and the new member
 * does not vote before it has all data. Pure.
 */
export const replacePlan = (asked: ReplaceInput): OperationPlan | OperationRefusal => {
  const { id, observation, member } = asked;
  const input = { ...asked, observation: healthIgnoringCorrupt(observation) };
  const isLearner = othersOf(input).every(
    ({ server_version, is_reachable }) => !is_reachable || rowOf(server_version)?.can.learners === true,
  );
  const [listed, walDir] = [
    listedOf(input),
    walDirOf(member, seenOf(input).host, minorOfOthers(observation, member.name)),
  ];
  return buildPlan({
    id,
    operation: 'replace-member',
    subject: member.name,
    command: adviceText(next(['kv', 'replace-member', `${member.name}`])),
    steps: stepsOf(input, isLearner),
    notes: [],
    findings: [
      othersAreHealthy(input),
      othersAreMajority(input),
      othersAgree(input),
      ...findMixedEntries(observation, input.cluster),
      holdAllows(input),
      ...canBeStarted(input),
      ...[...dataCanMove(input), ...usesDirectory(input)],
      hasSpace(input),
      ...findInOtherMembers(observation, listed?.id, asked.accept),
      dataIsGivenUp(asked),
      ...(isLearner ? promotionIsKept(observation) : []),
    ],
    values: {
      ...(listed === undefined ? {} : { member_id: listed.id }),
      ...(walDir === undefined ? {} : { wal_dir: walDir }),
      peer_urls: peerUrlsOf(input),
      is_learner: isLearner,
      starts: startsOf(input) ?? 'old',
    },
    observation,
  });
};
