import { basename, dirname, isAbsolute, join } from 'node:path';
import { type Command, defineCommand } from '../cli/command.ts';
import { homeOf } from '../config/settings.ts';
import { oneOf, req } from '../core/field.ts';
import { AppError } from '../core/problem.ts';
import { nothing, rawResult } from '../core/result.ts';
import type { Host } from '../platform/host.ts';

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';
const scripts: Readonly<Record<Shell, () => Promise<string>>> = {
  bash: async () => (await import('../reference/completion.ts')).bashScript(),
  zsh: async () => (await import('../reference/completion.ts')).zshScript(),
  fish: async () => (await import('../reference/completion.ts')).fishScript(),
  powershell: async () => (await import('../reference/completion.ts')).powershellScript(),
};
export const scriptOf = (shell: Shell): Promise<string> => scripts[shell]();

const shells = oneOf('bash', 'zsh', 'fish', 'powershell');
const print = defineCommand({
  path: ['completion'],
  summary: 'Print the completion script of a shell',
  about:
    '`opsctl completion install` installs the script in the directory that your shell searches. To try completion first, load the script into the current shell.',
  args: [{ name: 'shell', field: req(shells), summary: 'bash, zsh, fish or powershell' }],
  examples: [
    {
      line: 'source <(opsctl completion bash)',
      says: 'Enable completion in the current bash or zsh session',
    },
    { line: 'opsctl completion install', says: 'Install completion permanently for the shell in $SHELL' },
  ],
  run: async (_context, { shell }) => rawResult(await scriptOf(shell)),
});
const install = defineCommand({
  path: ['completion', 'install'],
  noDryRun: 'opsctl completion bash prints the script',
  summary: 'Install the completion script for a shell',
  args: [
    {
      name: 'shell',
      field: shells,
      summary: 'bash, zsh, fish or powershell (default: the shell in $SHELL)',
      optional: true,
    },
  ],
  examples: [
    { line: 'opsctl completion install fish', says: 'Install completion for fish, regardless of $SHELL' },
  ],
  run: async ({ host, log }, { shell }) => {
    const { path, next } = await installScript(host, shell);
    for (const line of next) log.info(line);
    return nothing(`installed completion in ${path}`);
  },
});
export const commands: readonly Command[] = [print, install];

type Env = Host['env'];
type Place = { readonly path: string; readonly next: readonly string[] };
/** XDG Base Directory Specification: a relative value is invalid and ignored. */
const absoluteOr = (given: string | undefined, otherwise: string): string =>
  given !== undefined && isAbsolute(given) ? given : otherwise;
const dataHome = (env: Env, home: string): string =>
  absoluteOr(env.XDG_DATA_HOME, join(home, '.local', 'share'));
const configHome = (env: Env, home: string): string => absoluteOr(env.XDG_CONFIG_HOME, join(home, '.config'));
/** The directory in which each shell searches for the completions of one user, and the additional setup. */
const places: Readonly<Record<Shell, (env: Env, home: string) => Place>> = {
  bash: (env, home) => {
    const own = absoluteOr(env.BASH_COMPLETION_USER_DIR, join(dataHome(env, home), 'bash-completion'));
    const path = join(own, 'completions', 'opsctl');
    return {
      path,
      next: [
        'new shells load it if the package bash-completion is installed; otherwise add this line to ~/.bashrc:',
        `  source ${path}`,
      ],
    };
  },
  zsh: (env, home) => {
    const directory = join(dataHome(env, home), 'zsh', 'site-functions');
    return {
      path: join(directory, '_opsctl'),
      next: [
        'add these lines to ~/.zshrc if they are missing:',
        `  fpath=(${directory} $fpath)`,
        '  autoload -U compinit && compinit',
      ],
    };
  },
  fish: (env, home) => ({
    path: join(configHome(env, home), 'fish', 'completions', 'opsctl.fish'),
    next: [],
  }),
  powershell: (env, home) => {
    const path = join(configHome(env, home), 'powershell', 'opsctl.ps1');
    return { path, next: ['add this line to the profile file ($PROFILE):', `  . ${path}`] };
  },
};
const shellOf = ({ env }: Host): Shell => {
  const name = basename(env.SHELL ?? '');
  if (name === 'bash' || name === 'zsh' || name === 'fish') return name;
  if (name === 'pwsh') return 'powershell';
  throw new AppError('usage', `completion install: unsupported shell in $SHELL: ${env.SHELL ?? 'not set'}`, {
    tryThis: ['opsctl completion install bash', 'opsctl completion install zsh'],
  });
};
/** Writes the script to the user's own directory of that shell; a script of an older version is replaced. */
export const installScript = async (host: Host, given: Shell | undefined): Promise<Place> => {
  const shell = given ?? shellOf(host);
  const place = places[shell](host.env, homeOf(host));
  await host.files.makeDirectory(dirname(place.path), 0o755);
  await host.files.replace(place.path, await scriptOf(shell), 0o644);
  return place;
};
