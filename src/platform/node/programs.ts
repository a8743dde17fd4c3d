/** The programs that opsctl starts for a command: a child that it waits for, a browser, and a pager. Loaded by the first of them. */
import { assertProgramCall, lookupEnv, strictEnv, withoutOwnVariables } from '../../core/program-call.ts';
import fs from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { ChildProcess } from 'node:child_process';
import type { ResultPromise } from 'execa';
import { type ExternalUrl, externalUrl } from '../../core/external-url.ts';
import { limits } from '../../core/limits.ts';
import type { Finished, RunOptions } from '../host.ts';
import { builtin } from './builtin.ts';

type Env = Readonly<Record<string, string | undefined>>;

const startErrorOf = (result: {
  code?: string;
  originalMessage?: string;
  exitCode?: number;
  signal?: string;
}): string | undefined =>
  result.exitCode === undefined && result.signal === undefined && result.code !== undefined
    ? (result.originalMessage ?? result.code)
    : undefined;

/** Without any a child that reads would take this program's own input. */
const inputOf = ({ input, inputFile }: RunOptions, isPiped: boolean) => {
  if (inputFile !== undefined) return { inputFile };
  return input === undefined ? { stdin: isPiped ? ('ignore' as const) : ('inherit' as const) } : { input };
};

const LET_GO_MS = 100;
/**
 * A grandchild may keep the output open long after the child has exited. A time limit and Ctrl-C therefore
 * apply to the output, not only to the child.
 */
const letGo = (child: Pick<ResultPromise, 'kill' | 'stdout' | 'stderr'>): void => {
  child.kill('SIGKILL');
  child.stdout?.destroy();
  child.stderr?.destroy();
};

/** Cuts the output shortly after the time limit or an abort; what it returns ends that. */
const cutOutput = (child: Parameters<typeof letGo>[0], { timeoutMs, signal }: RunOptions): (() => void) => {
  const cuts: NodeJS.Timeout[] = [];
  const cutIn = (ms: number): number => cuts.push(setTimeout(() => letGo(child), ms));
  const cutSoon = (): number => cutIn(LET_GO_MS);
  if (timeoutMs !== undefined) cutIn(timeoutMs + LET_GO_MS);
  signal?.addEventListener('abort', cutSoon, { once: true });
  if (signal?.aborted) cutSoon();
  return () => {
    signal?.removeEventListener('abort', cutSoon);
    for (const cut of cuts) clearTimeout(cut);
  };
};

const canStart = (path: string): boolean => {
  try {
    fs.accessSync(path, fs.constants.X_OK);
    return fs.statSync(path).isFile();
  } catch {
    return false;
  }
};
/** A program that cannot be started is started without the shell, because a shell reports only an exit code. */
const isFound = (command: string, { cwd = '.', env = {} }: RunOptions): boolean =>
  command.includes('/')
    ? canStart(resolve(cwd, command))
    : (env.PATH?.split(delimiter).some((directory) => canStart(resolve(cwd, directory, command))) ?? false);
/**
 * An ignored signal stays ignored in the program that replaces the shell, and in its children. A separate session would
 * have the same effect, but a proxy command of ssh and sudo would lose their terminal.
 */
const withoutCtrlC = (
  command: string,
  args: readonly string[],
  options: RunOptions,
): readonly [string, readonly string[]] =>
  options.keepsRunningOnCtrlC === true && process.platform !== 'win32' && isFound(command, options)
    ? ['/bin/sh', ['-c', `trap '' INT HUP; exec "$@"`, 'sh', command, ...args]]
    : [command, args];
/**
 * Runs a child until it exits; see `Processes.run`. Never rejects, because a failing child is also a result.
 */
export const run = async (command: string, args: readonly string[], given: RunOptions): Promise<Finished> => {
  assertProgramCall(command, args);
  const options =
    given.env === undefined ? given : { ...given, env: lookupEnv(args, given.env, process.platform) };
  const isPiped = options.stdio !== 'inherit';
  const { execa } = await import('execa');
  const child = execa(...withoutCtrlC(command, args, options), {
    cwd: options.cwd,
    env: options.env as Record<string, string>,
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
    ...inputOf(options, isPiped),
    stdout: isPiped ? 'pipe' : 'inherit',
    stderr: isPiped ? 'pipe' : 'inherit',
    timeout: options.timeoutMs ?? 0,
    cancelSignal: options.signal,
    maxBuffer: options.maxBytes ?? limits.programBytes,
  });
  options.onStart?.((signal) => void child.kill(signal as NodeJS.Signals));
  const keep = isPiped ? cutOutput(child, options) : undefined;
  const result = await child;
  keep?.();
  const startError = startErrorOf(result);
  return {
    // The child may have succeeded after its output was cut. The partial output is not a valid result.
    code: result.isMaxBuffer ? null : (result.exitCode ?? null),
    signal: result.signal ?? null,
    stdout: result.stdout ?? '',
    stderr: result.stderr ?? '',
    timedOut: result.timedOut,
    ...(result.isMaxBuffer ? { isCut: true as const } : {}),
    ...(startError === undefined ? {} : { startError }),
  };
};

