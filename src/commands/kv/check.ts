import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import { countsOf, reportable } from '../../kv/upgrade/guards/findings.ts';
import { findArrived } from './outcome.ts';
import { type PlanValues, planFlags } from './plan-flags.ts';
import { type Prepared, prepare } from './prepare.ts';

const names = Object.keys(planFlags) as (keyof PlanValues)[];

/** What was decided for the check is decided for the upgrade too. */
const sameOptions = (values: PlanValues): string =>
  names
    .filter((name) => name !== 'cluster')
    .flatMap((name) =>
      [values[name]]
        .flat()
        .flatMap((value) =>
          value === undefined || value === false ? [] : [value === true ? `--${name}` : `--${name} ${value}`],
        ),
    )
    .map((flag) => ` ${flag}`)
    .join('');

const arrivedData = ({ opened, observation }: Prepared, to: string, isGood: boolean) => ({
  ...(isGood ? { outcome: 'done', message: `cluster ${opened.cluster.name} runs ${to} already` } : {}),
  cluster_version: observation.cluster_version,
});

export const check = defineCommand({
  path: ['kv', 'check'],
  summary: 'Run every preflight check of an upgrade',
  about:
    'Read-only. Every guard runs and every finding is shown: pass, unknown, warn or fail, with what to do. If the cluster already runs the target version, only the guards about its health count. Exit code 20 when one of them fails.',
  flags: planFlags,
  isCheck: true,
  examples: [{ line: 'opsctl kv check --cluster cluster.yaml --to 3.4', says: 'before anything is touched' }],
  run: async (context, values) => {
    const prepared = await prepare(context, values);
    const { made, observation, opened, options } = prepared;
    const [{ closing, healthClosing }, { findingsText, wayText }, { wayOf }, done] = await Promise.all([
      import('../../kv/upgrade/present/check-text.ts'),
      import('../../kv/upgrade/present/text.ts'),
      import('../../kv/upgrade/plan.ts'),
      findArrived(prepared),
    ]);
    const findings = done?.findings ?? made.findings;
    const counts = countsOf(findings);
    const isGood = counts.fail === 0;
    const { name } = opened.cluster;
    const { from, to } = wayOf({ observation, cluster: opened.cluster, options });
    const way = {
      cluster: name,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    };
    const already = done === undefined ? {} : arrivedData(prepared, done.to, isGood);
    const data = { ok: isGood, ...already, ...way, ...counts, findings };
    const columns = columnsOf(context.host.terminal.stdout);
    const text = [
      wayText(observation, to, columns),
      '',
      findingsText(findings, columns),
      '',
      ...(done === undefined ? closing(findings, sameOptions(values)) : [healthClosing(findings, done.to)]),
    ].join('\n');
    const file = values.cluster;
    return recordResult(
      data,
      { text, namesCommands: true, findings: () => findings.map((one) => reportable(one, file)) },
      isGood ? undefined : 'no',
    );
  },
});
