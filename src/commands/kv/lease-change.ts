import { bool, int, req, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import { defineCommand, type Argument, type Context } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import type { Opened } from './cluster.ts';
import { decimalLease, hexLease } from './lease.ts';

const leaseArgument = {
  name: 'lease-id',
  field: req(str(undefined, { min: 1 })),
  summary: 'Hexadecimal id of the lease',
} as const satisfies Argument;
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
