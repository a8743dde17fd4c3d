import { defineCommand } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import { rowsResult } from '../../core/result.ts';
import { hexLease } from '../../kv/client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

export const leaseList = defineCommand({
  path: ['kv', 'lease', 'list'],
  summary: 'List leases (3.3 and later)',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const leases = await askAny(context, opened, async (store) => store.leases(await store.row()));
    if (leases === undefined)
      throw new AppError('refused', 'a 3.2 member cannot list leases', {
        code: 'UNIMPLEMENTED',
        tryThis: ['opsctl kv lease timetolive ID, for one you know'],
      });
    return rowsResult(
      leases.map((id) => ({ id: hexLease(id) })),
      { columns: ['id'] },
    );
  },
});
