import { countText } from '../../core/format.ts';
import { parseUrl } from '../../core/external-url.ts';
import { after, next, adviceText } from '../../core/next.ts';
import { compareVersions, minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { hexId } from '../client/messages.ts';
import type { ListedMember } from '../client/etcd-client.ts';
import type { ClusterFile, Finding, Observation } from '../engine/model.ts';
import { quorumOf } from '../upgrade/guards/membership.ts';
import type { OperationKind, OperationPlan, OperationRefusal, OperationStep } from './journal.ts';
import {
  condition,
  disarmStep,
  healthIgnoringCorrupt,
  healthyClusterFindings,
  findInOtherMembers,
  buildPlan,
} from './plan.ts';

/**
 * 3.5.1 to 3.5.23 do not store a promotion in the place that 3.6 reads. After an upgrade to 3.6 the member
 * would be a learner again.
 */
const keptFrom = '3.5.24';
export const promotionIsKept = ({ members }: Observation): Finding[] => {
  const old = members.find(
    ({ server_version: version = '' }) =>
      minorOf(version) === '3.5' && compareVersions(version, keptFrom) < 0,
  );
  return old === undefined
    ? []
    : [
        condition(
          'promotion-is-kept',
          '',
          {
            member: old.name,
            message: `${old.name} runs ${old.server_version}: 3.6 does not keep a promotion that a version below ${keptFrom} made`,
            hint: 'before 3.6, upgrade every member to the newest 3.5 and restart it once',
          },
          'warn',
        ),
      ];
};

export type MembershipInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  /** Findings that the operator accepts as warnings. */
  readonly accept?: readonly string[] | undefined;
};
const sortedUrls = (urls: readonly string[]): string => urls.toSorted().join(',');
export const votersOf = ({ listed }: Observation): ListedMember[] =>
  listed.filter(({ is_learner }) => !is_learner);
export const goodVoters = ({ listed, members }: Observation): ListedMember[] =>
  votersOf({ listed } as Observation).filter(({ id }) =>
    members.some((member) => member.member_id === id && member.is_healthy),
  );
export const nameOf = ({ name, id }: ListedMember): string => (name === '' ? hexId(id) : name);
/**
 * The new member counts immediately but is not running yet. The running members must be a majority of the
 * larger cluster.
 */
