import fs from 'node:fs';
import type { Processes, ProcessScope } from '../host.ts';
import { builtin } from './builtin.ts';
import { start } from './start.ts';

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
/** Without machine ID, boot ID and namespaces (macOS, Windows) the host name is all there is. */
const scope = (): ProcessScope => {
  known ??=
    process.platform === 'linux'
      ? { machineId: hashedMachineId(), bootId: bootId() || undefined, pidNamespace: pidNamespace() }
      : {};
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
 * A process that has ended and waits for its parent to notice still answers signal 0. When its /proc entry is not there, the parent
 * has noticed between the two looks, or the entry is hidden from this user: signal 0 tells which.
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
    env: { ...process.env, LC_ALL: 'C' },
  });
  return stdout?.trim() || undefined;
};

/** Child processes see `env` and what a call adds to it. */
export const nodeProcesses = (env: Env): Processes => ({
  async run(command, args, options = {}) {
    const { run } = await import('./run.ts');
    return run(command, args, { ...options, env: { ...env, ...options.env } });
  },
  start: (command, args, options = {}) =>
    start(command, args, { ...options, env: { ...env, ...options.env } }),
  isAlive,
  signal,
  startMark,
  scope,
});
