import { bool } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { begin, memberByMemberFlags } from './begin.ts';

export const restart = defineCommand({
  path: ['kv', 'restart'],
  summary: 'Restart every member, one after another: new configuration, certificates or patch',
  about:
    'The same guards, health checks and rollback as kv upgrade, within one minor. Starts new_binary and new_command of the cluster file, and puts new_config_file in the place of config_file. ' +
    'A member that does not become healthy gets its program, command and configuration before back. Put new certificates beside the old ones and name them in the new configuration: then a rollback has the old ones.',
  flags: {
    ...memberByMemberFlags,
    'keep-program': {
      effects: ['runs'],
      field: bool(),
      summary: 'Start the program and command that run (old_binary, old_command), not the new ones',
    },
  },
  examples: [
    { line: 'opsctl kv restart --cluster cluster.yaml', says: 'a patch upgrade or a new configuration' },
    {
      line: 'opsctl kv restart --cluster cluster.yaml --keep-program --yes',
      says: 'only new_config_file, or files that the servers read again',
    },
  ],
  run: async (context, values) =>
    begin(context, values, 'restart', (name, from) => `Restart every member of ${name} (${from})?`),
});
