import type { ListedMember } from '../client/etcd-client.ts';
import { quorumOf } from '../upgrade/guards/quorum-survives.ts';
import type { Finding, Observation } from '../engine/types.ts';
import { disarmStep, healthBeyondCorrupt, noOtherIsCorrupt } from './alarmed.ts';
import { healthyClusterFindings } from './healthy-cluster.ts';
import { condition } from './plan.ts';
import type { OperationStep } from './types.ts';
import { changed, goodVoters, nameOf, votersOf } from './membership-plan.ts';
import type { MembershipInput } from './membership-plan.ts';

const counted = (count: number): string => `${count} ${count === 1 ? 'member' : 'members'}`;

/** A removal is an entry of the log like any other: the members of now have to agree to it. Without a leader none of them says that it is healthy. */
const majorityTakesRemoval = (observation: Observation): Finding => {
  const voters = votersOf(observation);
  const away = voters.filter(({ id }) =>
    observation.members.some((member) => member.member_id === id && !member.is_reachable),
  );
  const [size, up] = [voters.length, voters.length - away.length];
  return condition(
    'majority-takes-removal',
    `${up} of ${counted(size)} answer, and can agree to the removal`,
    size === 0 || up >= quorumOf(size)
      ? undefined
      : {
          message: `the quorum is lost: ${up} of ${counted(size)} ${up === 1 ? 'answers' : 'answer'}, and ${quorumOf(size)} have to agree to a removal`,
          hint: `start ${away.map(nameOf).join(', ')} again; where the data are lost, opsctl kv restore rebuilds the cluster from a snapshot`,
        },
  );
};

/** Who stays must be a majority of those who stay. */
const removeKeepsQuorum = (observation: Observation, member: ListedMember): Finding => {
  const stay = votersOf(observation).filter(({ id }) => id !== member.id);
  const good = goodVoters(observation).filter(({ id }) => id !== member.id);
  const sick = stay.filter((one) => !good.includes(one)).map(nameOf);
  const size = stay.length;
  const isKept = size > 0 && good.length >= quorumOf(size);
  return condition(
    'remove-keeps-quorum',
    `${good.length} of ${size} members stay and are healthy`,
    isKept
      ? undefined
      : {
          message:
            size === 0
              ? `${nameOf(member)} is the last voting member: the cluster would be gone`
              : `the quorum would be lost: without ${nameOf(member)} ${good.length} of ${counted(size)} would be healthy, and ${quorumOf(size)} ${quorumOf(size) === 1 ? 'is' : 'are'} needed`,
          hint:
            size === 0
              ? 'stop its process to end the cluster; opsctl kv snapshot save keeps its data'
              : `bring ${sick.join(', ')} back first (opsctl kv status), or remove ${sick[0]} instead: opsctl kv member remove ${sick[0]}`,
        },
  );
};

/** Nobody notices it before the next failure. */
const someFailureIsSurvived = (observation: Observation, member: ListedMember): Finding => {
  const size = votersOf(observation).filter(({ id }) => id !== member.id).length;
  return condition(
    'a-failure-is-survived',
    'another member may fail afterwards',
    size > 2
      ? undefined
      : {
          message: `${counted(size)} ${size === 1 ? 'stays: when it' : 'stay: when one of them'} fails, nobody can write`,
          hint: 'opsctl kv member add NAME --learner adds another one first',
        },
    'warn',
  );
};

/** A leader that is removed would leave the others without one for an election. */
const leaderMoves = ({ members }: Observation, member: ListedMember): OperationStep[] => {
  const leader = members.find(({ member_id, is_leader }) => member_id === member.id && is_leader);
  const target = members.find(
    ({ member_id, is_healthy, is_learner }) => member_id !== member.id && is_healthy && !is_learner,
  );
  return leader === undefined || target === undefined
    ? []
    : [
        {
          id: 'move-leader',
          kind: 'move-leader',
          title: `move the leadership from ${leader.name} to ${target.name}`,
          member: leader.name,
          target: target.name,
        },
      ];
};
/** What is wrong with the member that goes must not keep it. */
const withoutMember = ({ observation, cluster }: MembershipInput): Finding[] =>
  healthyClusterFindings(observation, cluster, [
    'one-cluster',
    'all-members-healthy',
    'members-keep-up',
    'no-alarms',
  ]);

/** Pure. */
export const removePlan = (input: MembershipInput, member: ListedMember) => {
  const observation = healthBeyondCorrupt(input.observation);
  return changed(input, {
    operation: 'member-remove',
    member,
    subject: nameOf(member),
    command: `opsctl kv member remove ${nameOf(member)}`,
    steps: [
      ...leaderMoves(observation, member),
      {
        id: 'remove',
        kind: 'remove',
        title: `remove ${nameOf(member)} (${member.peer_urls.join(', ')}) from the cluster`,
        why: 'its process ends with exit code 0; it can come back only as a new member with an empty data directory',
      },
      ...disarmStep(observation, member.id),
    ],
    notes: [
      `keep its service manager from starting it again, and take ${nameOf(member)} out of the cluster file and of --endpoints of every client`,
    ],
    // The quorum first: without one everything else looks wrong too.
    findings: [
      majorityTakesRemoval(observation),
      removeKeepsQuorum(observation, member),
      ...withoutMember(input),
      ...noOtherIsCorrupt(observation, member.id),
      someFailureIsSurvived(observation, member),
    ],
  });
};
