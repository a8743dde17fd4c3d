import { bool, int, list, oneOf } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import { defineCommand, type Flags } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { anyKey, prefixFlag, rangeArgument, rangeOf, rangeProblems } from './range.ts';

const flags = {
  ...endpointFlags,
  prefix: prefixFlag,
  rev: {
    field: int({ min: 1 }),
    summary: 'From this revision on (default: what happens from now on)',
    value: 'revision',
  },
  'prev-kv': { effects: [], field: bool(), summary: 'With what the key was before' },
  only: {
    field: list(oneOf('put', 'delete')),
    repeat: true,
    summary: 'Only events of this kind',
    value: 'put|delete',
  },
  limit: { field: int({ min: 1 }), summary: 'End after so many events', value: 'n' },
} as const satisfies Flags;

export const watch = defineCommand({
  path: ['kv', 'watch'],
  summary: 'Print every change of keys as it happens, until Ctrl-C',
  about:
    'One row for each event. When a member goes away the watch goes on at another one, right after the last revision: no event is lost and none comes twice. ' +
    'Exit code 5 when history that it needs was removed by a compaction.',
  args: [anyKey, rangeArgument],
  flags,
  check: rangeProblems,
  examples: [
    {
      line: 'opsctl kv watch app/ --prefix --endpoints localhost:2379 -o ndjson',
      says: 'one JSON object a line',
    },
    {
      line: 'opsctl kv watch app/ --prefix --rev 1200 --cluster cluster.yaml',
      says: 'first what happened since revision 1200',
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
