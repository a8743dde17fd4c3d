import { compareVersions, rowOf } from '../../api-specs/etcd/versions.ts';
import { hexId } from '../client/hex-id.ts';
import type { ListedMember } from '../client/etcd-client.ts';
import { quorumOf } from '../upgrade/guards/quorum-survives.ts';
import type { ClusterFile, Finding, Observation } from '../engine/types.ts';
import { healthyClusterFindings } from './healthy-cluster.ts';
import { condition, planned } from './plan.ts';
import { promotionIsKept } from './promotion.ts';
import type { OperationKind, OperationPlan, OperationRefusal, OperationStep } from './types.ts';

export type MembershipInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
};

const sortedUrls = (urls: readonly string[]): string => urls.toSorted().join(',');
export const votersOf = ({ listed }: Observation): ListedMember[] =>
  listed.filter(({ is_learner }) => !is_learner);
export const goodVoters = ({ listed, members }: Observation): ListedMember[] =>
  votersOf({ listed } as Observation).filter(({ id }) =>
    members.some((member) => member.member_id === id && member.is_healthy),
  );
export const nameOf = ({ name, id }: ListedMember): string => (name === '' ? hexId(id) : name);

/** The new member counts at once, and it is not there yet: what is there now must be a majority of the larger cluster. */
const addKeepsQuorum = (observation: Observation, isLearner: boolean): Finding => {
  const [size, good] = [votersOf(observation).length + 1, goodVoters(observation).length];
  return condition(
    'add-keeps-quorum',
    isLearner ? 'a learner does not count' : `${good} of ${size} members would be a majority`,
    isLearner || good >= quorumOf(size)
      ? undefined
      : {
          message: `with the new member a majority is ${quorumOf(size)} of ${size}, and ${good} ${good === 1 ? 'is' : 'are'} good now: nobody could write until it has started`,
          hint: '--learner adds a member that does not count before it is promoted (3.4 and later)',
        },
  );
};

const urlIsNew = ({ listed }: Observation, peerUrls: readonly string[], own?: string): Finding => {
  const taken = listed.find(
    ({ id, peer_urls }) => id !== own && peer_urls.some((url) => peerUrls.includes(url)),
  );
  return condition(
    'peer-url-is-new',
    'no other member has this peer URL',
    taken === undefined
      ? undefined
      : {
          message: `member ${nameOf(taken)} has the peer URL ${taken.peer_urls.join(', ')} already`,
          hint: 'opsctl kv member list',
        },
  );
};

const oneLearner = ({ listed, members }: Observation, isLearner: boolean): Finding[] => {
  if (!isLearner) return [];
  const [there] = listed.filter(({ is_learner }) => is_learner);
  const canLearn = members.every(
    ({ is_reachable, server_version }) => !is_reachable || rowOf(server_version)?.can.learners !== false,
  );
  return [
    condition(
      'learners-are-known',
      'the version knows learners',
      canLearn ? undefined : { message: 'versions before 3.4 know no learners', hint: 'leave --learner out' },
    ),
    condition(
      'one-learner',
      'there is no other learner',
      there === undefined
        ? undefined
        : {
            message: `${nameOf(there)} is a learner already, and a cluster has one at most`,
            hint: 'opsctl kv member promote or opsctl kv member remove',
          },
    ),
  ];
};

type Change = {
  readonly operation: OperationKind;
  readonly member?: ListedMember | undefined;
  readonly subject: string;
  readonly command: string;
  readonly steps: readonly OperationStep[];
  readonly findings: readonly Finding[];
  readonly notes?: readonly string[];
  readonly values?: OperationPlan['values'];
};
export const changed = (
  { id, observation }: MembershipInput,
  change: Change,
): OperationPlan | OperationRefusal => {
  const { member, notes = [], values = {}, ...rest } = change;
  return planned({
    ...rest,
    id,
    notes,
    values: { ...values, ...(member === undefined ? {} : { member_id: member.id }) },
    observation,
  });
};

