import { resolve } from 'node:path';
import { oneOf, str } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { type Result, nothing, rawResult, recordResult } from '../../core/result.ts';
import type { findOperations } from '../../kv-operations/journal.ts';
import type { FoundRun } from '../../kv-upgrade/journal/journal.ts';
import type { StoredReport } from '../../kv-upgrade/report/write.ts';
import { defineCommand, type Argument, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { clusterFlags } from './cluster-flags.ts';
import { openCluster } from './open-cluster.ts';

type FoundOperation = Awaited<ReturnType<typeof findOperations>>[number];

const flags = {
  ...clusterFlags,
  as: {
    field: oneOf('markdown', 'html', 'json'),
    summary: 'Form of the report (default: from the name of --out)',
    value: 'markdown|html|json',
  },
  out: {
    field: str(undefined, { min: 1 }),
    summary: 'File to write it into',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
const args = [
  {
    name: 'run',
    field: str(),
    summary: 'The run (default: the newest of the cluster)',
    optional: true,
    complete: 'kv-run',
  },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

type Found =
  | { readonly kind: 'run'; readonly run: string; readonly found: FoundRun }
  | { readonly kind: 'operation'; readonly run: string; readonly found: FoundOperation };

/** Upgrades, downgrades, restarts and operations, newest first: their names begin with the time. */
const allRuns = async ({ host, settings }: Context, cluster: string): Promise<Found[]> => {
  const [{ findRuns }, { findOperations }] = await Promise.all([
    import('../../kv-upgrade/journal/journal.ts'),
    import('../../kv-operations/journal.ts'),
  ]);
  const state = settings.directories.clusters;
  const [runs, operations] = await Promise.all([
    findRuns(host, state, cluster),
    findOperations(host, state, cluster),
  ]);
  return [
    ...runs.map((found): Found => ({ kind: 'run', run: found.run, found })),
    ...operations.map((found): Found => ({ kind: 'operation', run: found.plan.id, found })),
  ].toSorted((a, b) => (a.run < b.run ? 1 : -1));
};

const foundRun = async (context: Context, values: Given): Promise<Found> => {
  const { cluster } = await openCluster(context, values);
  const all = await allRuns(context, cluster.name);
  const found = values.run === undefined ? all[0] : all.find(({ run }) => run === values.run);
  if (found !== undefined) return found;
  const newest = all.slice(0, 5).map(({ run }) => run);
  throw new AppError(
    'not-found',
    values.run === undefined
      ? `there is no run of cluster ${cluster.name} here`
      : `there is no run ${values.run} of cluster ${cluster.name}`,
    {
      code: 'NO_RUN',
      tryThis: newest.length === 0 ? ['opsctl kv upgrade'] : [`one of ${newest.join(', ')}`],
    },
  );
};

/** The written report, or one made from the journal when the program was ended before it wrote it. */
const reportOf = async (context: Context, { run, directory, entries }: FoundRun): Promise<StoredReport> => {
  const [{ readReport }, { broughtUpToDate, reportFromJournal }] = await Promise.all([
    import('../../kv-upgrade/report/write.ts'),
    import('../../kv-upgrade/report/from-journal.ts'),
  ]);
  const written = await readReport(context.host, directory);
  if (written?.isTorn)
    context.log.warn(`the last line of ${directory}/events.ndjson was cut off and is left out`);
  const current = written && broughtUpToDate(written, entries);
  if (current !== undefined) return current;
  const rebuilt = reportFromJournal(entries, `${directory}/journal.jsonl`);
  if (rebuilt === undefined)
    throw new AppError('not-found', `run ${run} has no report: it was not brought to an end`, {
      code: 'NO_REPORT',
      tryThis: ['opsctl kv status', 'opsctl kv resume'],
    });
  context.log.info(
    `run ${run} was ended before its report was written; this one is made from its journal, without checks and canary writes`,
  );
  return rebuilt;
};

const formOf = (values: Given): 'markdown' | 'html' | 'json' | undefined =>
  values.as ??
  (/\.html?$/.test(values.out ?? '')
    ? 'html'
    : /\.json$/.test(values.out ?? '')
      ? 'json'
      : values.out === undefined
        ? undefined
        : 'markdown');

type Form = ReturnType<typeof formOf>;
type Shown = {
  readonly data: object;
  readonly run: string;
  textAs(form: NonNullable<Form>): Promise<string>;
};

const shownReport = (stored: StoredReport): Shown => ({
  data: stored.report,
  run: stored.report.run,
  textAs: async (form) => {
    if (form === 'json') return `${JSON.stringify(stored.report, null, 2)}\n`;
    if (form === 'html')
      return (await import('../../kv-upgrade/report/page.ts')).pageFrom(stored.report, stored.events);
    return (await import('../../kv-upgrade/report/markdown.ts')).markdownFrom(stored.report);
  },
});

const shownOperation = async (found: FoundOperation): Promise<Shown> => {
  const { operationRecord } = await import('../../kv-operations/record.ts');
  const record = operationRecord(found);
  return {
    data: record,
    run: record.run,
    textAs: async (form) => {
      if (form === 'json') return `${JSON.stringify(record, null, 2)}\n`;
      if (form === 'html')
        throw invalidArguments([
          problem(
            '--as',
            'rule',
            'a page is made of upgrades, downgrades and restarts',
            'markdown or json, for an operation',
          ),
        ]);
      return (await import('../../kv-operations/record-text.ts')).recordMarkdown(record);
    },
  };
};

export const report = defineCommand({
  path: ['kv', 'report'],
  summary: 'Show the report of an upgrade or an operation: Markdown, JSON or one page with a timeline',
  about:
    'Upgrades, downgrades and restarts have all three forms; operations as defrag and replace-member have Markdown and JSON. kv history lists them. Without --as and --out the answer follows -o. The page holds everything it needs and runs no script: it can be mailed or kept with the change record.',
  args,
  flags,
  examples: [
    { line: 'opsctl kv report --out upgrade.html', says: 'the newest run as a page' },
    { line: 'opsctl kv report --as markdown', says: 'for an issue or a change record' },
  ],
  async run(context, values): Promise<Result> {
    const found = await foundRun(context, values);
    const shown =
      found.kind === 'run'
        ? shownReport(await reportOf(context, found.found))
        : await shownOperation(found.found);
    const form = formOf(values);
    if (values.out !== undefined && form !== undefined) {
      const path = resolve(context.host.cwd, values.out);
      await context.host.files.replace(path, await shown.textAs(form), 0o600);
      return nothing(`report of run ${shown.run} written to ${values.out}`);
    }
    if (form !== undefined) return rawResult(await shown.textAs(form));
    return recordResult(shown.data, { text: (await shown.textAs('markdown')).trimEnd(), name: 'run' });
  },
});
