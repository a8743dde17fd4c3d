import { type Context, defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { decimalLease, hexLease } from '../../kv/client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { endpointStores } from './endpoint-stores.ts';
import { type Opened, openCluster } from './open-cluster.ts';
import { leaseArgument } from './lease-argument.ts';

/** The members that may receive a revoke: spec/store#limits-4. */
const oldMembersOf = async (context: Context, opened: Opened): Promise<Opened> => {
  const [{ revokeTargets }, { seeAuth }] = await Promise.all([
    import('../../kv/operations/revoke-targets.ts'),
    import('../../kv/upgrade/observe/observe.ts'),
  ]);
  const { cluster, access } = opened;
  const stores = await endpointStores(context, opened);
  const members = await revokeTargets(
    stores.flatMap((one, i) => {
      const target = cluster.members[i];
      return target === undefined ? [] : [{ ...one, target }];
    }),
    async ({ client_url }) => (await seeAuth(access, client_url)).is_on,
  );
  return { ...opened, cluster: { ...cluster, members } };
};

export const leaseRevoke = defineCommand({
  path: ['kv', 'lease', 'revoke'],
  noDryRun: 'opsctl kv lease timetolive ID --keys',
  summary: 'Revoke a lease, and delete the keys that are attached to it',
  args: [leaseArgument],
  flags: endpointFlags,
  about:
    'While the members run two versions and authentication is on, the revoke goes only to a member of the old version. Exit code 10 if none of the members responds with the old version.',
  run: async (context, values) => {
    const opened = await oldMembersOf(context, await openCluster(context, values));
    const id = decimalLease(values['lease-id']);
    const { keys } = await askAny(context, opened, (store) => store.timeToLive(id, true));
    if (keys.length > 0)
      await context.confirm(`Delete the ${keys.length} key${keys.length === 1 ? '' : 's'} attached to it?`);
    await askAny(context, opened, (store) => store.revoke(id));
    return recordResult(
      { id: hexLease(id), deleted_keys: keys.length },
      { message: `lease ${hexLease(id)} revoked` },
    );
  },
});
