import { resolve } from 'node:path';
import { defineCommand } from '../../cli/command.ts';
import { type Result, nothing, rawResult, recordResult } from '../../core/result.ts';
import { openCluster } from './open-cluster.ts';
import { formOf, reportArgs, reportFlags } from './report-flags.ts';

export const report = defineCommand({
  path: ['kv', 'report'],
  summary: 'Show the report of an upgrade or an operation: Markdown, JSON or one page with a timeline',
  about:
    'Upgrades, downgrades and restarts have all three forms; operations as defrag and replace-member have Markdown and JSON. kv history lists them. Without --as and --out the answer follows -o. The page holds everything it needs and runs no script: it can be mailed or kept with the change record.',
  args: reportArgs,
  flags: reportFlags,
  examples: [
    { line: 'opsctl kv report --out upgrade.html', says: 'the newest run as a page' },
    { line: 'opsctl kv report --as markdown', says: 'for an issue or a change record' },
  ],
  async run(context, values): Promise<Result> {
    const { host, settings, log } = context;
    const [{ foundRun }, { shownOperation, shownReport }, { storedReport }] = await Promise.all([
      import('../../kv/operations/found-runs.ts'),
      import('../../kv/operations/shown-report.ts'),
      import('../../kv/upgrade/present/stored-report.ts'),
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
      await host.files.replace(path, await shown.textAs(form), 0o600);
      return nothing(`report of run ${shown.run} written to ${values.out}`);
    }
    if (form !== undefined) return rawResult(await shown.textAs(form));
    return recordResult(shown.data, { text: (await shown.textAs('markdown')).trimEnd(), name: 'run' });
  },
});
