import { basename, dirname, isAbsolute, join } from 'node:path';
import { homeOf } from '../config/directories.ts';
import { AppError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { type Shell, scriptOf } from './scripts.ts';

type Env = Host['env'];
type Place = { readonly path: string; readonly next: readonly string[] };

/** XDG Base Directory Specification: a relative value is invalid and ignored. */
const absoluteOr = (given: string | undefined, otherwise: string): string =>
  given !== undefined && isAbsolute(given) ? given : otherwise;
const dataHome = (env: Env, home: string): string =>
  absoluteOr(env.XDG_DATA_HOME, join(home, '.local', 'share'));
const configHome = (env: Env, home: string): string => absoluteOr(env.XDG_CONFIG_HOME, join(home, '.config'));

/** Where each shell looks for the completions of one user, and what it needs besides. */
const places: Readonly<Record<Shell, (env: Env, home: string) => Place>> = {
  bash: (env, home) => {
    const own = absoluteOr(env.BASH_COMPLETION_USER_DIR, join(dataHome(env, home), 'bash-completion'));
    const path = join(own, 'completions', 'opsctl');
    return {
      path,
      next: [
        'it works in new shells where the package bash-completion is installed; elsewhere add this to ~/.bashrc:',
        `  source ${path}`,
      ],
    };
  },
  zsh: (env, home) => {
    const directory = join(dataHome(env, home), 'zsh', 'site-functions');
    return {
      path: join(directory, '_opsctl'),
      next: [
        'if ~/.zshrc does not have these lines yet, add them:',
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
    return { path, next: ['add this line to the file that $PROFILE names:', `  . ${path}`] };
  },
};

const shellOf = ({ env }: Host): Shell => {
  const name = basename(env.SHELL ?? '');
  if (name === 'bash' || name === 'zsh' || name === 'fish') return name;
  if (name === 'pwsh') return 'powershell';
  throw new AppError(
    'usage',
    `completion install: $SHELL (${env.SHELL ?? 'not set'}) is no shell that is known here`,
    {
      tryThis: ['opsctl completion install bash', 'opsctl completion install zsh'],
    },
  );
};

/** Writes the script to the user's own directory of that shell; a script of an older version is replaced. */
export const installScript = async (host: Host, given: Shell | undefined): Promise<Place> => {
  const shell = given ?? shellOf(host);
  const place = places[shell](host.env, homeOf(host));
  await host.files.makeDirectory(dirname(place.path), 0o755);
  await host.files.replace(place.path, await scriptOf(shell), 0o644);
  return place;
};