/** A launcher that fails ends quickly. A launcher that still runs after this time has opened a page. */
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

/**
 * The package `open` finds programs by relative entries of PATH too, and passes all variables on to them. Only Windows
 * and WSL need it: the page what-opsctl-trusts names this exception. Pure.
 */
const openerOf = (env: Env, platform: string): string | undefined => {
  if (env.WSL_DISTRO_NAME || platform === 'win32') return undefined;
  return platform === 'darwin' ? '/usr/bin/open' : 'xdg-open';
};
/** See `Host.openBrowser`. */
export const openBrowser = async (url: ExternalUrl, env: Env, platform: string): Promise<boolean> => {
  // The type holds at compile time only, and this is the last place before the text is an argument of a program.
  const address = externalUrl(url);
  if (address === undefined || !hasDisplay(env, platform)) return false;
  if (env.BROWSER) {
    // A browser runs for days, and its environment with it.
    const own = withoutOwnVariables(env);
    for (const words of browserCommands(env.BROWSER, address, platform)) {
      if (await launch(words, own)) return true;
    }
    return false;
  }
  const opener = openerOf(env, platform);
  if (opener !== undefined) return launch([opener, address], strictEnv(env, platform));
  try {
    const { default: open } = await import('open');
    return await seemsOpened(await open(address));
  } catch {
    return false;
  }
};

/** The pager without a setting. The source names it, and the user may not know that it runs. */
export const defaultPager = 'less';
/** As git does: `less` ends when all fits on one screen, passes colors through and leaves the text on the screen. */
const defaults = { LESS: 'FRX', LV: '-c' } as const;
/** Writes the text at the speed of the reader, until the text ends or the reader leaves. */
const feed = async (stdin: Writable, text: string | AsyncIterable<string>): Promise<void> => {
  if (typeof text === 'string') {
    stdin.end(text);
    return;
  }
  // One listener each for the whole text: a slow reader blocks many writes.
  let goOn = (): void => undefined;
  const wake = (): void => goOn();
  stdin.on('drain', wake).once('close', wake);
  for await (const piece of text) {
    if (stdin.destroyed) return;
    const hasRoom = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    if (!stdin.write(piece) && !stdin.destroyed) await hasRoom;
  }
  stdin.end();
};
/** Shows text in a pager and waits for its reader. False when no pager could be started, so that the text is still to be written. */
export const page = (command: string, text: string | AsyncIterable<string>, env: Env): Promise<boolean> =>
  new Promise((resolve) => {
    // A pager of the user keeps the PATH of the user. The shell is found without it: a relative entry could name another `sh`.
    const shell = process.platform === 'win32' ? 'sh' : '/bin/sh';
    const all = { ...process.env, ...defaults, ...env };
    const child = builtin.childProcess.spawn(shell, ['-c', command], {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: (command === defaultPager ? strictEnv(all, process.platform) : all) as NodeJS.ProcessEnv,
    });
    let isStarted = true;
    child.once('error', () => resolve(false));
    // 127: the shell did not find the command, so no text was shown.
    child.once('close', (code) => resolve(isStarted && code !== 127));
    // A reader who leaves early closes the pipe.
    child.stdin.on('error', () => {});
    void feed(child.stdin, text);
    child.once('error', () => {
      isStarted = false;
    });
  });

/** Yields single keys until the signal is aborted, then restores the terminal. */
export async function* keys(signal: AbortSignal): AsyncGenerator<string> {
  const { stdin } = process;
  const waiting: string[] = [];
  let wake: () => void = () => {};
  const take = (chunk: Buffer): void => {
    waiting.push(...chunk.toString('utf8'));
    wake();
  };
  const stop = (): void => wake();
  stdin.setRawMode(true);
  stdin.on('data', take);
  stdin.resume();
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const key = waiting.shift();
      if (key !== undefined) yield key;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stdin.off('data', take);
    stdin.setRawMode(false);
    stdin.pause();
  }
}
