import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { completeLines } from '../../support/built-program.ts';
import { codeCache } from '../../support/code-cache.ts';
import { makeDirectory } from '../../support/directory.ts';
const bin = fileURLToPath(new URL('../../../bin/opsctl.js', import.meta.url));

export type Ended = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};
export type Running = {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stderr(): string;
  stdout(): string;
  /** Waits until the complete lines of stdout or of stderr match the pattern. A line arrives in parts. */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
};
export type Program = {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  start(
    args: readonly string[],
    options?: { env?: Record<string, string>; input?: string | 'open' },
  ): Running;
  run(args: readonly string[], options?: { env?: Record<string, string>; input?: string }): Promise<Ended>;
  /** The output of all previous runs. */
  said(): string;
  /** Returns all files below the home directory as one text. */
  files(): Promise<string>;
  close(): Promise<void>;
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The built program with a separate home directory, run as from a shell. */
export const program = async (more: Record<string, string> = {}): Promise<Program> => {
  const directory = makeDirectory('opsctl-auth-');
  const home = join(directory, 'home');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: directory,
    OPSCTL_HOME: home,
    OPSCTL_KEYCHAIN: 'never',
    ...codeCache,
    ...more,
  };
  const all: string[] = [];
  const children = new Set<ChildProcess>();
  const start: Program['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [bin, ...args], {
      env: { ...env, ...options.env },
      cwd: directory,
    });
    children.add(child);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part;
      all.push(part);
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      stderr += part;
      all.push(part);
    });
    if (options.input !== 'open') child.stdin.end(options.input ?? '');
    child.stdin.on('error', () => undefined);
    const ended = new Promise<Ended>((resolve) => {
      child.on('close', (code, signal) => {
        children.delete(child);
        resolve({ code, signal, stdout, stderr });
      });
    });
    const seen = async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const found = pattern.exec(completeLines(stdout)) ?? pattern.exec(completeLines(stderr));
        if (found !== null) return found;
        // The program may exit before the test has read all of its output.
        if (!children.has(child))
          throw new Error(`ended with ${child.exitCode} before ${pattern}: ${stdout}${stderr}`);
        await pause(10);
      }
    };
    return { child, ended, stderr: () => stderr, stdout: () => stdout, seen };
  };
  return {
    home,
    env,
    start,
    run: (args, options) => start(args, options).ended,
    said: () => all.join(''),
    files: async () => {
      const names = await readdir(home, { recursive: true, withFileTypes: true });
      const texts = names
        .filter((entry) => entry.isFile())
        .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1'));
      return (await Promise.all(texts)).join('\n');
    },
    close: async () => {
      for (const child of children) child.kill('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** Returns the address that a waiting login printed, as the parts that a browser needs. */
export const addressOf = async (
  running: Running,
): Promise<{ url: URL; state: string; redirect(params: Record<string, string>): string }> => {
  const url = new URL((await running.seen(/https?:\/\/[^\s"]+(?:code_challenge|request_uri)=[^\s"]+/))[0]);
  const redirectUri = url.searchParams.get('redirect_uri') ?? '';
  return {
    url,
    state: url.searchParams.get('state') ?? '',
    redirect: (params) => `${redirectUri}?${new URLSearchParams(params)}`,
  };
};
