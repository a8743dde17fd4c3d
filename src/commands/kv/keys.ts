import { defineCommand } from '../../cli/command.ts';
import { bool, int } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import type { KeyValue } from '../../kv/client/key-value.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { hexLease } from '../../kv/client/lease-id.ts';
import { receiveFlag } from './message-size-flags.ts';
import { anyKey, rangeArgument, prefixFlag, rangeOf, rangeProblems } from './range.ts';

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
    'keys-only': { effects: [], field: bool(), summary: 'Without the values' },
    serializable: {
      effects: [],
      field: bool(),
      summary: 'From this member alone, maybe stale; answers without a quorum',
    },
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
