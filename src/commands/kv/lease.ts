import { bool, req, str } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';

/** Ids are hexadecimal for people and decimal, signed 64 bit, on the wire. */
export const decimalLease = (id: string, path = '<lease-id>'): string => {
  if (!/^(0x)?[0-9a-f]{1,16}$/i.test(id))
    throw invalidArguments([
      problem(path, 'format', `must be a hexadecimal id of at most 16 digits; got ${JSON.stringify(id)}`),
    ]);
  return BigInt.asIntN(64, BigInt(`0x${id.replace(/^0x/i, '')}`)).toString();
};

/** An id as people and the store's ctl write it: 16 hexadecimal digits. */
export const hexLease = (decimal: string): string =>
  BigInt.asUintN(64, BigInt(decimal)).toString(16).padStart(16, '0');

export const leaseTimeToLive = defineCommand({
  path: ['kv', 'lease', 'timetolive'],
  summary: 'Show how long a lease still lives',
  args: [
    { name: 'lease-id', field: req(str(undefined, { min: 1 })), summary: 'Hexadecimal id of the lease' },
  ],
  flags: { ...endpointFlags, keys: { field: bool(), summary: 'The attached keys too' } },
  examples: [
    {
      line: 'opsctl kv lease timetolive 694d5765fc71500b --endpoints localhost:2379',
      says: 'or: lease 694d5765fc71500b already expired',
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
