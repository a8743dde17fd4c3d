import type { CheckFinding } from '../../core/finding.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import { acceptable } from '../../kv-upgrade/guards/acceptable.ts';
import { alarmMessages } from '../../kv-upgrade/guards/no-alarms.ts';
import type { Finding } from '../../kv-upgrade/types.ts';
import { defineCommand } from '../../cli/command.ts';
import { arrived } from './outcome.ts';
import { type PlanValues, planFlags } from './plan-flags.ts';
import { type Prepared, prepare } from './prepare.ts';

export const check = defineCommand({
  path: ['kv', 'check'],
  summary: 'Run every preflight check of an upgrade',
  about:
    'Read-only. Every guard runs and every finding is shown: pass, unknown, warn or fail, with what to do. Exit code 20 when one of them fails.',
  flags: planFlags,
  isCheck: true,
  examples: [{ line: 'opsctl kv check --cluster cluster.yaml --to 3.4', says: 'before anything is touched' }],
  run: async (context, values) => {
    const prepared = await prepare(context, values);
    const { made, observation, opened, options } = prepared;
    const done = await arrived(prepared);
    if (done !== undefined) return alarmed(prepared) ?? done;
    const [{ findingsText, wayText }, { wayOf }] = await Promise.all([
      import('../../kv-upgrade/format/texts.ts'),
      import('../../kv-upgrade/plan.ts'),
    ]);
    const findings = made.findings;
    const counts = countsOf(findings);
    const isGood = counts.fail === 0;
    const { from, to } = wayOf({ observation, cluster: opened.cluster, options });
    const way = {
      cluster: opened.cluster.name,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    };
    const data = {
      ok: isGood,
      ...way,
      ...counts,
      findings,
    };
    const columns = columnsOf(context.host.terminal.stdout);
    const text = [
      wayText(observation, to, columns),
      '',
      findingsText(findings, columns),
      '',
      ...closing(findings, values),
    ].join('\n');
    const file = values.cluster;
    return recordResult(
      data,
      { text, namesCommands: true, findings: () => findings.map((one) => reportable(one, file)) },
      isGood ? undefined : 'no',
    );
  },
});

/** A cluster that has arrived is not guarded; an alarm of it refuses writes all the same. */
const alarmed = ({ observation, opened }: Pick<Prepared, 'observation' | 'opened'>): Result | undefined => {
  const alarms = alarmMessages(observation);
  if (alarms.length === 0) return undefined;
  const findings = alarms.map((said) => ({ guard: 'no-alarms', level: 'fail' as const, ...said }));
  const { name } = opened.cluster;
  return recordResult(
    { ok: false, cluster: name, ...countsOf(findings), findings },
    {
      text: [
        `Cluster ${name} has the version that was asked for, and an alarm is raised:`,
        ...alarms.flatMap(({ message, hint }) => [`  ${message}`, `    ${hint}`]),
      ].join('\n'),
      namesCommands: true,
      findings: () => findings.map((one) => reportable(one, undefined)),
    },
    'no',
  );
};

const countsOf = (findings: readonly Finding[]) => {
  const count = (level: string): number => findings.filter((finding) => finding.level === level).length;
  return { pass: count('pass'), warn: count('warn'), unknown: count('unknown'), fail: count('fail') };
};

/** As reports of CI services show it. */
const reportable = (
  { guard, level, member, message, hint }: Finding,
  file: string | undefined,
): CheckFinding => ({
  rule: guard,
  level,
  message,
  ...(member === undefined ? {} : { subject: member }),
  ...(hint === undefined ? {} : { hint }),
  ...(file === undefined ? {} : { file }),
});

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

const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
const closing = (findings: readonly Finding[], values: PlanValues): string[] => {
  const [failures, warns] = [
    findings.filter(({ level }) => level === 'fail'),
    findings.filter(({ level }) => level === 'warn' || level === 'unknown'),
  ];
  if (failures.length === 0)
    return [
      warns.length === 0
        ? 'Ready for an upgrade.'
        : `Ready for an upgrade, with ${some(warns.length, 'warning')}.`,
      `Next: opsctl kv upgrade${sameOptions(values)}`,
    ];
  const failed = [...new Set(failures.map(({ guard }) => guard))];
  return [
    `${some(failures.length, 'finding')} against an upgrade now; nothing was changed.`,
    // As long as one of them can never be accepted, accepting the others leads nowhere.
    ...(failed.every((guard) => acceptable.includes(guard))
      ? [`To go on all the same, knowing why: ${failed.map((guard) => `--accept ${guard}`).join(' ')}`]
      : []),
  ];
};
