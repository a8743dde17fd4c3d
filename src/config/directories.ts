import { childPath, pathPart } from '../core/file-name.ts';
import { isAbsolute, join, resolve } from 'node:path';
import { AppError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import type { Directories } from './settings.ts';

type World = Pick<Host, 'env' | 'platform' | 'cwd' | 'files'>;

/** Below an empty or relative HOME, files would lie in whatever directory a command is started in. */
export const homeOf = ({ env, files }: World): string => {
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : files.homeDirectory();
  if (home !== undefined) return home;
  const why = env.HOME ? `${env.HOME}, not a whole path` : 'not set';
  throw new AppError('config', `this user has no home directory: HOME is ${why}`, {
    code: 'NO_HOME',
    tryThis: ['OPSCTL_HOME=DIRECTORY', 'HOME=DIRECTORY'],
  });
};

/** spec/program#settings: OPSCTL_HOME is one directory for all three; else the XDG directories (their specification has relative values ignored). */
const roots = (host: World): Omit<Directories, 'clusters'> => {
  const { env, platform } = host;
  const own = env.OPSCTL_HOME;
  if (own) {
    const base = resolve(host.cwd, own);
    return { config: join(base, 'config'), state: join(base, 'state'), cache: join(base, 'cache') };
  }
  const place = (value: string | undefined, ...rest: string[]): string =>
    value && isAbsolute(value) ? join(value, 'opsctl') : join(homeOf(host), ...rest, 'opsctl');
  if (platform === 'win32') {
    const local = place(env.LOCALAPPDATA, 'AppData', 'Local');
    return {
      config: place(env.APPDATA, 'AppData', 'Roaming'),
      state: join(local, 'state'),
      cache: join(local, 'cache'),
    };
  }
  return {
    config: place(env.XDG_CONFIG_HOME, '.config'),
    state: place(env.XDG_STATE_HOME, '.local', 'state'),
    cache: place(env.XDG_CACHE_HOME, '.cache'),
  };
};

/** The one file with all profiles. */
export const configFile = (host: World): string => join(roots(host).config, 'config.json');

/** A profile's own directories below the common ones: sign-ins and caches of two profiles never meet. */
export const directoriesOf = (host: World, profile: string): Directories => {
  const { config, state, cache } = roots(host);
  return {
    config: childPath(config, pathPart(profile)),
    state: childPath(state, pathPart(profile)),
    cache: childPath(cache, pathPart(profile)),
    clusters: join(state, 'kv-clusters'),
  };
};
