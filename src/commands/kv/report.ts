import { resolve } from 'node:path';
import { oneOf, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { type Result, nothing, rawResult, recordResult } from '../../core/result.ts';
import type { FoundRun } from '../../kv-upgrade/journal/journal.ts';
import type { StoredReport } from '../../kv-upgrade/report/write.ts';
import { defineCommand, type Argument, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { clusterFlags, openCluster } from './cluster.ts';

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

const foundRun = async (context: Context, values: Given): Promise<FoundRun> => {
  const { host, settings } = context;
  const { cluster } = await openCluster(context, values);
  const { findRuns } = await import('../../kv-upgrade/journal/journal.ts');
  const runs = await findRuns(host, settings.directories.clusters, cluster.name);
  const found = values.run === undefined ? runs[0] : runs.find(({ run }) => run === values.run);
  if (found === undefined) {
    const tryThis =
      runs.length === 0
        ? ['opsctl kv upgrade']
        : [
            `one of ${runs
              .slice(0, 5)
              .map(({ run }) => run)
              .join(', ')}`,
          ];
    throw new AppError(
      'not-found',
      values.run === undefined
        ? `there is no run of cluster ${cluster.name} here`
        : `there is no run ${values.run} of cluster ${cluster.name}`,
      { code: 'NO_RUN', tryThis },
    );
  }
  return found;
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

const textOf = async (
  { report, events }: StoredReport,
  form: 'markdown' | 'html' | 'json',
): Promise<string> => {
  if (form === 'json') return `${JSON.stringify(report, null, 2)}\n`;
  if (form === 'html') return (await import('../../kv-upgrade/report/page.ts')).pageFrom(report, events);
  return (await import('../../kv-upgrade/report/markdown.ts')).markdownFrom(report);
};

export const report = defineCommand({
  path: ['kv', 'report'],
  summary: 'Show the report of an upgrade: Markdown, JSON or one page with a timeline',
  about:
    'Without --as and --out the answer follows -o. The page holds everything it needs and runs no script: it can be mailed or kept with the change record.',
  args,
  flags,
  examples: [
    { line: 'opsctl kv report --out upgrade.html', says: 'the newest run as a page' },
    { line: 'opsctl kv report --as markdown', says: 'for an issue or a change record' },
  ],
  async run(context, values): Promise<Result> {
    const stored = await reportOf(context, await foundRun(context, values));
    const form = formOf(values);
    if (values.out !== undefined && form !== undefined) {
      await context.host.files.replace(
        resolve(context.host.cwd, values.out),
        await textOf(stored, form),
        0o600,
      );
      return nothing(`report of run ${stored.report.run} written to ${values.out}`);
    }
    if (form !== undefined) return rawResult(await textOf(stored, form));
    return recordResult(stored.report, { text: (await textOf(stored, 'markdown')).trimEnd(), name: 'run' });
  },
});
