import { oneOf, req } from '../core/field.ts';
import { nothing, rawResult } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';
import { scriptOf } from './scripts.ts';

const shells = oneOf('bash', 'zsh', 'fish', 'powershell');

const print = defineCommand({
  path: ['completion'],
  summary: 'Print the completion script of a shell',
  about:
    '`opsctl completion install` puts it where your shell looks for completions. To try it first, load it into the shell that is open.',
  args: [{ name: 'shell', field: req(shells), summary: 'bash, zsh, fish or powershell' }],
  examples: [
    { line: 'source <(opsctl completion bash)', says: 'Bash or zsh, for this shell only' },
    { line: 'opsctl completion install', says: 'For good, in the shell of $SHELL' },
  ],
  run: async (_context, { shell }) => rawResult(await scriptOf(shell)),
});

const install = defineCommand({
  path: ['completion', 'install'],
  noDryRun: 'opsctl completion bash prints the script',
  summary: 'Put the completion script where the shell looks for it',
  args: [
    {
      name: 'shell',
      field: shells,
      summary: 'bash, zsh, fish or powershell (default: that of $SHELL)',
      optional: true,
    },
  ],
  examples: [{ line: 'opsctl completion install fish', says: 'Fish, whatever $SHELL says' }],
  run: async ({ host, log }, { shell }) => {
    const { installScript } = await import('./install.ts');
    const { path, next } = await installScript(host, shell);
    for (const line of next) log.info(line);
    return nothing(`completion is in ${path}`);
  },
});

export const commands: readonly Command[] = [print, install];
