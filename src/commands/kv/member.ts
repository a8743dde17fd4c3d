import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, list, oneOf, req, str } from '../../core/field.ts';
import type { Flags } from '../../core/flag.ts';
import { next } from '../../core/next.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import { hexId } from '../../kv/client/messages.ts';
import type { ListedMember } from '../../kv/client/etcd-client.ts';
import type { MemberStatus } from '../../kv/engine/model.ts';
import {
  clusterFlags,
  endpointFlags,
  type EndpointValues,
  memberArgument,
  peerUrlsFlag,
  runFlags,
  stepFlags,
} from './flags.ts';
import { askAny, openCluster, type Opened, withRunningPrograms } from './prepare.ts';
import { type SpaceInput, runOperation } from './space.ts';

const acceptFlag = {
  accept: {
    effects: [],
    field: list(oneOf('others-agree-on-data')),
    repeat: true,
    summary: 'Continue although no majority of the members has the same data; keeps the data of the others',
    value: 'guard',
  },
} as const satisfies Flags;
const replaceAccept = {
  accept: {
    ...acceptFlag.accept,
    field: list(oneOf('others-agree-on-data', 'data-directories', 'disk-space')),
    summary:
      'Continue although this check fails; others-agree-on-data: no majority of the members has the same data, and opsctl keeps the data of the others',
  },
} as const satisfies Flags;
const flags = {
  ...clusterFlags,
  ...stepFlags,
  ...replaceAccept,
  canary: runFlags.canary,
} as const satisfies Flags;
export const replaceMember = defineCommand({
  path: ['kv', 'replace-member'],
  summary: 'Rebuild a member with an empty data directory',
  about:
    'Use it after a failed disk, a deleted data directory, or if the data of a member differs from the other members. Stops the member, removes it, adds it again as a learner (3.4 and later), starts it with an empty data directory, promotes it when it has caught up, and verifies it. Keeps a backup of the old data. The other members must stay healthy: two members are never down at the same time. If interrupted, the same command continues.',
  args: [
    {
      name: 'member',
      field: req(str(undefined, { min: 1 })),
      summary: 'Name of the member in the cluster file',
      complete: 'kv-member',
    },
  ],
  flags,
  examples: [
    {
      line: 'opsctl kv replace-member n2 --cluster cluster.yaml --dry-run',
      says: 'Show the steps and the results of the preflight checks',
    },
    {
      line: 'opsctl kv replace-member n2 --cluster cluster.yaml',
      says: 'Rebuild the member after a disk replacement',
    },
  ],
  run: async (context, values) => {
    const opened = await withRunningPrograms(await openCluster(context, values, 'upgrade'));
    const { cluster } = opened;
    const member = cluster.members.find(({ name }) => name === values.member);
    if (member === undefined) {
      const names = cluster.members.map(({ name }) => name).join(', ');
      throw invalidArguments([problem('<member>', 'enum', `must be one of ${names}`)]);
    }
    return runOperation(context, opened, {
      operation: 'replace-member',
      subject: member.name,
      plan: async (observation, id) =>
        (await import('../../kv/operations/replace-plan.ts')).replacePlan({
          id,
          observation,
          cluster,
          member,
          accept: values.accept,
        }),
      acts: async () => {
        const [{ replaceActs }, { shellsOf }] = await Promise.all([
          import('../../kv/operations/replace.ts'),
          import('../../kv/upgrade/supervisors/open.ts'),
        ]);
        return replaceActs(await shellsOf(context.host, cluster, context.settings.directories.state));
      },
      question: `Replace ${member.name} of ${cluster.name} and discard its data?`,
      hasCanary: values.canary !== false,
      confirmsEach: values['confirm-each'],
    });
  },
});

/** The selected member and the action. */
const changeMember = async (
  context: Context,
  values: EndpointValues & { readonly member: string },
  asked: (member: ListedMember, opened: Opened) => SpaceInput,
) => {
  const opened = await openCluster(context, values);
  const members = await askAny(context, opened, (store) => store.members());
  const { getMember } = await import('../../kv/client/etcd-client.ts');
  return runOperation(context, opened, asked(getMember(members, values.member), opened));
};
const membershipActs: SpaceInput['acts'] = async () =>
  (await import('../../kv/operations/membership.ts')).membershipActs;
const membershipPlans = () => import('../../kv/operations/membership-plan.ts');

