import { problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { faultColumns } from './fault-columns.ts';
import { faultFlags } from './fault-flags.ts';
import { faultFrom } from './fault-from.ts';

export const faultsAdd = defineCommand({
  path: ['mock', 'faults', 'add'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Make requests fail on purpose',
  flags: faultFlags,
  examples: [
    {
      line: "opsctl mock faults add --method POST --path '/api/v3/labels' --status 503 --count 2",
      says: 'The next two creates fail',
    },
    { line: "opsctl mock faults add --path '/api/v3/**' --delay 2s", says: 'Everything is slow' },
    {
      line: 'opsctl mock faults add --method PUT --cut --when after',
      says: 'The change is made and the answer is lost',
    },
    {
      line: "opsctl mock faults add --path '/api/v3/**' --status 503 --percent 5",
      says: 'One request in twenty fails',
    },
    {
      line: "opsctl mock faults add --method PUT --path '/api/v3/labels/*' --status 500 --skip 2 --count 1",
      says: 'The third update fails, the fourth works',
    },
  ],
  check: (values) => {
    const acts = ['status', 'body', 'content-type', 'delay', 'cut', 'header', 'bytes-per-second'] as const;
    return acts.some((name) => values[name] !== undefined)
      ? []
      : [problem('', 'required', `give at least one of ${acts.map((name) => `--${name}`).join(', ')}`)];
  },
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const fault = await steer(context, (ask) => ask('POST', 'faults', faultFrom(values)));
    return recordResult(fault, { columns: faultColumns, message: `fault ${fault.id} set` });
  },
});
