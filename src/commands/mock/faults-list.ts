import { rowsResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { faultColumns } from './fault-columns.ts';

export const faultsList = defineCommand({
  path: ['mock', 'faults', 'list'],
  summary: 'Faults that wait for requests',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    return rowsResult(await steer(context, (ask) => ask('GET', 'faults')), { columns: faultColumns });
  },
});
