import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

export const statusCommand = defineCommand({
  path: ['mock', 'status'],
  summary: 'Where the mock server is and what it holds',
  run: async (context) => {
    const { isServed, steer } = await import('./remote.ts');
    const served = isServed(context);
    const { url, pid, ...rest } = await steer(context, (ask) => ask('GET', 'status'));
    return recordResult({ running: served, url: served ? url : null, pid: served ? pid : null, ...rest });
  },
});
