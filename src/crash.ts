import {
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, sep } from 'node:path';

/** Node's own recursive `mkdir` never ends where a directory that is there lets none be made in it (/proc, automounts). */
const makeDirectory = (path: string): void => {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
};

/** The directory for crash reports: private, in the state directory. */
const reportDirectory = (): string => {
  const { OPSCTL_HOME, XDG_STATE_HOME } = process.env;
  const state = OPSCTL_HOME
    ? join(OPSCTL_HOME, 'state')
    : join(XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'opsctl');
  const directory = join(state, 'crashes');
  try {
    // With an empty or relative HOME, the report would be written to the current directory.
    if (!OPSCTL_HOME && !isAbsolute(directory)) throw new Error('no home');
    makeDirectory(directory);
    return directory;
  } catch {
    // This file imports nothing of opsctl. The rule for a relative TMPDIR is the one of platform/node/files.ts.
    return mkdtempSync(join(isAbsolute(tmpdir()) ? tmpdir() : '/tmp', 'opsctl-crash-'));
  }
};

/** The kind of the error and where it happened. Its message is left out: it may quote a secret. */
export const crashText = (error: unknown): string => {
  if (!(error instanceof Error)) return `a thrown ${typeof error}\n`;
  const code = (error as { code?: unknown }).code;
  // A message of several lines may look like places.
  const frames = (error.stack ?? '')
    .replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at [^\n]{1,500}$/.test(line));
  const kind = /^[A-Za-z]{1,50}$/.test(error.name) ? error.name : 'Error';
  const named = typeof code === 'string' && /^[A-Z0-9_]{1,50}$/.test(code) ? ` ${code}` : '';
  return [`${kind}${named}`, ...frames, ''].join('\n');
};

/** The whole of a new file that only its owner can read, or no file. */
const writeWhole = (path: string, text: string): void => {
  const file = openSync(path, 'wx', 0o600);
  try {
    fchmodSync(file, 0o600);
    writeFileSync(file, text);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
};

/** Why the installation cannot run, if that is the reason of the error. */
const installationProblem = (error: unknown): string | undefined => {
  const { code, path, message } = error as { code?: unknown; path?: unknown; message?: unknown };
  // bin/load.js names the file and the reason.
  if (code === 'PROGRAM_FILE') return String(message);
  const named =
    code === 'MODULE_NOT_FOUND' ? /^Cannot find module '([^']+)'/.exec(String(message))?.[1] : path;
  if (typeof named !== 'string' || !['MODULE_NOT_FOUND', 'ENOENT'].includes(String(code))) return undefined;
  const root = dirname(__dirname);
  const whole = named.startsWith('.') ? join(root, 'bin', named) : named;
  const isOwn = ['bin', 'dist'].some((part) => whole.startsWith(join(root, part, sep)));
  return isOwn ? `the installation is damaged: ${whole} not found` : undefined;
};

/** Writes a report that only its owner can read and prints one line; returns the exit code. */
export const reportCrash = (error: unknown): number => {
  const problem = installationProblem(error);
  if (problem !== undefined) {
    process.stderr.write(`opsctl: ${problem}\n  try: install opsctl again\n`);
    return 3;
  }
  const text = crashText(error);
  const [kind] = text.split('\n', 1);
  let where = 'no report could be written';
  try {
    const path = join(
      reportDirectory(),
      `crash-${new Date().toISOString().replaceAll(':', '')}-${process.pid}.txt`,
    );
    writeWhole(path, `Node ${process.version} ${process.platform}\n${text}`);
    where = `see ${path}`;
  } catch {
    // This code must not throw, because it is the last handler.
  }
  process.stderr.write(`opsctl: internal error (${kind}); ${where}\n`);
  return 1;
};
