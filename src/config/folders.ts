import { join } from 'node:path';
import type { Host } from '../host/host.ts';

export type Folders = { readonly config: string; readonly state: string; readonly cache: string };

/** decisions 4: OPSCTL_HOME is one folder for all three; else the XDG folders. Absolute. */
export const foldersOf = (host: Pick<Host, 'env' | 'files' | 'cwd'>): Folders => {
  const { env } = host;
  const home = env.OPSCTL_HOME;
  if (home !== undefined && home !== '') {
    const base = home.startsWith('/') ? home : join(host.cwd, home);
    return { config: join(base, 'config'), state: join(base, 'state'), cache: join(base, 'cache') };
  }
  const user = host.files.homeFolder();
  const xdg = (name: string, fallback: string) => join(env[name]?.startsWith('/') ? env[name] : join(user, fallback), 'opsctl');
  return { config: xdg('XDG_CONFIG_HOME', '.config'), state: xdg('XDG_STATE_HOME', '.local/state'), cache: xdg('XDG_CACHE_HOME', '.cache') };
};
