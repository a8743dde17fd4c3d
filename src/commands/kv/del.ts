import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { anyKey, rangeArgument, prefixFlag, rangeOf, rangeProblems } from './range.ts';

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
