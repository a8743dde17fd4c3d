import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import type { ListedMember } from '../client/etcd-client.ts';
import { argvOf } from '../upgrade/cluster/command-line.ts';
import { flagsOf } from '../upgrade/configuration/configuration.ts';
import { alarmMessages } from '../upgrade/guards/no-alarms.ts';
import { quorumOf } from '../upgrade/guards/quorum-survives.ts';
import type { Which } from '../upgrade/supervisors/driver.ts';
import { walDirOf } from '../upgrade/supervisors/wal-directory.ts';
import type { ClusterFile, Finding, MemberSeen, MemberSpec, Observation } from '../engine/types.ts';
import { disarmStep, healthBeyondCorrupt, noOtherIsCorrupt } from './alarmed.ts';
import { promotionIsKept } from './promotion.ts';
import { condition, planned } from './plan.ts';
import type { OperationPlan, OperationRefusal, OperationStep } from './types.ts';
import { joinsBy } from './start-flags.ts';

export type ReplaceInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly member: MemberSpec;
};
type Others = readonly MemberSeen[];
const seenOf = ({ observation, member }: ReplaceInput): MemberSeen =>
  observation.members.find(({ name }) => name === member.name) as MemberSeen;
const othersOf = ({ observation, member }: ReplaceInput): Others =>
  observation.members.filter(({ name }) => name !== member.name);

/** In the member list: by its id, its name, or by the URL that it was added with and has not started at. */
const listedOf = (input: ReplaceInput): ListedMember | undefined => {
  const { observation, member } = input;
  const { member_id } = seenOf(input);
  const { listed } = observation;
  return (
    listed.find(({ id }) => id === member_id) ??
    listed.find(({ name }) => name === member.name) ??
    listed.find(({ peer_urls }) => member.peer_url !== undefined && peer_urls.includes(member.peer_url))
  );
};
const peerUrlsOf = (input: ReplaceInput): readonly string[] => {
  const { peer_url, old_command, old_binary } = input.member;
  const flag = flagsOf(argvOf(old_command, old_binary) ?? []).get('initial-advertise-peer-urls');
  return listedOf(input)?.peer_urls ?? (peer_url === undefined ? (flag?.split(',') ?? []) : [peer_url]);
};

/** The command of the version that the others run. */
const startsOf = (input: ReplaceInput): Which | undefined => {
  const { host } = seenOf(input);
  const minor = minorOf(othersOf(input).find(({ is_healthy }) => is_healthy)?.server_version);
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
          hint: alarmMessages(input.observation)[0]?.hint ?? 'bring it back first: opsctl kv status',
        },
  );
};

const othersAreMajority = (input: ReplaceInput): Finding => {
  const voters = Math.max(
    input.observation.members.length,
    input.observation.listed.filter(({ is_learner }) => !is_learner).length,
  );
  const good = othersOf(input).filter(({ is_healthy, is_learner }) => is_healthy && !is_learner).length;
  const others = othersOf(input).length;
  return condition(
    'others-are-majority',
    `${good} other members are a majority`,
    others > 0 && good >= quorumOf(voters)
      ? undefined
      : {
          message: `without ${input.member.name} ${good} of ${voters} members are good, a majority is ${quorumOf(voters)}: it could not be removed`,
          hint:
            others === 0
              ? 'opsctl kv restore rebuilds it from a snapshot'
              : 'bring the other members back first, or opsctl kv restore',
        },
  );
};

const othersAgree = (input: ReplaceInput): Finding => {
  const strangers = input.observation.listed.filter(
    ({ id }) => id !== listedOf(input)?.id && othersOf(input).every(({ member_id }) => member_id !== id),
  );
  return condition(
    'one-cluster',
    'the cluster file names all members',
    strangers.length === 0
      ? undefined
      : {
          message: `member ${strangers.map(({ name, peer_urls }) => name || peer_urls.join(', ')).join(', ')} is in the cluster and not in the cluster file, or was never started`,
          hint: 'opsctl kv member list; then add it to the file, or opsctl kv member remove',
        },
  );
};