const addKeepsQuorum = (observation: Observation, isLearner: boolean): Finding => {
  const [size, good] = [votersOf(observation).length + 1, goodVoters(observation).length];
  return condition(
    'add-keeps-quorum',
    isLearner
      ? 'a learner does not count towards the quorum'
      : `${good} of ${size} members would be a majority`,
    isLearner || good >= quorumOf(size)
      ? undefined
      : {
          message: `with the new member the quorum is ${quorumOf(size)} of ${size}, and ${good} ${good === 1 ? 'is' : 'are'} healthy now: the cluster would accept no writes until the new member has started`,
          hint: '--learner adds a member that does not vote before it is promoted (3.4 and later)',
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
          message: `member ${nameOf(taken)} already has the peer URL ${taken.peer_urls.join(', ')}`,
          hint: next(['kv', 'member', 'list']),
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
      'the version supports learners',
      canLearn
        ? undefined
        : { message: 'versions before 3.4 do not support learners', hint: 'leave --learner out' },
    ),
    condition(
      'one-learner',
      'there is no other learner',
      there === undefined
        ? undefined
        : {
            message: `${nameOf(there)} is already a learner, and a cluster has at most one`,
            hint: next(['kv', 'member', 'promote'], after('or', ['kv', 'member', 'remove'])),
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
export const planChange = (
  { id, observation }: MembershipInput,
  change: Change,
): OperationPlan | OperationRefusal => {
  const { member, notes = [], values = {}, ...rest } = change;
  return buildPlan({
    ...rest,
    id,
    notes,
    values: { ...values, ...(member === undefined ? {} : { member_id: member.id }) },
    observation,
  });
};
/** Plans to add a member. All plans in this file are pure. */
export const addPlan = (
  input: MembershipInput,
  {
    name,
    peerUrls,
    isLearner,
  }: { readonly name: string; readonly peerUrls: readonly string[]; readonly isLearner: boolean },
) =>
  planChange(input, {
    operation: 'member-add',
    subject: name,
    command: adviceText(
      next([
        'kv',
        'member',
        'add',
        `${name}`,
        '--peer-urls',
        `${peerUrls.join(',')}${isLearner ? ' --learner' : ''}`,
      ]),
    ),
    steps: [
      {
        id: 'add',
        kind: 'add',
        title: `add ${name} (${peerUrls.join(', ')})${isLearner ? ' as a learner' : ''}`,
        why: isLearner
          ? 'the learner receives the data and does not vote until it is promoted'
          : 'the member counts towards the quorum from now on',
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
/**
 * These operations concern a learner or a member that was added but has not started, so its state is not a
 * problem.
 */
const withLearner = ({ observation, cluster }: MembershipInput): Finding[] =>
  healthyClusterFindings(observation, cluster, ['one-cluster', 'all-members-healthy']);
export const promotePlan = (input: MembershipInput, member: ListedMember) =>
  planChange(input, {
    operation: 'member-promote',
    member,
    subject: nameOf(member),
    command: adviceText(next(['kv', 'member', 'promote', `${nameOf(member)}`])),
    steps: member.is_learner
      ? [
          {
            id: 'promote',
            kind: 'promote',
            title: `promote ${nameOf(member)} to a voting member when it has caught up`,
            why: 'the member counts towards the quorum from now on',
          },
        ]
      : [],
    notes: member.is_learner ? [] : [`no changes: ${nameOf(member)} is already a voting member`],
    findings: [
      ...withLearner(input),
      ...promotionIsKept(input.observation),
      condition(
        'learner-has-started',
        `${nameOf(member)} has started`,
        member.name === '' && member.is_learner
          ? {
              message: `member ${hexId(member.id)} (${member.peer_urls.join(', ')}) has not started, so opsctl cannot promote it`,
              hint: 'start it with --initial-cluster-state existing and an empty data directory',
            }
          : undefined,
      ),
    ],
  });
/**
 * Before 3.5.31 and 3.6.12, the member list shows a learner as a voting member after a change of its peer
 * URL.
 */
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
    'the role of the member does not change',
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
  return planChange(input, {
    operation: 'member-update',
    member,
    subject: nameOf(member),
    command: adviceText(
      next(['kv', 'member', 'update', `${nameOf(member)}`, '--peer-urls', `${peerUrls.join(',')}`]),
    ),
    steps: isSame
      ? []
      : [
          {
            id: 'update',
            kind: 'update',
            title: `peer URLs of ${nameOf(member)}: ${member.peer_urls.join(', ')} → ${peerUrls.join(', ')}`,
            why: 'the other members use the new URL from now on; restart the member with the new --listen-peer-urls',
          },
        ],
    notes: isSame ? [`no changes: ${nameOf(member)} already has these peer URLs`] : [],
    findings: [
      ...withLearner(input),
      urlIsNew(input.observation, peerUrls, member.id),
      learnerIsKept(input.observation, member),
    ],
    values: { peer_urls: peerUrls },
  });
};

const countMembers = (count: number): string => countText(count, 'member');
/**
 * A removal is a log entry that the current members must accept. Without a leader, no member reports that it
 * is healthy.
 */
const majorityTakesRemoval = (observation: Observation): Finding => {
  const voters = votersOf(observation);
  const away = voters.filter(({ id }) =>
    observation.members.some((member) => member.member_id === id && !member.is_reachable),
  );
  const [size, up] = [voters.length, voters.length - away.length];
  return condition(
    'majority-takes-removal',
    `${up} of ${countMembers(size)} respond and can agree to the removal`,
    size === 0 || up >= quorumOf(size)
      ? undefined
      : {
          message: `the quorum is lost: ${up} of ${countMembers(size)} ${up === 1 ? 'responds' : 'respond'}, and ${quorumOf(size)} must agree to a removal`,
          hint: after(
            `start ${away.map(nameOf).join(', ')} again; if the data is lost,`,
            ['kv', 'restore'],
            'rebuilds the cluster from a snapshot',
          ),
        },
  );
};
/** The healthy remaining members must be a majority of all remaining members. */
const removeKeepsQuorum = (observation: Observation, member: ListedMember): Finding => {
  const stay = votersOf(observation).filter(({ id }) => id !== member.id);
  const good = goodVoters(observation).filter(({ id }) => id !== member.id);
  const sick = stay.filter((one) => !good.includes(one)).map(nameOf);
  const size = stay.length;
  const isKept = size > 0 && good.length >= quorumOf(size);
  return condition(
    'remove-keeps-quorum',
    `${good.length} of the ${size} remaining members are healthy`,
    isKept
      ? undefined
      : {
          message:
            size === 0
              ? `${nameOf(member)} is the last voting member: the cluster would no longer exist`
              : `the quorum would be lost: without ${nameOf(member)} ${good.length} of ${countMembers(size)} would be healthy, and ${quorumOf(size)} ${quorumOf(size) === 1 ? 'is' : 'are'} needed`,
          hint:
            size === 0
              ? after(
                  'stop its process to shut the cluster down;',
                  ['kv', 'snapshot', 'save'],
                  'keeps its data',
                )
              : after(
                  `start ${sick.join(', ')} first (`,
                  ['kv', 'status'],
                  after(`), or remove ${sick[0]} instead:`, ['kv', 'member', 'remove', `${sick[0]}`]),
                ),
        },
  );
};
/** The missing fault tolerance only becomes visible at the next failure. */
const someFailureIsSurvived = (observation: Observation, member: ListedMember): Finding => {
  const size = votersOf(observation).filter(({ id }) => id !== member.id).length;
  return condition(
    'a-failure-is-survived',
    'the remaining members survive the loss of one member',
    size > 2
      ? undefined
      : {
          message: `${countMembers(size)} ${size === 1 ? 'remains: when it' : 'remain: when one of them'} fails, the cluster accepts no writes`,
          hint: next(['kv', 'member', 'add', 'NAME', '--learner'], 'adds another member first'),
        },
    'warn',
  );
};
/**
 * Without a transfer, the removal of the leader would leave the cluster without a leader until an election.
 */
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
          title: `transfer the leadership from ${leader.name} to ${target.name}`,
          member: leader.name,
          target: target.name,
        },
      ];
};
/** Problems of the removed member must not prevent its removal. */
const withoutMember = ({ observation, cluster }: MembershipInput): Finding[] =>
  healthyClusterFindings(observation, cluster, [
    'one-cluster',
    'all-members-healthy',
    'members-keep-up',
    'no-alarms',
  ]);
/** Plans to remove a member. Pure. */
export const removePlan = (input: MembershipInput, member: ListedMember) => {
  const observation = healthIgnoringCorrupt(input.observation);
  return planChange(input, {
    operation: 'member-remove',
    member,
    subject: nameOf(member),
    command: adviceText(next(['kv', 'member', 'remove', `${nameOf(member)}`])),
    steps: [
      ...leaderMoves(observation, member),
      {
        id: 'remove',
        kind: 'remove',
        title: `remove ${nameOf(member)} (${member.peer_urls.join(', ')}) from the cluster`,
        why: 'its process exits with code 0; it can rejoin only as a new member with an empty data directory',
      },
      ...disarmStep(observation, member.id),
    ],
    notes: [
      `prevent its service manager from starting it again, and remove ${nameOf(member)} from the cluster file and from the endpoints of every client`,
    ],
    // The quorum is the first finding because a lost quorum causes the other findings.
    findings: [
      majorityTakesRemoval(observation),
      removeKeepsQuorum(observation, member),
      ...withoutMember(input),
      ...findInOtherMembers(observation, member.id, input.accept),
      someFailureIsSurvived(observation, member),
    ],
  });
};

/** Parses peer URLs. etcd accepts only URLs that consist of a scheme, a host and a port. */
export const peerUrlsOf = (text: string): string[] => {
  const urls = text.split(',').map((url) => url.trim());
  const isPeerUrl = (text: string): boolean => {
    const url = parseUrl(text);
    return (
      url !== undefined &&
      /^https?:$/.test(url.protocol) &&
      url.port !== '' &&
      url.pathname === '/' &&
      !text.endsWith('/')
    );
  };
  const wrong = urls.find((url) => !isPeerUrl(url));
  if (wrong === undefined) return urls;
  throw invalidArguments([
    problem('--peer-urls', 'format', `must be URLs like http://10.0.0.4:2380; got ${JSON.stringify(wrong)}`),
  ]);
};
