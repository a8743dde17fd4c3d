import { resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, datetime, int, oneOf, str } from '../../core/field.ts';
import { isPlaceToWrite } from '../../core/file-name.ts';
import type { Argument, Flags, ValuesOf } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { nothing, rawResult, recordResult, type Result, rowsResult } from '../../core/result.ts';
import type { Observation } from '../../kv/engine/model.ts';
import type { ReportForm } from '../../kv/operations/record.ts';
import { clusterFlags, endpointFlags } from './flags.ts';
import { openCluster } from './prepare.ts';
import { columnsOf } from '../../core/format.ts';

const clusterNames = async ({ host, settings }: Context): Promise<string[]> =>
  (await host.files.list(settings.directories.clusters)).sort();
export const history = defineCommand({
  path: ['kv', 'history'],
  summary: 'List upgrades and operations of a cluster, newest first',
  about:
    'Reads the journals on this machine; runs of other machines are listed there. Shows who ran which plan from where, accepted checks and confirmations, the result and the duration of upgrades, downgrades, restarts and operations such as defrag. A run without an end is unfinished: it crashed or is in progress.',
  flags: {
    ...clusterFlags,
    all: {
      effects: [],
      field: bool(),
      summary: 'List every cluster that has journals on this machine; requires no cluster file',
    },
    since: { field: datetime(), summary: 'List only runs that started at or after this time', value: 'time' },
  },
  examples: [
    { line: 'opsctl kv history --cluster cluster.yaml', says: 'List the runs of one cluster' },
    { line: 'opsctl kv history --all -o csv', says: 'Export everything for a change record' },
  ],
  run: async (context, values) => {
    const [{ findRuns }, { findOperations }, { historyRow, operationRow }] = await Promise.all([
      import('../../kv/engine/journal.ts'),
      import('../../kv/operations/journal.ts'),
      import('../../kv/operations/record.ts'),
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
        'run',
        'action',
        'from',
        'to',
        'outcome',
        'cluster',
        'duration_ms',
        'by',
        'accepted',
        'digest',
      ],
      name: 'run',
    });
  },
});

const reportFlags = {
  ...clusterFlags,
  as: {
    effects: [],
    field: oneOf('markdown', 'html', 'json'),
    summary: 'Format of the report (default: from the extension of --out)',
    value: 'markdown|html|json',
  },
  out: {
    effects: ['writes'],
    field: str(undefined, { min: 1 }),
    summary: 'File to write',
    value: 'file',
    complete: 'file',
  },
  attach: {
    effects: ['sends'],
    field: int({ min: 1 }),
    summary: 'Story of the tracker to attach the file of --out to',
    value: 'story',
  },
} as const satisfies Flags;
const reportArgs = [
  {
    name: 'run',
    effects: [],
    field: str(),
    summary: 'Run ID (default: the newest run of the cluster)',
    optional: true,
    complete: 'kv-run',
  },
] as const satisfies readonly Argument[];
type ReportValues = ValuesOf<typeof reportFlags, typeof reportArgs>;
/** Returns the format of --as or of the file extension; undefined if the result follows -o. */
const formOf = (values: Pick<ReportValues, 'as' | 'out'>): ReportForm | undefined =>
  values.as ??
  (/\.html?$/.test(values.out ?? '')
    ? 'html'
    : /\.json$/.test(values.out ?? '')
      ? 'json'
      : values.out === undefined
        ? undefined
        : 'markdown');

/** Uploads the report to a story of the tracker, so that the ticket of the change contains it. */
const attachTo = async (context: Context, path: string, text: string, story: number): Promise<Result> => {
  const { uploadText } = await import('../../tracker/files.ts');
  const [file] = await uploadText(context, path, text, story);
  return recordResult(file, { text: `attached the report to story ${story}` });
};
export const report = defineCommand({
  path: ['kv', 'report'],
  summary: 'Show the report of an upgrade or operation',
  about:
    'Upgrades, downgrades and restarts support Markdown, JSON and an HTML page with a timeline. Operations such as defrag and replace-member support Markdown and JSON. `kv history` lists the runs. Without --as and --out, -o selects the format. The HTML page is self-contained and runs no scripts, so that you can mail it or attach it to a change record.',
  args: reportArgs,
  flags: reportFlags,
  examples: [
    { line: 'opsctl kv report --out upgrade.html', says: 'Write the newest run as an HTML page' },
    { line: 'opsctl kv report --as markdown', says: 'Write Markdown for an issue or a change record' },
    {
      line: 'opsctl kv report --out upgrade.html --attach 107',
      says: 'Attach the page to the story of the change',
    },
  ],
  check: ({ attach, out }) => {
    if (attach === undefined) return [];
    if (out === undefined) return [problem('--out', 'required', 'is required with --attach')];
    return isPlaceToWrite(out)
      ? [problem('--out', 'rule', `names ${out}, which --attach cannot upload: name a file`)]
      : [];
  },
  async run(context, values): Promise<Result> {
    const { host, settings, log } = context;
    const [{ foundRun }, { shownOperation, shownReport }, { storedReport }] = await Promise.all([
      import('../../kv/operations/record.ts'),
      import('../../kv/operations/record.ts'),
      import('../../kv/upgrade/present/report.ts'),
    ]);
    const { cluster } = await openCluster(context, values);
    const found = await foundRun(host, settings.directories.clusters, cluster.name, values.run);
    const shown =
      found.kind === 'run'
        ? shownReport(await storedReport(host, log, found.found))
        : shownOperation(found.found);
    const form = formOf(values);
    if (values.out !== undefined && form !== undefined) {
      const path = resolve(host.cwd, values.out);
      const text = await shown.textAs(form);
      if (!context.isDryRun) await host.files.replace(path, text, 0o600);
      const written = `${context.isDryRun ? 'would write' : 'wrote'} report of run ${shown.run} to ${values.out}`;
      if (values.attach === undefined) return nothing(written);
      log.info(written);
      return attachTo(context, path, text, values.attach);
    }
    if (form !== undefined) return rawResult(await shown.textAs(form));
    return recordResult(shown.data, { text: (await shown.textAs('markdown')).trimEnd(), name: 'run' });
  },
});

