import { defineCommand } from '../../cli/command.ts';
import { oneOf } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

export const alarmDisarm = defineCommand({
  path: ['kv', 'alarm', 'disarm'],
  noDryRun: 'opsctl kv alarm list',
  summary: 'Disarm alarms whose cause was fixed',
  flags: {
    ...endpointFlags,
    alarm: { field: oneOf('NOSPACE', 'CORRUPT'), summary: 'Only this kind', value: 'NOSPACE|CORRUPT' },
  },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const alarms = (await askAny(context, opened, (store) => store.alarms())).filter(
      ({ alarm }) => values.alarm === undefined || alarm === values.alarm,
    );
    for (const alarm of alarms) await askAny(context, opened, (store) => store.disarm(alarm));
    const left = await askAny(context, opened, (store) => store.alarms());
    return recordResult(
      { disarmed: alarms.length, still_raised: left.length },
      { message: `${alarms.length} alarm${alarms.length === 1 ? '' : 's'} disarmed` },
      left.length > 0 && values.alarm === undefined ? 'no' : undefined,
    );
  },
});
