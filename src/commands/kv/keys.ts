import { countText } from '../../core/format.ts';
import { wholeInput } from '../../api/input.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem, type Problem } from '../../core/problem.ts';
import { recordResult, rowsResult, rawResult } from '../../core/result.ts';
import { decimalLease, hexLease, prefixEnd } from '../../kv/client/messages.ts';
import type { KeyValue } from '../../kv/client/etcd-client.ts';
import { endpointFlags, receiveFlag, sendFlag } from './flags.ts';
import { askAny, openCluster, type Opened } from './prepare.ts';
import { next } from '../../core/next.ts';
import type { Context } from '../../api/context.ts';
import { endpointStores } from './endpoint.ts';

const anyKey = {
  name: 'key-name',
  effects: [],
  field: req(str()),
  allowsEmpty: true,
  summary: 'Key',
} as const satisfies Argument;
const rangeArgument = {
  name: 'range-end',
  effects: [],
  field: str(undefined, { min: 1 }),
  summary: 'End of the key range, exclusive',
  optional: true,
} as const satisfies Argument;
const prefixFlag = {
  effects: [],
  field: bool(),
  summary: 'Match every key with this prefix',
} as const satisfies Flag;
type RangeValues = ValuesOf<{ prefix: typeof prefixFlag }, [typeof anyKey, typeof rangeArgument]>;
type Range = { readonly key: string; readonly end: string | Uint8Array | undefined };
/**
 * The empty key is a prefix of every key. The store has no empty key and represents the first key as a zero
 * byte.
 */
const rangeOf = (values: RangeValues): Range =>
  values.prefix === true
    ? { key: values['key-name'] === '' ? '\0' : values['key-name'], end: prefixEnd(values['key-name']) }
    : { key: values['key-name'], end: values['range-end'] };
const rangeProblems = (values: RangeValues): Problem[] => {
  if (values.prefix === true && values['range-end'] !== undefined)
    return [problem('<range-end>', 'exclusive', 'cannot be combined with --prefix')];
  return values['key-name'] === '' && values.prefix !== true
    ? [problem('<key-name>', 'required', 'must not be empty', '"" --prefix selects every key')]
    : [];
};

/**
 * A key as it is displayed: its lease in the form that other commands accept, and without an empty value if
 * no value was requested.
 */
const formatValue = ({ key, value, lease, ...rest }: KeyValue, isKeyOnly: boolean) => ({
  key,
  ...(isKeyOnly ? {} : { value }),
  ...rest,
  ...(lease === undefined ? {} : { lease: hexLease(lease) }),
});
export const get = defineCommand({
  path: ['kv', 'get'],
  summary: 'Read keys',
  args: [anyKey, rangeArgument],
  flags: {
    ...endpointFlags,
    prefix: prefixFlag,
    limit: { field: int({ min: 1 }), summary: 'Maximum number of keys', value: 'n' },
    rev: { field: int({ min: 1 }), summary: 'Read at this revision', value: 'revision' },
    'keys-only': { effects: [], field: bool(), summary: 'Omit the values' },
    serializable: {
      effects: [],
      field: bool(),
      summary: 'Serializable read from this member: may be stale, works without a quorum',
    },
    'max-receive-bytes': receiveFlag,
  },
  examples: [
    {
      line: 'opsctl kv get app/ --prefix --endpoints localhost:2379',
      says: 'List all keys below app/; "" --prefix lists every key',
    },
  ],
  check: rangeProblems,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { key, end } = rangeOf(values);
    const options = {
      rangeEnd: end,
      limit: values.limit,
      revision: values.rev,
      keysOnly: values['keys-only'],
      isSerializable: values.serializable,
    };
    const answer = await askAny(context, opened, (store) => store.range(key, options), values);
    const kvs = answer.kvs.map((kv) => formatValue(kv, values['keys-only'] === true));
    const columns = ['key', ...(values['keys-only'] === true ? [] : ['value']), 'mod_revision'];
    if (options.rangeEnd !== undefined)
      return rowsResult(kvs, { columns: [...columns, 'lease'], name: 'key' });
    const [found] = kvs;
    if (found?.value_base64 !== undefined)
      context.log.warn(`the value of ${values['key-name']} is not text: use -o json and read value_base64`);
    if (found === undefined)
      throw new AppError('not-found', `key not found: ${values['key-name']}`, { code: 'NO_KEY' });
    return recordResult(found, {
      columns: [...columns, 'version', 'lease'],
      name: values['keys-only'] === true ? 'key' : 'value',
    });
  },
});

