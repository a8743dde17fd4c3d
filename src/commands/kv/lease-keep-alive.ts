import { defineCommand, type Context } from '../../cli/command.ts';
import { bool } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { rowsResult } from '../../core/result.ts';
import { decimalLease, hexLease } from '../../kv/client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import { leaseArgument } from './lease-argument.ts';

const expired = (id: string): AppError =>
  new AppError('not-found', `lease ${hexLease(id)} expired or was revoked`, {
    code: 'LEASE_NOT_FOUND',
    tryThis: ['opsctl kv lease grant TTL'],
  });

/** A renewal at each third of its life, as the store's own clients do, until somebody ends this. */
async function* renewals(context: Context, opened: Opened, id: string, isOnce: boolean) {
  const { host, signal } = context;
  for (;;) {
    const ttl = await askAny(context, opened, (store) => store.keepAlive(id));
    if (ttl <= 0) throw expired(id);
    yield { id: hexLease(id), ttl_seconds: ttl };
    if (isOnce) return;
    await host.sleep((ttl * 1000) / 3, signal);
  }
}

export const leaseKeepAlive = defineCommand({
  path: ['kv', 'lease', 'keep-alive'],
  noDryRun: 'opsctl kv lease timetolive ID',
  summary: 'Renew a lease again and again, until Ctrl-C or its end',
  about: 'A row for each renewal, at a third of its time to live. Exit code 6 when the lease has gone.',
  args: [leaseArgument],
  flags: { ...endpointFlags, once: { field: bool(), summary: 'One renewal, then end' } },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const id = decimalLease(values['lease-id']);
    return rowsResult(renewals(context, opened, id, values.once ?? false), {
      columns: ['id', 'ttl_seconds'],
    });
  },
});
