import { rawResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

export const stateCommand = defineCommand({
  path: ['mock', 'state'],
  summary: 'Print the whole state of the mock server, for `mock seed`',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    const state = await steer(context, (ask) => ask('GET', 'state'));
    return rawResult(`${JSON.stringify(state)}\n`);
  },
});