/** Pure, like all plans here. */
export const addPlan = (
  input: MembershipInput,
  {
    name,
    peerUrls,
    isLearner,
  }: { readonly name: string; readonly peerUrls: readonly string[]; readonly isLearner: boolean },
) =>
  changed(input, {
    operation: 'member-add',
    subject: name,
    command: `opsctl kv member add ${name} --peer-urls ${peerUrls.join(',')}${isLearner ? ' --learner' : ''}`,
    steps: [
      {
        id: 'add',
        kind: 'add',
        title: `add ${name} (${peerUrls.join(', ')})${isLearner ? ' as a learner' : ''}`,
        why: isLearner
          ? 'it gets the data and does not vote until it is promoted'
          : 'it counts towards the majority from now on',
      },
    ],
    findings: [
      ...healthyClusterFindings(input.observation, input.cluster),
      addKeepsQuorum(input.observation, isLearner),
      urlIsNew(input.observation, peerUrls),
      ...oneLearner(input.observation, isLearner),
    ],
    values: { peer_urls: peerUrls, is_learner: isLearner },
  });

/** A learner, or a member that was added and never started, is what these are about: nothing is wrong with it. */
const withLearner = ({ observation, cluster }: MembershipInput): Finding[] =>
  healthyClusterFindings(observation, cluster, ['one-cluster', 'all-members-healthy']);

export const promotePlan = (input: MembershipInput, member: ListedMember) =>
  changed(input, {
    operation: 'member-promote',
    member,
    subject: nameOf(member),
    command: `opsctl kv member promote ${nameOf(member)}`,
    steps: member.is_learner
      ? [
          {
            id: 'promote',
            kind: 'promote',
            title: `make ${nameOf(member)} a voting member, once it has caught up`,
            why: 'it counts towards the majority from now on',
          },
        ]
      : [],
    notes: member.is_learner ? [] : [`${nameOf(member)} votes already: nothing to do`],
    findings: [
      ...withLearner(input),
      ...promotionIsKept(input.observation),
      condition(
        'learner-has-started',
        `${nameOf(member)} has started`,
        member.name === '' && member.is_learner
          ? {
              message: `member ${hexId(member.id)} (${member.peer_urls.join(', ')}) has not started: nothing could be promoted`,
              hint: 'start it with --initial-cluster-state existing and an empty data directory',
            }
          : undefined,
      ),
    ],
  });

/** 3.5.31 and 3.6.12: before, a learner whose peer URL is changed votes from then on, as far as the member list says. */
const updateFixes = ['3.5.31', '3.6.12'];
const learnerIsKept = ({ members }: Observation, member: ListedMember): Finding => {
  const versions = members.flatMap(({ server_version }) => server_version ?? []);
  const old = versions.find((version) =>
    updateFixes.every(
      (fix) => !(fix.slice(0, 3) === version.slice(0, 3) && compareVersions(version, fix) >= 0),
    ),
  );
  return condition(
    'learner-is-kept',
    'it stays what it is',
    member.is_learner && old !== undefined
      ? {
          member: member.name,
          message: `${nameOf(member)} is a learner, and ${old} would list it as a voting member after the change`,
          hint: 'remove it and add it again with the new URL',
        }
      : undefined,
  );
};

export const updatePlan = (input: MembershipInput, member: ListedMember, peerUrls: readonly string[]) => {
  const isSame = sortedUrls(member.peer_urls) === sortedUrls(peerUrls);
  return changed(input, {
    operation: 'member-update',
    member,
    subject: nameOf(member),
    command: `opsctl kv member update ${nameOf(member)} --peer-urls ${peerUrls.join(',')}`,
    steps: isSame
      ? []
      : [
          {
            id: 'update',
            kind: 'update',
            title: `peer URLs of ${nameOf(member)}: ${member.peer_urls.join(', ')} → ${peerUrls.join(', ')}`,
            why: 'the others call it there from now on; restart it with the new --listen-peer-urls',
          },
        ],
    notes: isSame ? [`${nameOf(member)} has these peer URLs already: nothing to do`] : [],
    findings: [
      ...withLearner(input),
      urlIsNew(input.observation, peerUrls, member.id),
      learnerIsKept(input.observation, member),
    ],
    values: { peer_urls: peerUrls },
  });
};
