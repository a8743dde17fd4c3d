import { next } from '../../core/next.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, req, str } from '../../core/field.ts';
import type { Argument } from '../../core/flag.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { decimalLease, hexLease } from '../../kv/client/messages.ts';
import { endpointStores } from './endpoint.ts';
import { endpointFlags } from './flags.ts';
import { askAny, openCluster, type Opened } from './prepare.ts';

const leaseArgument = {
  name: 'lease-id',
  effects: [],
  field: req(str(undefined, { min: 1 })),
  summary: 'Hexadecimal ID of the lease',
} as const satisfies Argument;

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
  summary: 'Revoke a lease and delete its attached keys',
  args: [leaseArgument],
  flags: endpointFlags,
  about:
    'While the members run two versions and authentication is enabled, opsctl sends the revoke only to a member of the old version. Exits with code 10 if no member of the old version responds.',
  run: async (context, values) => {
    const opened = await oldMembersOf(context, await openCluster(context, values));
    const id = decimalLease(values['lease-id']);
    const { keys } = await askAny(context, opened, (store) => store.timeToLive(id, true));
    if (keys.length > 0)
      await context.confirm(
        `Delete the ${keys.length} key${keys.length === 1 ? '' : 's'} attached to the lease?`,
      );
    await askAny(context, opened, (store) => store.revoke(id));
    return recordResult(
      { id: hexLease(id), deleted_keys: keys.length },
      { message: `revoked lease ${hexLease(id)}` },
    );
  },
});

const longestTtl = 9_000_000_000;
export const leaseGrant = defineCommand({
  path: ['kv', 'lease', 'grant'],
  noDryRun: 'opsctl kv lease list',
  summary: 'Grant a lease with a time to live',
  args: [
    {
      name: 'ttl',
      field: req(int({ min: 1, max: longestTtl })),
      summary: 'Time to live in seconds',
    },
  ],
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv lease grant 60 --endpoints localhost:2379',
      says: 'Use the ID with opsctl kv put --lease',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const lease = await askAny(context, opened, async (store) => {
      const id = await store.grant(values.ttl);
      // The store may grant a longer lease than requested: the minimum is the duration of an election.
      return store.timeToLive(id);
    });
    const id = hexLease(lease.id);
    return recordResult(
      { id, granted_ttl_seconds: lease.granted_seconds },
      { message: `granted lease ${id} with TTL(${lease.granted_seconds}s)` },
    );
  },
});

const makeExpiredError = (id: string): AppError =>
  new AppError('not-found', `lease ${hexLease(id)} expired or was revoked`, {
    code: 'LEASE_NOT_FOUND',
    tryThis: [next(['kv', 'lease', 'grant', 'TTL'])],
  });
/** Renews the lease at each third of its TTL, as the store's own clients do, until the command is stopped. */
async function* renewals(context: Context, opened: Opened, id: string, isOnce: boolean) {
  const { host, signal } = context;
  for (;;) {
    const ttl = await askAny(context, opened, (store) => store.keepAlive(id));
    if (ttl <= 0) throw makeExpiredError(id);
    yield { id: hexLease(id), ttl_seconds: ttl };
    if (isOnce) return;
    await host.sleep((ttl * 1000) / 3, signal);
  }
}
export const leaseKeepAlive = defineCommand({
  path: ['kv', 'lease', 'keep-alive'],
  noDryRun: 'opsctl kv lease timetolive ID',
  summary: 'Renew a lease until Ctrl-C or its expiry',
  about:
    'Prints a row per renewal; renews after a third of the time to live. Exits with code 6 if the lease has expired.',
  args: [leaseArgument],
  flags: { ...endpointFlags, once: { field: bool(), summary: 'Renew once, then exit' } },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const id = decimalLease(values['lease-id']);
    return rowsResult(renewals(context, opened, id, values.once ?? false), {
      columns: ['id', 'ttl_seconds'],
    });
  },
});

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
        tryThis: [next(['kv', 'lease', 'timetolive', 'ID'], ', for one you know')],
      });
    return rowsResult(
      leases.map((id) => ({ id: hexLease(id) })),
      { columns: ['id'] },
    );
  },
});

export const leaseTimeToLive = defineCommand({
  path: ['kv', 'lease', 'timetolive'],
  summary: 'Show the remaining TTL of a lease',
  args: [
    {
      name: 'lease-id',
      effects: [],
      field: req(str(undefined, { min: 1 })),
      summary: 'Hexadecimal ID of the lease',
    },
  ],
  flags: { ...endpointFlags, keys: { effects: [], field: bool(), summary: 'Include the attached keys' } },
  examples: [
    {
      line: 'opsctl kv lease timetolive 694d5765fc71500b --endpoints localhost:2379',
      says: 'Show the TTL, or that the lease has expired',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const asked = decimalLease(values['lease-id']);
    const id = hexLease(asked);
    const seen = await askAny(context, opened, (store) => store.timeToLive(asked, values.keys ?? false));
    const isExpired = seen.ttl_seconds < 0 || (seen.ttl_seconds === 0 && seen.granted_seconds === 0);
    const data = {
      id,
      is_expired: isExpired,
      ttl_seconds: seen.ttl_seconds,
      granted_ttl_seconds: seen.granted_seconds,
      ...(values.keys === true ? { keys: seen.keys } : {}),
    };
    if (context.isFormatGiven === true) return recordResult(data);
    // spec/store#interfaces: on an expired lease prints that the lease already expired (earlier: TTL 0s, remaining -1s)
    if (isExpired) return rawResult(`lease ${id} already expired\n`);
    const keys = values.keys === true ? `, attached keys([${seen.keys.join(' ')}])` : '';
    return rawResult(
      `lease ${id} granted with TTL(${seen.granted_seconds}s), remaining(${seen.ttl_seconds}s)${keys}\n`,
    );
  },
});