/** The last restore, if no upgrade has followed it. */
const lastRestore = async (
  { host, settings, showAdvice }: Context,
  cluster: string,
  endedAt: string | undefined,
) => {
  const { readRestore, restoreLine } = await import('../../kv/upgrade/restore/execute.ts');
  const line = restoreLine(await readRestore(host, settings.directories.clusters, cluster), showAdvice);
  return line === undefined || (endedAt !== undefined && line.at < endedAt) ? undefined : line;
};
const openOperation = async ({ host, settings, showAdvice }: Context, cluster: string) => {
  const { operationLine } = await import('../../kv/operations/plan.ts');
  return operationLine(host, settings.directories.clusters, cluster, showAdvice);
};
const memberFields = [
  ...(['name', 'client_url', 'is_healthy', 'is_reachable', 'is_leader', 'is_learner'] as const),
  ...(['server_version', 'cluster_version', 'member_id', 'raft_term', 'raft_index', 'revision'] as const),
  ...(['db_size_bytes', 'latency_ms'] as const),
];
/** One row of a spreadsheet. A member that does not respond has the same columns. */
const memberRow = (
  { taken_at, cluster, leader }: Observation,
  member: Observation['members'][number],
): Record<string, unknown> => ({
  ...{ taken_at, cluster, leader: leader ?? null },
  ...Object.fromEntries(memberFields.map((name) => [name, member[name] ?? null])),
  errors: [...(member.error === undefined ? [] : [member.error]), ...member.errors].join('; '),
});
export const status = defineCommand({
  path: ['kv', 'status'],
  summary: 'Show members, versions, leader and the last upgrade run',
  flags: endpointFlags,
  examples: [
    { line: 'opsctl kv status --cluster cluster.yaml', says: 'Show every member' },
    {
      line: 'opsctl kv status --endpoints 10.0.0.1:2379,10.0.0.2:2379',
      says: 'Show the status without a cluster file',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { cluster, access, file } = opened;
    const [{ observe }, { observationText }, presentation, { withHexIds }] = await Promise.all([
      import('../../kv/upgrade/observe/observe.ts'),
      import('../../kv/upgrade/present/text.ts'),
      import('../../kv/upgrade/present/status.ts'),
      import('../../kv/engine/journal.ts'),
    ]);
    const { hasProblem, lastRun, statusLines } = presentation;
    const { host, settings } = context;
    const state = settings.directories.clusters;
    const observation = await observe({ host: host, cluster, access, hasHold: true, hasRevisions: true });
    const run =
      file === undefined
        ? undefined
        : await lastRun(host, state, opened, observation.cluster_version, context.showAdvice);
    const restored = file === undefined ? undefined : await lastRestore(context, cluster.name, run?.endedAt);
    const simulated = cluster.simulated === true ? { simulated: true } : {};
    const operation = file === undefined ? undefined : await openOperation(context, cluster.name);
    const data = {
      ...withHexIds(observation),
      ...simulated,
      ...(run === undefined ? {} : { last_run: { run: run.run, outcome: run.outcome } }),
      ...(run?.path === undefined ? {} : { path: run.path }),
      ...(restored === undefined ? {} : { last_restore: { outcome: restored.outcome, at: restored.at } }),
      ...(operation === undefined ? {} : { unfinished_operation: operation }),
    };
    const columns = columnsOf(host.terminal.stdout);
    const said = statusLines({ observation, run, restored, operation }, columns, context.showAdvice);
    const text = [observationText(observation, columns), ...said].join('\n');
    const csvRows = data.members.map((member) => memberRow(observation, member));
    return recordResult(data, { text, csvRows }, hasProblem(observation) ? 'no' : undefined);
  },
});
