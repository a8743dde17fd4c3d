import { bool, datetime } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { clusterFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

const clusterNames = async ({ host, settings }: Context): Promise<string[]> =>
  (await host.files.list(settings.directories.clusters)).sort();

export const history = defineCommand({
  path: ['kv', 'history'],
  summary: 'List the upgrades and operations of a cluster as an audit record, newest first',
  about:
    'Upgrades, downgrades, restarts, and operations as defrag or replace-member: who ran which plan from where, what was accepted and confirmed, how it ended and how long it took: from the journals on this machine, so a run of another machine is listed there. A run without an end is unfinished: it crashed, or it is in progress.',
  flags: {
    ...clusterFlags,
    all: {
      effects: [],
      field: bool(),
      summary: 'Every cluster that this machine has journals of; needs no cluster file',
    },
    since: { field: datetime(), summary: 'Only runs that began then or later', value: 'time' },
  },
  examples: [
    { line: 'opsctl kv history --cluster cluster.yaml', says: 'the runs of one cluster' },
    { line: 'opsctl kv history --all -o csv', says: 'everything, for a change record' },
  ],
  run: async (context, values) => {
    const [{ findRuns }, { historyRow }, { findOperations }, { operationRow }] = await Promise.all([
      import('../../kv/engine/journal.ts'),
      import('../../kv/engine/history.ts'),
      import('../../kv/operations/journal.ts'),
      import('../../kv/operations/history.ts'),
    ]);
    const { host, settings } = context;
    const names =
      values.all === true ? await clusterNames(context) : [(await openCluster(context, values)).cluster.name];
    const since = values.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(values.since);
    const state = settings.directories.clusters;
    const runs = await Promise.all(names.map((name) => findRuns(host, state, name)));
    const operations = await Promise.all(names.map((name) => findOperations(host, state, name)));
    const rows = [
      ...runs.flat().flatMap((run) => historyRow(run) ?? []),
      ...operations.flat().map(operationRow),
    ]
      .filter(({ started_at }) => Date.parse(started_at) >= since)
      .sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
    return rowsResult(rows, {
      columns: [
        'started_at',
        'cluster',
        'run',
        'action',
        'from',
        'to',
        'outcome',
        'duration_ms',
        'by',
        'accepted',
        'digest',
      ],
      name: 'run',
    });
  },
});
