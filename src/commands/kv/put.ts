import { defineCommand, type Argument } from '../../cli/command.ts';
import { wholeInput } from '../../api/input.ts';
import { req, str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { sendFlag } from './message-size-flags.ts';
import { decimalLease } from '../../kv/client/lease-id.ts';

// Not `key`, which is the flag for the key of the client certificate.
const keyArgument = {
  name: 'key-name',
  effects: [],
  field: req(str(undefined, { min: 1 })),
  summary: 'The key',
} as const satisfies Argument;

export const put = defineCommand({
  path: ['kv', 'put'],
  noDryRun: 'opsctl kv get shows what is stored',
  summary: 'Write a key',
  args: [
    keyArgument,
    {
      name: 'value',
      effects: [],
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
