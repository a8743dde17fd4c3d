import { duration, list, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { codeOf, runAttended } from '../../cli/attended-child.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

const commandNotFound = 127;

export const exec = defineCommand({
  path: ['auth', 'exec'],
  leavesSignalsToChild: true,
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Run a command with a token that stays fresh',
  about:
    'Writes the access token to a private file, names the file in OPSCTL_TOKEN_FILE, replaces it before the token ends, and removes it with the command. ' +
    'The token is never in the environment or in the process list. Ends with the exit code of the command. Write -- before the command.',
  args: [
    {
      name: 'command',
      effects: ['runs'],
      field: list(str()),
      summary: 'The command and its arguments',
      rest: true,
    },
  ],
  flags: {
    account: accountFlag,
    'min-ttl': {
      field: duration(),
      value: 'duration',
      summary: 'The token in the file lives at least this long (default 1m)',
    },
  },
  examples: [
    {
      line: `opsctl auth exec -- sh -c 'curl -H "Authorization: Bearer $(cat "$OPSCTL_TOKEN_FILE")" https://api.example.com/'`,
      says: 'A long job reads the file each time it needs the token',
    },
  ],
  run: async (context, values) => {
    const { parseDuration } = await import('../../core/duration.ts');
    const { openTokenFile } = await import('../../auth/programs/token-file.ts');
    const minTtlMs = parseDuration(values['min-ttl'] ?? '1m', '--min-ttl');
    const file = await openTokenFile(context, { account: values.account, minTtlMs });
    const { host, signal } = context;
    const env = { OPSCTL_TOKEN_FILE: file.path };
    const ended = await runAttended(host, values.command, { env, signal }).finally(() => file.close());
    if (ended.startError !== undefined) {
      await host.terminal.stderr.write(
        `error: cannot run ${values.command[0]}: ${ended.startError}\n  try: write the command after --, as one word each\n`,
      );
      return host.exit(commandNotFound);
    }
    // Only --max-time ends the command from here.
    signal.throwIfAborted();
    if (codeOf(ended) !== 0) host.exit(codeOf(ended));
    return nothing();
  },
});
