import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

export const stopCommand = defineCommand({
  path: ['mock', 'stop'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'End the running mock server',
  run: async (context) => {
    const { isServed, steer } = await import('./remote.ts');
    if (!isServed(context)) return nothing('no mock server is running');
    return nothing(
      await steer(context, async (ask, url) =>
        ask('POST', 'shutdown').then(() => `the mock server at ${url} ends`),
      ),
    );
  },
});
