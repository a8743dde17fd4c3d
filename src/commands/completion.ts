import { oneOf, req } from '../core/field.ts';
import { rawResult } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';

const completion = defineCommand({
  path: ['completion'],
  summary: 'Print the completion script of a shell',
  about:
    'Load it once per shell: `source <(opsctl completion bash)`, or write it to the directory where your shell looks for completions.',
  args: [{ name: 'shell', field: req(oneOf('bash', 'zsh', 'fish')), summary: 'bash, zsh or fish' }],
  examples: [
    { line: 'source <(opsctl completion bash)', says: 'Bash, for this shell' },
    { line: 'opsctl completion fish > ~/.config/fish/completions/opsctl.fish', says: 'Fish, for good' },
  ],
  run: async (_context, { shell }) => {
    if (shell === 'bash') return rawResult((await import('../reference/completion/bash.ts')).bashScript());
    if (shell === 'zsh') return rawResult((await import('../reference/completion/zsh.ts')).zshScript());
    return rawResult((await import('../reference/completion/fish.ts')).fishScript());
  },
});

export const commands: readonly Command[] = [completion];
