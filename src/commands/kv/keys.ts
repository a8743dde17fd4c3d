import { bool, int, req, str } from '../../kernel/field.ts';
import { AppError } from '../../kernel/problem.ts';
import { recordResult, rowsResult } from '../../kernel/result.ts';
import type { Argument, Command, Context, Flag, Values } from '../command.ts';
import { askAny } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import { decimalLease } from './lease.ts';

const keyArgument: Argument = { name: 'key', field: req(str(undefined, { min: 1 })), summary: 'The key' };
const rangeArgument: Argument = { name: 'range-end', field: str(undefined, { min: 1 }), summary: 'Up to this key, without it', optional: true };
const maxInt32 = 2 ** 31 - 1;

/** doc3 Limits: client send size 2 MiB, receive size the largest 32-bit integer. */
const sendFlag: Flag = { field: int({ min: 1, max: maxInt32 }), summary: 'Largest request to send; 2 MiB unless given', value: 'bytes' };
const receiveFlag: Flag = { field: int({ min: 1, max: maxInt32 }), summary: 'Largest answer to take; 2147483647 unless given', value: 'bytes' };
const prefixFlag: Flag = { field: bool(), summary: 'Every key that begins like this' };

/** The key after all keys with this prefix: its last byte one higher. */
export const prefixEnd = (prefix: string): string => {
  const bytes = Buffer.from(prefix);
  for (let i = bytes.length - 1; i >= 0; i -= 1) {
    const byte = bytes[i] as number;
    if (byte < 0x7f) return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte + 1])]).toString();
  }
  return '\0';
};
const endOf = (values: Values): string | undefined => values['range-end'] ?? (values.prefix === true ? prefixEnd(values.key) : undefined);

const stdinText = async ({ host }: Context): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of host.terminal.stdin.bytes()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

export const put: Command = {
  path: ['kv', 'put'],
  summary: 'Write a key',
  args: [keyArgument, { name: 'value', field: str(), summary: 'The value; `-` or nothing reads it from standard input', optional: true }],
  flags: {
    ...endpointFlags,
    lease: { field: str(undefined, { min: 1 }), summary: 'Lease to attach, as hexadecimal id', value: 'id' },
    'max-send-bytes': sendFlag,
  },
  examples: [{ line: 'opsctl kv put greeting hello --endpoints localhost:2379', says: 'through the gateway of the member' }],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const value = values.value === undefined || values.value === '-' ? await stdinText(context) : values.value;
    const lease = values.lease === undefined ? undefined : decimalLease(values.lease);
    const { revision } = await askAny(context, opened, (store) => store.put(values.key, value, lease), values);
    return recordResult({ key: values.key, revision }, { message: 'OK', name: 'key' });
  },
};

export const get: Command = {
  path: ['kv', 'get'],
  summary: 'Read keys',
  args: [keyArgument, rangeArgument],
  flags: {
    ...endpointFlags,
    prefix: prefixFlag,
    limit: { field: int({ min: 1 }), summary: 'At most this many', value: 'n' },
    rev: { field: int({ min: 1 }), summary: 'As it was at this revision', value: 'revision' },
    'keys-only': { field: bool(), summary: 'Without the values' },
    serializable: { field: bool(), summary: 'From this member alone, maybe stale; answers without a quorum' },
    'max-receive-bytes': receiveFlag,
  },
  examples: [{ line: 'opsctl kv get app/ --prefix --endpoints localhost:2379', says: 'all keys below app/' }],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const options = {
      rangeEnd: endOf(values),
      limit: values.limit,
      revision: values.rev,
      keysOnly: values['keys-only'],
      isSerializable: values.serializable,
    };
    const { kvs } = await askAny(context, opened, (store) => store.range(values.key, options), values);
    if (options.rangeEnd !== undefined) return rowsResult(kvs, { columns: ['key', 'value', 'mod_revision', 'lease'], name: 'key' });
    if (kvs[0] === undefined) throw new AppError('not-found', `there is no key ${values.key}`, { code: 'NO_KEY' });
    return recordResult(kvs[0], { columns: ['key', 'value', 'mod_revision', 'version', 'lease'], name: 'value' });
  },
};

export const del: Command = {
  path: ['kv', 'del'],
  summary: 'Delete keys',
  args: [keyArgument, rangeArgument],
  flags: { ...endpointFlags, prefix: prefixFlag },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const end = endOf(values);
    if (end !== undefined)
      await context.confirm(`Delete every key from ${values.key} on${values.prefix === true ? ' with that prefix' : ` up to ${end}`}?`);
    const { deleted, revision } = await askAny(context, opened, (store) => store.del(values.key, end));
    return recordResult({ deleted, revision }, { message: `${deleted} deleted`, name: 'deleted' });
  },
};
