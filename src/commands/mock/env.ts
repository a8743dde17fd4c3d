import { oneOf } from '../../core/field.ts';
import { rawResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const doubled = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** How each shell or CI system reads one variable. */
const forms = {
  sh: (name: string, value: string) => `export ${name}=${quoted(value)}`,
  fish: (name: string, value: string) => `set -gx ${name} ${quoted(value)}`,
  powershell: (name: string, value: string) => `$env:${name} = ${doubled(value)}`,
  dotenv: (name: string, value: string) => `${name}=${value}`,
} as const;
type Form = keyof typeof forms;

export const envCommand = defineCommand({
  path: ['mock', 'env'],
  summary: 'Print the variables that make programs use the running mock server',
  flags: {
    form: {
      field: oneOf(...(Object.keys(forms) as Form[])),
      summary: 'How to print them; dotenv suits $GITHUB_ENV and dotenv reports (default sh)',
    },
  },
  examples: [
    { line: 'eval "$(opsctl mock env)"', says: 'For the commands that follow in this shell' },
    { line: 'opsctl mock env --form dotenv >> "$GITHUB_ENV"', says: 'For the next steps of a CI job' },
  ],
  run: async (context, values) => {
    const [{ runningServer }, { readyIn }] = await Promise.all([import('./remote.ts'), import('./ready.ts')]);
    const { clientEnvironment } = await import('./client-environment.ts');
    const ready = readyIn(runningServer(context));
    const form = forms[(values.form ?? 'sh') as Form];
    const lines = Object.entries(clientEnvironment(ready)).map(([name, value]) => form(name, value));
    return rawResult(`${lines.join('\n')}\n`);
  },
});
