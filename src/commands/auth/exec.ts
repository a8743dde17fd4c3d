import { duration, list, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

const commandNotFound = 127;
const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

export const exec = defineCommand({
  path: ['auth', 'exec'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Run a command with a token that stays fresh',
  about:
    'Writes the access token to a private file, names the file in OPSCTL_TOKEN_FILE, replaces it before the token ends, and removes it with the command. ' +
    'The token is never in the environment or in the process list. Ends with the exit code of the command. Write -- before the command.',
  args: [{ name: 'command', field: list(str()), summary: 'The command and its arguments', rest: true }],
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
    const [program = '', ...args] = values.command;
    const minTtlMs = parseDuration(values['min-ttl'] ?? '1m', '--min-ttl');
    const file = await openTokenFile(context, { account: values.account, minTtlMs });
    const ended = await context.host.processes
      .run(program, args, {
        env: { OPSCTL_TOKEN_FILE: file.path },
        stdio: 'inherit',
        signal: context.signal,
      })
      .finally(() => file.close());
    if (ended.startError !== undefined) {
      await context.host.terminal.stderr.write(
        `error: cannot run ${program}: ${ended.startError}\n  try: write the command after --, as one word each\n`,
      );
      return context.host.exit(commandNotFound);
    }
    const code = ended.code ?? 128 + (signalNumbers[ended.signal ?? ''] ?? 0);
    if (code !== 0) context.host.exit(code);
    return nothing();
  },
});
