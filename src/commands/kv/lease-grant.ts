import { defineCommand } from '../../cli/command.ts';
import { int, req } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { hexLease } from '../../kv/client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

const longestTtl = 9_000_000_000;

export const leaseGrant = defineCommand({
  path: ['kv', 'lease', 'grant'],
  noDryRun: 'opsctl kv lease list',
  summary: 'Grant a lease: keys that are put with it go away with it',
  args: [
    {
      name: 'ttl',
      field: req(int({ min: 1, max: longestTtl })),
      summary: 'Seconds that it lives without a renewal',
    },
  ],
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv lease grant 60 --endpoints localhost:2379',
      says: 'its id is for opsctl kv put --lease',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const lease = await askAny(context, opened, async (store) => {
      const id = await store.grant(values.ttl);
      // The store may give more than was asked for: a lease lives at least as long as an election takes.
      return store.timeToLive(id);
    });
    const id = hexLease(lease.id);
    return recordResult(
      { id, granted_ttl_seconds: lease.granted_seconds },
      { message: `lease ${id} granted with TTL(${lease.granted_seconds}s)` },
    );
  },
});
