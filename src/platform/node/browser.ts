import type { ChildProcess } from 'node:child_process';
import { type ExternalUrl, externalUrl } from '../../core/external-url.ts';
import { builtin } from './builtin.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A launcher that fails does so quickly. A launcher that still runs after this time has opened a page. */
const WATCH_MS = 1000;

/** True where a window could appear at all. Pure. */
export const hasDisplay = (env: Env, platform: string): boolean => {
  if (env.BROWSER === 'none') return false;
  if (env.BROWSER || platform === 'win32') return true;
  const isRemote = !!(env.SSH_CONNECTION || env.SSH_TTY);
  if (platform === 'darwin') return !isRemote;
  return !!(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
};

/** A colon between entries; one inside quotes belongs to a path or an argument. */
const outsideQuotes = /:(?=(?:[^"']*(?:"[^"]*"|'[^']*'))*[^"']*$)/;

/**
 * Splits words as a shell does: quotes group, and a backslash escapes (not on Windows, where every path
 * contains backslashes).
 */
const wordsOf = (entry: string, platform: string): string[] => {
  const word =
    platform === 'win32' ? /(?:"[^"]*"|[^\s"])+/g : /(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g;
  const part = platform === 'win32' ? /"([^"]*)"/g : /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g;
  const unquote = (_: string, double?: string, single?: string, escaped?: string): string =>
    platform === 'win32'
      ? (double ?? '')
      : (double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? escaped ?? '');
  return (entry.match(word) ?? []).map((text) => text.replace(part, unquote));
};

/** The commands in BROWSER, tried in order; `%s` stands for the URL. Pure. */
export const browserCommands = (setting: string, url: string, platform: string): string[][] =>
  setting
    .split(platform === 'win32' ? /;(?=(?:[^"]*"[^"]*")*[^"]*$)/ : outsideQuotes)
    .map((entry) => wordsOf(entry, platform))
    .filter((words) => words.length > 0 && words[0] !== 'none')
    .map((words) =>
      words.some((word) => word.includes('%s'))
        ? words.map((word) => word.replaceAll('%s', url))
        : [...words, url],
    );

const seemsOpened = (child: ChildProcess): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), WATCH_MS);
    const settle = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once('error', () => settle(false));
    child.once('exit', (code) => settle(code === 0));
    if (child.exitCode !== null) settle(child.exitCode === 0);
  });

const launch = ([command, ...args]: readonly string[], env: Env): Promise<boolean> => {
  const child = builtin.childProcess.spawn(command ?? '', args, {
    stdio: 'ignore',
    detached: true,
    env: env as NodeJS.ProcessEnv,
  });
  child.unref();
  return seemsOpened(child);
};

/** See `Host.openBrowser`. */
export const openBrowser = async (url: ExternalUrl, env: Env, platform: string): Promise<boolean> => {
  // The type holds at compile time only, and this is the last place before the text is an argument of a program.
  const address = externalUrl(url);
  if (address === undefined || !hasDisplay(env, platform)) return false;
  if (env.BROWSER) {
    for (const words of browserCommands(env.BROWSER, address, platform)) {
      if (await launch(words, env)) return true;
    }
    return false;
  }
  try {
    const { default: open } = await import('open');
    return await seemsOpened(await open(address));
  } catch {
    return false;
  }
};
