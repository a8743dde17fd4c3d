import { bool, list, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { clientEnvironment } from './client-environment.ts';
import { portFlag, serverFlags } from './server-flags.ts';

/** Shells give a command that a signal ended 128 and the signal's number. */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

const COMMAND_NOT_FOUND = 127;

export const runCommand = defineCommand({
  path: ['mock', 'run'],
  noDryRun: 'opsctl mock run --help',
  summary: 'Run a command against a server of its own',
  about:
    'Starts the embedded services with data of their own, sets OPSCTL_TRACKER_URL, OPSCTL_TRACKER_TOKEN and the like for the command, stops them when it ' +
    'ends, and ends with its exit code. Write -- before the command.',
  args: [{ name: 'command', field: list(str()), summary: 'The command and its arguments', rest: true }],
  flags: {
    port: portFlag,
    keep: { field: bool(), summary: 'Work on the kept state instead of one that is thrown away' },
    ...serverFlags,
  },
  examples: [
    {
      line: 'opsctl mock run --seed empty -- npm test',
      says: "A test suite against the mock, with the suite's exit code",
    },
  ],
  run: async (context, values) => {
    const [program = '', ...args] = values.command;
    const { launch } = await import('./launch.ts');
    const server = await launch(context, values, 'mock run', values.keep !== true);
    const env = clientEnvironment(server.ready);
    const ended = await context.host.processes
      .run(program, args, { env, stdio: 'inherit', signal: context.signal })
      .finally(() => server.close());
    if (ended.startError !== undefined) {
      const hint = '  try: write the command after --, as one word each';
      await context.host.terminal.stderr.write(
        `error: cannot run ${program}: ${ended.startError}\n${hint}\n`,
      );
      // As shells, env and timeout do.
      return context.host.exit(COMMAND_NOT_FOUND);
    }
    const code = ended.code ?? 128 + (SIGNALS[ended.signal ?? ''] ?? 0);
    if (code !== 0) context.host.exit(code);
    return nothing();
  },
});
