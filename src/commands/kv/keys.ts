import { wholeInput } from '../../cli/standard-input.ts';
import { defineCommand, type Argument, type Flag, type ValuesOf } from '../../cli/command.ts';
import { bool, int, req, str } from '../../core/field.ts';
import { AppError, problem } from '../../core/problem.ts';
import type { Problem } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import type { KeyValue } from '../../etcd-client/key-value.ts';
import { askAny } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import { decimalLease, hexLease } from './lease.ts';

// Not `key`, which is the flag for the key of the client certificate.
const keyArgument = {
  name: 'key-name',
  field: req(str(undefined, { min: 1 })),
  summary: 'The key',
} as const satisfies Argument;
export const anyKey = { name: 'key-name', field: req(str()), summary: 'The key' } as const satisfies Argument;
export const rangeArgument = {
  name: 'range-end',
  field: str(undefined, { min: 1 }),
  summary: 'Up to this key, without it',
  optional: true,
} as const satisfies Argument;
const maxInt32 = 2 ** 31 - 1;

/** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
const sendFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest request to send (default: 2 MiB)',
  value: 'bytes',
} as const satisfies Flag;
const receiveFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest answer to take (default 2147483647)',
  value: 'bytes',
} as const satisfies Flag;
export const prefixFlag = {
  field: bool(),
  summary: 'Every key that begins like this',
} as const satisfies Flag;

/** The key after all keys with this prefix, as bytes: its last byte that can be raised is one higher. Nothing is after all keys: a zero byte alone. */
export const prefixEnd = (prefix: string): Uint8Array => {
  const bytes = Buffer.from(prefix);
  for (let i = bytes.length - 1; i >= 0; i -= 1) {
    const byte = bytes[i] as number;
    if (byte < 0xff) return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte + 1])]);
  }
  return Buffer.of(0);
};
type RangeValues = ValuesOf<{ prefix: typeof prefixFlag }, [typeof anyKey, typeof rangeArgument]>;
type Range = { readonly key: string; readonly end: string | Uint8Array | undefined };
/** Every key begins like the empty one; the store has no empty key and calls the first a zero byte. */
export const rangeOf = (values: RangeValues): Range =>
  values.prefix === true
    ? { key: values['key-name'] === '' ? '\0' : values['key-name'], end: prefixEnd(values['key-name']) }
    : { key: values['key-name'], end: values['range-end'] };
export const rangeProblems = (values: RangeValues): Problem[] => {
  if (values.prefix === true && values['range-end'] !== undefined)
    return [problem('<range-end>', 'exclusive', 'cannot be given together with --prefix')];
  return values['key-name'] === '' && values.prefix !== true
    ? [problem('<key-name>', 'required', 'must not be empty', '"" --prefix means every key')]
    : [];
};

export const put = defineCommand({
  path: ['kv', 'put'],
  noDryRun: 'opsctl kv get shows what is stored',
  summary: 'Write a key',
  args: [
    keyArgument,
    {
      name: 'value',
      field: str(),
      summary: 'The value; `-` or nothing reads it from standard input',
      optional: true,
    },
  ],
  flags: {
    ...endpointFlags,
    lease: { field: str(undefined, { min: 1 }), summary: 'Lease to attach, as hexadecimal id', value: 'id' },
    'max-send-bytes': sendFlag,
  },
  examples: [
    {
      line: 'opsctl kv put greeting hello --endpoints localhost:2379',
      says: 'through the gateway of the member',
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

/** A key as it is shown: its lease as other commands take it, and no empty value where none was asked for. */
const shown = ({ key, value, lease, ...rest }: KeyValue, isKeyOnly: boolean) => ({
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
    limit: { field: int({ min: 1 }), summary: 'At most this many', value: 'n' },
    rev: { field: int({ min: 1 }), summary: 'As it was at this revision', value: 'revision' },
    'keys-only': { field: bool(), summary: 'Without the values' },
    serializable: { field: bool(), summary: 'From this member alone, maybe stale; answers without a quorum' },
    'max-receive-bytes': receiveFlag,
  },
  examples: [
    {
      line: 'opsctl kv get app/ --prefix --endpoints localhost:2379',
      says: 'all keys below app/; "" --prefix is every key',
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
    const kvs = answer.kvs.map((kv) => shown(kv, values['keys-only'] === true));
    const columns = ['key', ...(values['keys-only'] === true ? [] : ['value']), 'mod_revision'];
    if (options.rangeEnd !== undefined)
      return rowsResult(kvs, { columns: [...columns, 'lease'], name: 'key' });
    const [found] = kvs;
    if (found?.value_base64 !== undefined)
      context.log.warn(
        `the value of ${values['key-name']} is not text: -o json has its bytes in value_base64`,
      );
    if (found === undefined)
      throw new AppError('not-found', `there is no key ${values['key-name']}`, { code: 'NO_KEY' });
    return recordResult(found, {
      columns: [...columns, 'version', 'lease'],
      name: values['keys-only'] === true ? 'key' : 'value',
    });
  },
});

export const del = defineCommand({
  path: ['kv', 'del'],
  noDryRun: 'opsctl kv get shows what is stored',
  summary: 'Delete keys',
  args: [anyKey, rangeArgument],
  flags: { ...endpointFlags, prefix: prefixFlag },
  check: rangeProblems,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { key, end } = rangeOf(values);
    const which =
      values.prefix === true
        ? `that begins with ${JSON.stringify(values['key-name'])}`
        : `from ${values['key-name']} up to ${values['range-end']}`;
    if (end !== undefined) await context.confirm(`Delete every key ${which}?`);
    const { deleted, revision } = await askAny(context, opened, (store) => store.del(key, end));
    return recordResult({ deleted, revision }, { message: `${deleted} deleted`, name: 'deleted' });
  },
});
