import { defineCommand } from '../../cli/command.ts';
import { bool, req, str } from '../../core/field.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import { decimalLease, hexLease } from '../../kv/client/lease-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

export const leaseTimeToLive = defineCommand({
  path: ['kv', 'lease', 'timetolive'],
  summary: 'Show how long a lease still lives',
  args: [
    {
      name: 'lease-id',
      effects: [],
      field: req(str(undefined, { min: 1 })),
      summary: 'Hexadecimal id of the lease',
    },
  ],
  flags: { ...endpointFlags, keys: { effects: [], field: bool(), summary: 'The attached keys too' } },
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