export const memberAdd = defineCommand({
  path: ['kv', 'member', 'add'],
  summary: 'Add a member and print its start command',
  args: [{ name: 'name', field: req(str(undefined, { min: 1 })), summary: 'Name of the new member' }],
  flags: {
    ...endpointFlags,
    'peer-urls': peerUrlsFlag,
    learner: {
      field: bool(),
      summary: 'Add it as a learner: it receives data and does not vote until it is promoted (3.4 and later)',
    },
  },
  examples: [
    {
      line: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380 --learner --cluster cluster.yaml',
      says: 'Add a learner; start it, then run opsctl kv member promote n4',
    },
  ],
  run: async (context, values) => {
    const { peerUrlsOf } = await membershipPlans();
    const given = {
      name: values.name,
      peerUrls: peerUrlsOf(values['peer-urls']),
      isLearner: values.learner ?? false,
    };
    const opened = await openCluster(context, values);
    return runOperation(context, opened, {
      operation: 'member-add',
      subject: values.name,
      plan: async (observation, id) =>
        (await membershipPlans()).addPlan({ id, observation, cluster: opened.cluster }, given),
      acts: membershipActs,
      question: `Add ${values.name} to ${opened.cluster.name}?`,
    });
  },
});

export const memberList = defineCommand({
  path: ['kv', 'member', 'list'],
  summary: 'List the members of the cluster',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const members = await askAny(context, opened, (store) => store.members());
    const rows = members.map(({ id, name, peer_urls, client_urls, is_learner }) => ({
      id: hexId(id),
      status: name === '' ? 'unstarted' : 'started',
      name,
      peer_urls,
      client_urls,
      is_learner,
    }));
    return rowsResult(rows, { columns: ['id', 'status', 'name', 'peer_urls', 'client_urls', 'is_learner'] });
  },
});

export const memberPromote = defineCommand({
  path: ['kv', 'member', 'promote'],
  summary: 'Promote a learner to a voting member',
  args: [memberArgument],
  flags: endpointFlags,
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-promote',
      plan: async (observation, id) =>
        (await membershipPlans()).promotePlan({ id, observation, cluster }, member),
      acts: membershipActs,
      question: `Promote ${values.member}?`,
    })),
});

export const memberRemove = defineCommand({
  path: ['kv', 'member', 'remove'],
  summary: 'Remove a member permanently, if the others keep a majority',
  args: [memberArgument],
  flags: { ...endpointFlags, ...acceptFlag },
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-remove',
      plan: async (observation, id) =>
        (await import('../../kv/operations/membership-plan.ts')).removePlan(
          { id, observation, cluster, accept: values.accept },
          member,
        ),
      acts: membershipActs,
      question: `Remove ${values.member} from ${cluster.name} permanently?`,
    })),
});

export const memberUpdate = defineCommand({
  path: ['kv', 'member', 'update'],
  summary: 'Change the peer URLs of a member',
  args: [memberArgument],
  flags: { ...endpointFlags, 'peer-urls': peerUrlsFlag },
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-update',
      plan: async (observation, id) => {
        const { peerUrlsOf, updatePlan } = await membershipPlans();
        return updatePlan({ id, observation, cluster }, member, peerUrlsOf(values['peer-urls']));
      },
      acts: membershipActs,
      question: `Change the peer URLs of ${values.member}?`,
    })),
});

/** Returns the leader. A member that does not respond cannot lead, and the leader accepts no writes while it waits. */
const leaderOf = async (
  { host }: Context,
  { cluster, access }: Opened,
  target: ListedMember,
): Promise<MemberStatus> => {
  const { observe } = await import('../../kv/upgrade/observe/observe.ts');
  const { members } = await observe({ host, cluster, access });
  const leader = members.find(({ is_leader }) => is_leader);
  const away = members.find(({ name, is_reachable }) => name === target.name && !is_reachable);
  if (away !== undefined)
    throw new AppError(
      'unsafe',
      `no changes were made: ${away.name} does not respond, so it cannot lead (${away.error ?? 'unknown'})`,
      { code: 'TARGET_AWAY', tryThis: [next(['kv', 'status'])] },
    );
  if (leader === undefined)
    throw new AppError('network', 'no leader among these endpoints', {
      code: 'NO_LEADER',
      tryThis: ['list every member in --endpoints'],
    });
  return leader;
};
export const moveLeader = defineCommand({
  path: ['kv', 'move-leader'],
  noDryRun: 'opsctl kv status shows the leader',
  summary: 'Transfer leadership to another member (3.3 and later)',
  args: [
    {
      name: 'target',
      field: req(str(undefined, { min: 1 })),
      summary: 'Name or hexadecimal ID of the new leader',
      complete: 'kv-member',
    },
  ],
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const members = await askAny(context, opened, (store) => store.members());
    const { getMember, openStore } = await import('../../kv/client/etcd-client.ts');
    const target = getMember(members, values.target);
    const leader = await leaderOf(context, opened, target);
    const store = openStore(context.host, {
      url: leader.client_url,
      tls: opened.access.tls,
      user: opened.access.user,
      timeoutMs: 10_000,
    });
    if (leader.member_id !== target.id) await store.moveLeader(target.id);
    const from = members.find(({ id }) => id === leader.member_id)?.name ?? leader.name;
    return recordResult(
      { from, to: target.name },
      {
        message:
          leader.member_id === target.id
            ? `${target.name} is already the leader`
            : `transferred leadership from ${from} to ${target.name}`,
      },
    );
  },
});
