import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { decimalLease, hexLease } from '../../etcd-client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './cluster-flags.ts';
import { openCluster } from './open-cluster.ts';
import { leaseArgument } from './lease-argument.ts';

export const leaseRevoke = defineCommand({
  path: ['kv', 'lease', 'revoke'],
  noDryRun: 'opsctl kv lease timetolive ID --keys',
  summary: 'Revoke a lease, and delete the keys that are attached to it',
  args: [leaseArgument],
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
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
