import { bool, list, str } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { clientEnvironment } from './client-environment.ts';
import { endAs, runChild } from './run-child.ts';
import { portFlag } from './port-flag.ts';
import { serverFlags } from './server-flags.ts';

export const runCommand = defineCommand({
  path: ['mock', 'run'],
  noDryRun: 'opsctl mock run --help',
  summary: 'Run a command against a server of its own',
  about:
    'Starts the embedded services with data of their own, sets OPSCTL_TRACKER_URL, OPSCTL_TRACKER_TOKEN and the like for the command, stops them when it ' +
    'ends, and ends with its exit code. Write -- before the command.',
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
    const { launch } = await import('./launch.ts');
    const server = await launch(context, values, 'mock run', values.keep !== true);
    const ended = runChild(context, values.command, clientEnvironment(server.ready));
    return endAs(context, await ended.finally(() => server.close()));
  },
});
