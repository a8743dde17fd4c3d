import { oneOf, req, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import type { ListedMember, MemberSeen } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { type EndpointValues, type Opened, endpointFlags, openCluster } from './cluster.ts';

const hex = (id: string): string => BigInt(id).toString(16);
const listed = async (context: Context, values: EndpointValues): Promise<ListedMember[]> =>
  askAny(context, await openCluster(context, values), (store) => store.members());

export const memberList = defineCommand({
  path: ['kv', 'member', 'list'],
  summary: 'List the members that the cluster knows',
  flags: endpointFlags,
  run: async (context, values) => {
    const rows = (await listed(context, values)).map(({ id, name, peer_urls, client_urls, is_learner }) => ({
      id: hex(id),
      status: name === '' ? 'unstarted' : 'started',
      name,
      peer_urls,
      client_urls,
      is_learner,
    }));
    return rowsResult(rows, { columns: ['id', 'status', 'name', 'peer_urls', 'client_urls', 'is_learner'] });
  },
});

export const alarmList = defineCommand({
  path: ['kv', 'alarm', 'list'],
  summary: 'List the alarms that are raised',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [alarms, members] = await askAny(context, opened, (store) =>
      Promise.all([store.alarms(), store.members()]),
    );
    const rows = alarms.map(({ member_id, alarm }) => ({
      member_id: hex(member_id),
      member: members.find(({ id }) => id === member_id)?.name ?? '',
      alarm,
    }));
    return rowsResult(rows, { columns: ['member_id', 'member', 'alarm'], name: 'alarm' });
  },
});

export const alarmDisarm = defineCommand({
  path: ['kv', 'alarm', 'disarm'],
  noDryRun: 'opsctl kv alarm list',
  summary: 'Disarm alarms whose cause was fixed',
  flags: {
    ...endpointFlags,
    alarm: { field: oneOf('NOSPACE', 'CORRUPT'), summary: 'Only this kind', value: 'NOSPACE|CORRUPT' },
  },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const alarms = (await askAny(context, opened, (store) => store.alarms())).filter(
      ({ alarm }) => values.alarm === undefined || alarm === values.alarm,
    );
    for (const alarm of alarms) await askAny(context, opened, (store) => store.disarm(alarm));
    const left = await askAny(context, opened, (store) => store.alarms());
    return recordResult(
      { disarmed: alarms.length, still_raised: left.length },
      { message: `${alarms.length} alarm${alarms.length === 1 ? '' : 's'} taken back` },
      left.length > 0 && values.alarm === undefined ? 'no' : undefined,
    );
  },
});

/** By its name or its hexadecimal id. */
export const memberNamed = (members: readonly ListedMember[], wanted: string): ListedMember => {
  const found = members.find(({ id, name }) => name === wanted || hex(id) === wanted.toLowerCase());
  if (found === undefined)
    throw new AppError('not-found', `there is no member ${wanted}`, {
      code: 'NO_MEMBER',
      tryThis: [`one of ${members.map(({ name }) => name).join(', ')}`],
    });
  return found;
};

const leaderOf = async ({ host }: Context, { cluster, access }: Opened): Promise<MemberSeen> => {
  const { observe } = await import('../../kv-upgrade/observe/observe.ts');
  const { members } = await observe({ host, cluster, access });
  const leader = members.find(({ is_leader }) => is_leader);
  if (leader === undefined)
    throw new AppError('network', 'no leader among these endpoints', {
      code: 'NO_LEADER',
      tryThis: ['name every member with --endpoints'],
    });
  return leader;
};

export const moveLeader = defineCommand({
  path: ['kv', 'move-leader'],
  noDryRun: 'opsctl kv status shows the leader',
  summary: 'Transfer the leadership to another member (3.3 and later)',
  args: [
    {
      name: 'target',
      field: req(str(undefined, { min: 1 })),
      summary: 'New leader: name or hexadecimal id of a member',
      complete: 'kv-member',
    },
  ],
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const members = await listed(context, values);
    const target = memberNamed(members, values.target);
    const { openStore } = await import('../../etcd-client/etcd-client.ts');
    const leader = await leaderOf(context, opened);
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
            ? `${target.name} leads already`
            : `leadership handed from ${from} to ${target.name}`,
      },
    );
  },
});
