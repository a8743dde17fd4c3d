import { duration } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

export const header = defineCommand({
  path: ['auth', 'header'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Print the Authorization header for another program',
  about: 'One line for a file or a pipe, so that the token stands in no process list.',
  flags: {
    account: accountFlag,
    'min-ttl': { field: duration(), value: 'duration', summary: 'The token lives at least this long' },
  },
  examples: [
    {
      line: 'opsctl auth header | curl -H @- https://api.example.com/',
      says: 'curl reads the header from the pipe',
    },
  ],
  run: async (context, values) => {
    const { parseDuration } = await import('../../core/duration.ts');
    const { accessToken } = await import('../../auth/token.ts');
    const minTtlMs = values['min-ttl'] === undefined ? 0 : parseDuration(values['min-ttl'], '--min-ttl');
    const { token } = await accessToken(context, { account: values.account, minTtlMs });
    await context.host.terminal.stdout.write(`Authorization: Bearer ${token}\n`);
    return nothing();
  },
});
