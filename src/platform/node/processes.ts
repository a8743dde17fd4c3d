import { assertProgramCall, lookupEnv, strictEnv } from '../../core/program-call.ts';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import fs from 'node:fs';
import type { Exit, Processes, ProcessScope, Started } from '../host.ts';
import { builtin } from './builtin.ts';
import { openToAppend } from './files.ts';

type Options = NonNullable<Parameters<Processes['start']>[2]>;
/** Early lines are kept up to this number, so that an unread child does not fill the memory. */
const KEPT_LINES = 10_000;
/** Reads immediately, so that a full pipe never stops the child. */
const lineQueue = (child: ChildProcess): (() => AsyncGenerator<string>) => {
  const lines: string[] = [];
  let isEnded = child.stdout === null;
  let wake: () => void = () => {};
  if (child.stdout !== null) {
    const reader = builtin.readline.createInterface({
      input: child.stdout,
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    reader.on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      wake();
    });
    reader.on('close', () => {
      isEnded = true;
      wake();
    });
  }
  return async function* () {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (isEnded) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  };
};
const awaitSpawn = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
/** See `Processes.start`. Rejects with the system's `code` when the command cannot be started. */
export const start = async (command: string, args: readonly string[], options: Options): Promise<Started> => {
  assertProgramCall(command, args);
  const log = options.logFile === undefined ? undefined : openToAppend(options.logFile, 0o600);
  try {
    const output = log ?? (options.detached ? 'ignore' : 'pipe');
    const settings: SpawnOptions = {
      cwd: options.cwd,
      env: lookupEnv(args, options.env ?? process.env, process.platform) as NodeJS.ProcessEnv,
      detached: options.detached ?? false,
      stdio: ['ignore', output, log ?? (options.detached ? 'ignore' : 'inherit')],
      windowsHide: true,
    };
    const child = builtin.childProcess.spawn(command, [...args], settings);
    const exited = new Promise<Exit>((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    const lines = lineQueue(child);
    await awaitSpawn(child);
    // `kill` returns a later failure (a signal that cannot be sent) instead of throwing an uncaught
    // exception.
    child.on('error', () => {});
    if (options.detached) child.unref();
    return {
      pid: child.pid as number,
      exited,
      kill: (signal) => child.kill(signal as NodeJS.Signals),
      lines,
    };
  } finally {
    if (log !== undefined) fs.closeSync(log);
  }
};

type Env = Readonly<Record<string, string | undefined>>;
/** Fields of /proc/PID/stat after the name, which may itself hold spaces and parentheses. */
const stat = (pid: number): string[] | undefined => {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
};
const STATE = 0;
const START_TIME = 19;
const textOf = (path: string): string | undefined => {
  try {
    return fs.readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
};
const bootId = (): string => textOf('/proc/sys/kernel/random/boot_id') ?? '';
const pidNamespace = (): string | undefined => {
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined;
  }
};
/** machine-id(5): only a hash of the ID, keyed by the program, may leave the machine. */
const hashedMachineId = (): string | undefined => {
  const id = textOf('/etc/machine-id') ?? textOf('/var/lib/dbus/machine-id');
  return id === undefined || id === 'uninitialized'
    ? undefined
    : builtin.crypto.createHmac('sha256', id).update('opsctl').digest('hex').slice(0, 32);
};
let known: ProcessScope | undefined;
/**
 * Without machine ID, boot ID and namespaces (macOS, Windows) the host name is all there is. The first read of the machine
 * ID loads node:crypto, which costs a fifth of the start of Node.
 */
const scope = (): ProcessScope => {
  if (known !== undefined) return known;
  if (process.platform !== 'linux') return {};
  const rest = { bootId: bootId() || undefined, pidNamespace: pidNamespace() };
  let machineId: { readonly hash: string | undefined } | undefined;
  known = {
    get machineId() {
      machineId ??= { hash: hashedMachineId() };
      return machineId.hash;
    },
    ...rest,
  };
  return known;
};
const answers = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
};
/**
 * A zombie process still accepts signal 0. If its /proc entry is missing, the parent has reaped it between
 * the two checks, or the entry is hidden from this user. Signal 0 distinguishes the two cases.
 */
const isAlive = (pid: number): boolean => {
  if (!answers(pid)) return false;
  if (process.platform !== 'linux') return true;
  const state = stat(pid)?.[STATE];
  return state === undefined ? answers(pid) : state !== 'Z';
};
const signal = (pid: number, name: string): boolean => {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
};
const startMark = (pid: number): string | undefined => {
  if (process.platform === 'linux') {
    const fields = stat(pid);
    return fields && `${fields[START_TIME]}@${bootId()}`;
  }
  if (process.platform === 'win32') return undefined;
  const { stdout } = builtin.childProcess.spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: strictEnv({ ...process.env, LC_ALL: 'C' }, process.platform) as NodeJS.ProcessEnv,
  });
  return stdout?.trim() || undefined;
};
/** Child processes see `env` and what a call adds to it. */
export const nodeProcesses = (env: Env): Processes => ({
  async run(command, args, options = {}) {
    const { run } = await import('./programs.ts');
    return run(command, args, { ...options, env: { ...env, ...options.env } });
  },
  start: (command, args, options = {}) =>
    start(command, args, { ...options, env: { ...env, ...options.env } }),
  isAlive,
  signal,
  startMark,
  scope,
});
