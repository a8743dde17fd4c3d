import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { closeAtEnd } from './closing.ts';
import { makeDirectory } from './directory.ts';

/** The built program; `npm test` builds it first. */
const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));

export type Ended = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};
export type RunningProgram = {
  readonly pid: number;
  /** The first line on stdout, parsed if it is JSON. */
  readonly first: Promise<any>;
  /**
   * Waits until the complete lines of stderr match the pattern and returns its groups. A line arrives in parts, so the last
   * line counts only with its line break. Throws if the program exits without a match.
   */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
};
type Options = {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  readonly cwd?: string;
};
export type Program = {
  /** OPSCTL_HOME. It is also the working directory unless the test sets another directory. */
  readonly home: string;
  run(args: readonly string[], options?: Options): Promise<Ended>;
  /** Runs the program like `run` with -o json and returns the parsed stdout. Throws with stderr if the program failed. */
  json(args: readonly string[], options?: Options): Promise<any>;
  start(args: readonly string[], options?: Options): RunningProgram;
  /** Stops the processes that are still running and removes the directory. */
  close(): Promise<void>;
};

const environment = (home: string, more: Options['env']): NodeJS.ProcessEnv => {
  const kept = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(OPSCTL_|XDG_|CI$|NO_COLOR$|FORCE_COLOR$|.*_PROXY$|.*_proxy$)/.test(name),
    ),
  );
  return { ...kept, HOME: home, OPSCTL_HOME: home, NO_COLOR: '1', ...more };
};

const firstLine = (child: ChildProcess, ended: Promise<Ended>): Promise<any> =>
  new Promise((resolve, reject) => {
    if (child.stdout === null) return reject(new Error('no stdout'));
    createInterface({ input: child.stdout }).once('line', (line) => {
      try {
        resolve(JSON.parse(line));
      } catch {
        resolve(line);
      }
    });
    void ended.then(({ stdout, stderr, code }) =>
      reject(new Error(`ended with ${code} before its first line: ${stderr}${stdout}`)),
    );
  });

/** Returns the text up to and including its last line break. */
export const completeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

const saidBy = (child: ChildProcess, ended: Promise<Ended>, pattern: RegExp): Promise<RegExpExecArray> =>
  new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (chunk: string) => {
      text += chunk;
      const found = pattern.exec(completeLines(text));
      if (found) resolve(found);
    });
    void ended.then(
      ({ stderr, code }) => reject(new Error(`ended with ${code} and never said ${pattern}: ${stderr}`)),
      reject,
    );
  });

const endOf = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve, reject) => {
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });

/** Runs the built program as a user's shell would, with a dedicated home directory. */
export const program = (env: Options['env'] = {}): Program => {
  const home = makeDirectory('opsctl-home-');
  const alive = new Set<ChildProcess>();
  const launch = (args: readonly string[], options: Options = {}) => {
    const child = spawn(process.execPath, [BIN, ...args], {
      env: environment(home, { ...env, ...options.env }),
      cwd: options.cwd ?? home,
    });
    alive.add(child);
    child.once('close', () => alive.delete(child));
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    return { child, ended: endOf(child) };
  };
  const run: Program['run'] = (args, options) => launch(args, options).ended;
  return closeAtEnd<Program>({
    home,
    run,
    json: async (args, options) => {
      const { code, stdout, stderr } = await run([...args, '-o', 'json'], options);
      if (code !== 0) throw new Error(`opsctl ${args.join(' ')} ended with ${code}: ${stderr}`);
      return stdout === '' ? undefined : JSON.parse(stdout);
    },
    start: (args, options) => {
      const { child, ended } = launch(args, options);
      const first = firstLine(child, ended);
      first.catch(() => {});
      return {
        pid: child.pid ?? 0,
        first,
        said: (pattern) => saidBy(child, ended, pattern),
        ended,
        kill: (signal) => void child.kill(signal),
      };
    },
    close: async () => {
      for (const child of alive) child.kill('SIGKILL');
      await Promise.all([...alive].map((child) => new Promise((resolve) => child.once('close', resolve))));
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  });
};
