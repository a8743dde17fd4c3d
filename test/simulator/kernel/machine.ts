/** A Host on the simulated kernel: the file and network code of the product on top of simulated system calls and messages. */
import { loadConf } from '../../../src/platform/node/host.ts';
import type { Host } from '../../../src/platform/host.ts';
import { nodeFiles } from '../../../src/platform/node/files.ts';
import { AppError } from '../../../src/core/problem.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { Disk } from './disk.ts';
import type { Kernel, Machine, Process } from './kernel.ts';
import { type Lan, networkOf } from './network.ts';

export const HOME = '/home/user';
export const machineNamed = (name: string): Machine => {
  const disk = new Disk();
  for (const path of ['/home', HOME, '/tmp', '/proc'])
    disk.change([
      {
        directory: disk.find(path.slice(0, path.lastIndexOf('/'))) ?? disk.root,
        name: path.slice(path.lastIndexOf('/') + 1),
        inode: disk.make('directory', 0o755),
      },
    ]);
  disk.settle();
  return { name, disk };
};

export type SimulatedHost = Host & { out(): string; err(): string };
export type HostOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly processes?: Partial<Host['processes']>;
};

const sleeper =
  (kernel: Kernel, process: Process): Host['sleep'] =>
  (ms, signal) =>
    new Promise((resolve, reject) => {
      if (process.isDead) return;
      if (signal?.aborted) return reject(signal.reason);
      const abort = (): void => void kernel.later(() => reject(signal?.reason), 0, process);
      signal?.addEventListener('abort', abort, { once: true });
      kernel.later(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
        ms,
        process,
      );
    });

const terminalOf = (kernel: Kernel, process: Process) => {
  const texts: { out: string[]; err: string[] } = { out: [], err: [] };
  const output = (into: string[]) => ({
    isTty: false,
    columns: 80,
    write: (text: string | Uint8Array) =>
      kernel.call(() => void into.push(typeof text === 'string' ? text : Buffer.from(text).toString())),
  });
  const nobody = async (): Promise<never> => {
    throw new AppError('interrupted', 'nobody is there to answer');
  };
  const terminal: Host['terminal'] = {
    stdout: output(texts.out),
    stderr: output(texts.err),
    stdin: { isTty: false, async *bytes() {}, async *lines() {} },
    prompts: { confirm: nobody, text: nobody, select: nobody },
    spinner: async () => ({ update: () => {}, stop: () => {} }),
  };
  return { terminal, out: () => texts.out.join(''), err: () => texts.err.join(''), process };
};

export const hostOf = (
  kernel: Kernel,
  net: Lan,
  process: Process,
  options: HostOptions = {},
): SimulatedHost => {
  const { terminal, out, err } = terminalOf(kernel, process);
  const named = (pid: number): Process | undefined =>
    kernel.processes.find((one) => one.pid === pid && one.machine === process.machine);
  const isAlive = (pid: number): boolean => named(pid)?.isDead === false;
  return {
    // Uses the fake host of the other tests for the parts that are not simulated.
    ...fakeHost(),
    env: { HOME, OPSCTL_HOME: `${HOME}/opsctl`, CI: 'true', OPSCTL_KEYCHAIN: 'never', ...options.env },
    platform: 'linux',
    runtime: 'Node v20.19.0',
    pid: process.pid,
    uid: 1000,
    hostname: process.machine.name,
    cwd: HOME,
    self: ['/usr/bin/node', '/opt/opsctl/bin/opsctl.js'],
    now: () => kernel.nowMs,
    elapsed: () => kernel.nowMs - kernel.startMs,
    sleep: sleeper(kernel, process),
    turn: () => kernel.call(() => undefined),
    random: (count) => kernel.random.bytes(count),
    memoryBytes: () => 50e6,
    network: networkOf(kernel, net, process),
    processes: {
      run: async () => ({
        code: null,
        signal: null,
        stdout: '',
        stderr: '',
        timedOut: false,
        startError: 'ENOENT',
      }),
      start: async () => Promise.reject(new Error('nothing can be started here')),
      isAlive,
      startMark: (pid) => (isAlive(pid) ? `mark-${pid}` : undefined),
      scope: () => ({ machineId: process.machine.name, bootId: 'boot-1', pidNamespace: 'pid:[4026531836]' }),
      signal: (pid, signal) => {
        const target = named(pid);
        if (target === undefined || target.isDead) return false;
        kernel.effect(`signal ${signal} ${target.name}`, () => {
          kernel.onSignal(target, signal);
          if (signal === 'SIGCONT') return;
          if (signal === 'SIGKILL' || target.onSignal.size === 0)
            kernel.later(() => kernel.kill(target), 0, undefined);
          else
            for (const listener of target.onSignal)
              kernel.later(() => listener(signal as 'SIGTERM'), 0, target);
        });
        return true;
      },
      ...options.processes,
    },
    files: { ...nodeFiles, temporaryDirectory: () => '/tmp', homeDirectory: () => HOME },
    terminal,
    jq: async () => Promise.reject(new Error('jq is not simulated')),
    // conf uses the simulated disk, as `atomically` is replaced.
    loadConf,
    openBrowser: async () => false,
    onSignal: (listener) => {
      process.onSignal.add(listener);
      return () => void process.onSignal.delete(listener);
    },
    exit: (code) => {
      throw new Error(`exit ${code}`);
    },
    out,
    err,
  };
};
