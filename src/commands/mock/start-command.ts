import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { portFlag } from './port-flag.ts';
import { serverFlags } from './server-flags.ts';

export const startCommand = defineCommand({
  path: ['mock', 'start'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'Start the embedded services in the background',
  about:
    'Returns when the server accepts connections. Later commands, also those of other shells and of the next steps of a CI job, find it by ' +
    'themselves; `mock env` prints the variables for other programs, `mock stop` ends it.',
  flags: { port: portFlag, ...serverFlags },
  examples: [
    { line: 'opsctl mock start --seed empty --rate-limit off', says: 'For the next steps of a CI job' },
  ],
  run: async (context, values) => {
    const { startDetached } = await import('./detached.ts');
    const { url, pid, ready } = await startDetached(context, values);
    return recordResult(ready, {
      columns: ['url', 'pid'],
      message: `the mock server runs at ${url} (process ${pid}); opsctl mock stop ends it`,
    });
  },
});
