import { int } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

export const faultsClear = defineCommand({
  path: ['mock', 'faults', 'clear'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Clear faults',
  args: [
    { name: 'fault', field: int({ min: 1 }), summary: 'number of one fault; all without it', optional: true },
  ],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    await steer(context, (ask) =>
      ask('DELETE', values.fault === undefined ? 'faults' : `faults/${values.fault}`),
    );
    return nothing(values.fault === undefined ? 'all faults are gone' : `fault ${values.fault} is gone`);
  },
});
