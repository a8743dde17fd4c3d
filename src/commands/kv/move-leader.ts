import { defineCommand, type Context } from '../../cli/command.ts';
import { req, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { memberNamed } from '../../kv/client/member-named.ts';
import type { MemberSeen } from '../../kv/engine/types.ts';
import { askAny } from './ask.ts';
import { type Opened, openCluster } from './open-cluster.ts';
import { endpointFlags } from './flags.ts';

const leaderOf = async ({ host }: Context, { cluster, access }: Opened): Promise<MemberSeen> => {
  const { observe } = await import('../../kv/upgrade/observe/observe.ts');
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
    const members = await askAny(context, opened, (store) => store.members());
    const target = memberNamed(members, values.target);
    const { openStore } = await import('../../kv/client/etcd-client.ts');
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