type Need = {
  readonly guard: string;
  readonly good: string;
  readonly isMet: boolean;
  readonly message: string;
  readonly hint: string;
};
/** The server must be told that it joins; a unit or a container of others starts it with their own flags. */
const needsOf = (input: ReplaceInput): Need[] => {
  const { cluster, member } = input;
  const { name, data_dir } = member;
  const which = startsOf(input);
  return [
    {
      guard: 'binary-is-right',
      good: 'its program is of the version of the others',
      isMet: which !== undefined,
      message: `neither old_binary nor new_binary of ${name} is of the version that the others run`,
      hint: 'name it in the cluster file: opsctl kv init writes one',
    },
    {
      guard: 'join-can-be-told',
      good: 'it can be started with --initial-cluster-state existing',
      isMet: joinsBy(cluster, member, which ?? 'old') !== undefined,
      message: `${name} is started by others (${cluster.driver ?? 'local'}), with flags that cannot be changed from here`,
      hint: 'config_file in the cluster file; or opsctl kv member remove, opsctl kv member add --learner, and start it by hand',
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
      message: `the peer URL of ${name} is not known`,
      hint: 'peer_url: URL',
    },
  ];
};
const canBeStarted = (input: ReplaceInput): Finding[] =>
  needsOf(input).map(({ guard, good, isMet, message, hint }) =>
    condition(guard, good, isMet ? undefined : { member: input.member.name, message, hint }),
  );

const dataIsGivenUp = (input: ReplaceInput): Finding =>
  condition(
    'data-is-given-up',
    'it does not work now',
    seenOf(input).is_healthy
      ? {
          member: input.member.name,
          message: `${input.member.name} is healthy: it is stopped, and gets all data again from the others`,
        }
      : undefined,
    'warn',
  );

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
      ? [{ ...step('move-leader', `move the leadership from ${name} to ${target}`), target }]
      : []),
    step('stop', `stop ${name}, when its process still runs`),
    step(
      'remove',
      `remove ${name} (${urls}) from the cluster`,
      'first, so that a majority is of those that work',
    ),
    ...disarmStep(input.observation, listedOf(input)?.id),
    step('set-aside', `keep what is left of ${data_dir} beside it`, 'it joins with an empty data directory'),
    step(
      'add',
      `add ${name} again${isLearner ? ' as a learner' : ''}`,
      isLearner
        ? 'it does not vote before it has all data'
        : 'this version knows no learners: it counts at once',
    ),
    step('start', `start ${name} with --initial-cluster-state existing`),
    step('catch-up', `wait until ${name} has the data`),
    ...(isLearner ? [step('promote', `make ${name} a voting member`)] : []),
    step('check', `check that ${name} is healthy and has caught up`),
  ];
};

/** Never two members down: the others have to be healthy, and the new member does not vote before it has all data. Pure. */
export const replacePlan = (asked: ReplaceInput): OperationPlan | OperationRefusal => {
  const { id, observation, member } = asked;
  const input = { ...asked, observation: healthBeyondCorrupt(observation) };
  const isLearner = othersOf(input).every(
    ({ server_version, is_reachable }) => !is_reachable || rowOf(server_version)?.can.learners === true,
  );
  const [listed, walDir] = [listedOf(input), walDirOf(member, seenOf(input).host)];
  return planned({
    id,
    operation: 'replace-member',
    subject: member.name,
    command: `opsctl kv replace-member ${member.name}`,
    steps: stepsOf(input, isLearner),
    notes: [],
    findings: [
      othersAreHealthy(input),
      othersAreMajority(input),
      othersAgree(input),
      ...canBeStarted(input),
      ...noOtherIsCorrupt(observation, listed?.id),
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
