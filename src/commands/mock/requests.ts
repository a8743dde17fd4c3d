import { bool, int } from '../../core/field.ts';
import { nothing, rowsResult } from '../../core/result.ts';
import type { Command } from '../../cli/command.ts';

export const requestsCommand: Command = {
  path: ['mock', 'requests'],
  summary: 'What the running mock server was asked, newest last',
  about:
    'The last 1,000 requests, with status and time; tokens, codes and passwords are masked. Needs a running server: `mock serve` or `mock run`.',
  flags: {
    limit: { field: int({ min: 1, max: 1000 }), summary: 'How many (default 100)', value: 'number' },
    clear: { field: bool(), summary: 'Forget them' },
  },
  run: async (context, values) => {
    const { isServed, steer } = await import('./remote.ts');
    if (!isServed(context))
      context.log.warn(
        'no mock server of this profile is running (opsctl mock serve); for one with its own state (--ephemeral) set OPSCTL_MOCK_URL to its URL',
      );
    if (values.clear === true) {
      await steer(context, (ask) => ask('DELETE', 'requests'));
      return nothing('forgotten');
    }
    const rows: unknown[] = isServed(context)
      ? await steer(context, (ask) => ask('GET', `requests?limit=${values.limit ?? 100}`))
      : [];
    return rowsResult(rows, { columns: ['time', 'method', 'path', 'status', 'ms', 'service'] });
  },
};
