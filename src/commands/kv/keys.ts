import { wholeInput } from '../../api/input.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem, type Problem } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import { decimalLease, hexLease, prefixEnd } from '../../kv/client/messages.ts';
import type { KeyValue } from '../../kv/client/etcd-client.ts';
import { endpointFlags, receiveFlag, sendFlag } from './flags.ts';
import { askAny, openCluster } from './prepare.ts';

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
    const { watchKeys } = await import('../../kv/operations/watch.ts');
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
