import { type Result, recordResult } from '../../core/result.ts';
import { countsOf, reportable } from '../../kv-upgrade/guards/findings.ts';
import { alarmMessages } from '../../kv-upgrade/guards/no-alarms.ts';
import type { Prepared } from './prepare.ts';

/** A cluster that has arrived is not guarded; an alarm of it refuses writes all the same. */
export const alarmed = ({
  observation,
  opened,
}: Pick<Prepared, 'observation' | 'opened'>): Result | undefined => {
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