// Not `key`, which is the flag for the key of the client certificate.
const keyArgument = {
  name: 'key-name',
  effects: [],
  field: req(str(undefined, { min: 1 })),
  summary: 'Key',
} as const satisfies Argument;
export const put = defineCommand({
  path: ['kv', 'put'],
  noDryRun: 'opsctl kv get shows the stored value',
  summary: 'Write a key',
  args: [
    keyArgument,
    {
      name: 'value',
      effects: [],
      field: str(),
      allowsEmpty: true,
      summary: 'Value; `-` or no value reads standard input',
      optional: true,
    },
  ],
  flags: {
    ...endpointFlags,
    lease: {
      field: str(undefined, { min: 1 }),
      summary: 'Hexadecimal ID of the lease to attach',
      value: 'id',
    },
    'max-send-bytes': sendFlag,
  },
  examples: [
    {
      line: 'opsctl kv put greeting hello --endpoints localhost:2379',
      says: 'Write a key through the gateway of the member',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const value =
      values.value === undefined || values.value === '-' ? await wholeInput(context.host) : values.value;
    const lease = values.lease === undefined ? undefined : decimalLease(values.lease, '--lease');
    const { revision } = await askAny(
      context,
      opened,
      (store) => store.put(values['key-name'], value, lease),
      values,
    );
    return recordResult({ key: values['key-name'], revision }, { message: 'OK', name: 'key' });
  },
});

export const del = defineCommand({
  path: ['kv', 'del'],
  noDryRun: 'opsctl kv get shows the stored value',
  summary: 'Delete keys',
  args: [anyKey, rangeArgument],
  flags: { ...endpointFlags, prefix: prefixFlag },
  check: rangeProblems,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { key, end } = rangeOf(values);
    const which =
      values.prefix === true
        ? `with prefix ${JSON.stringify(values['key-name'])}`
        : `from ${values['key-name']} up to ${values['range-end']}`;
    if (end !== undefined) await context.confirm(`Delete every key ${which}?`);
    const { deleted, revision } = await askAny(context, opened, (store) => store.del(key, end));
    return recordResult({ deleted, revision }, { message: `${deleted} deleted`, name: 'deleted' });
  },
});

const flags = {
  ...endpointFlags,
  prefix: prefixFlag,
  rev: {
    field: int({ min: 1 }),
    summary: 'First revision (default: only new events)',
    value: 'revision',
  },
  'prev-kv': { effects: [], field: bool(), summary: 'Include the previous value' },
  only: {
    field: list(oneOf('put', 'delete')),
    repeat: true,
    summary: 'Only events of this type',
    value: 'put|delete',
  },
  limit: { field: int({ min: 1 }), summary: 'Exit after N events', value: 'n' },
} as const satisfies Flags;
export const watch = defineCommand({
  path: ['kv', 'watch'],
  summary: 'Watch changes of keys until Ctrl-C',
  about:
    'Prints one row per event. If a member becomes unavailable, the watch continues at another member after the last revision, without losing or repeating events. Exits with code 5 if a compaction removed history that the watch needs.',
  args: [anyKey, rangeArgument],
  flags,
  check: rangeProblems,
  examples: [
    {
      line: 'opsctl kv watch app/ --prefix --endpoints localhost:2379 -o ndjson',
      says: 'Print one JSON object per line',
    },
    {
      line: 'opsctl kv watch app/ --prefix --rev 1200 --cluster cluster.yaml',
      says: 'Replay the events since revision 1200 first',
    },
  ],
  run: async (context, values) => {
    const { cluster, access } = await openCluster(context, values);
    const { watchKeys } = await import('../../kv/client/watch.ts');
    const { key, end } = rangeOf(values);
    const kinds = values.only ?? [];
    const filters = [
      ...(kinds.length > 0 && !kinds.includes('put') ? (['NOPUT'] as const) : []),
      ...(kinds.length > 0 && !kinds.includes('delete') ? (['NODELETE'] as const) : []),
    ];
    const rows = watchKeys({
      host: context.host,
      urls: cluster.members.map(({ client_url }) => client_url),
      access,
      signal: context.signal,
      options: { key, rangeEnd: end, startRevision: values.rev, withPrevious: values['prev-kv'], filters },
      limit: values.limit,
      warn: context.log.warn,
    });
    return rowsResult(rows, { columns: ['type', 'key', 'value', 'mod_revision'], name: 'key' });
  },
});

const leaseArgument = {
  name: 'lease-id',
  effects: [],
  field: req(str(undefined, { min: 1 })),
  summary: 'Hexadecimal ID of the lease',
} as const satisfies Argument;

/** The members that may receive a revoke: spec/store#limits-4. */
const oldMembersOf = async (context: Context, opened: Opened): Promise<Opened> => {
  const [{ revokeTargets }, { seeAuth }] = await Promise.all([
    import('../../kv/operations/endpoints.ts'),
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
      await context.confirm(`Delete the ${countText(keys.length, 'key')} attached to the lease?`);
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
