/** Programs that simulated processes start: the product itself, the members that it creates, and shells that exec another command. */
import { wordsOf } from '../../../src/core/shell.ts';
import { runProgram } from '../../../src/cli/run.ts';
import { program } from '../../../src/commands/program.ts';
import type { Exit, Finished, Host, Started } from '../../../src/platform/host.ts';
import { type Kernel, Killed, type Process } from './kernel.ts';
import { type SimulatedHost, hostOf } from './machine.ts';
import type { Lan } from './network.ts';
import { runScript } from './restore-shell.ts';

/** Version of the ctl program that a restore finds. */
const CTL_VERSION = '3.2.32';

const noFile = (command: string): Error =>
  Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT' });
const textOf = (process: Process, path: string): string => {
  const inode = process.machine.disk.find(path);
  if (inode?.kind !== 'file') throw noFile(path);
  return inode.data.toString('utf8');
};
/**
 * Returns the arguments of the program that the binary of a member executes: `exec 'node' 'opsctl.js' 'mock' 'kv'
 * 'member' … -- "$@"`.
 */
const replacement = (text: string): string[] => {
  const line = /^exec (.*) -- "\$@"$/m.exec(text)?.[1] ?? '';
  return wordsOf(line) ?? [];
};

/** The part of /proc that the product reads. The kernel maintains it, not a process. */
const listInProc = ({ pid, machine, onDeath }: Process, words: readonly string[], parent: number): void => {
  const { disk } = machine;
  const proc = disk.find('/proc');
  if (proc === undefined) return;
  const directory = disk.make('directory', 0o555);
  const files = {
    cmdline: `${words.join('\0')}\0`,
    environ: '',
    status: `State:\tS (sleeping)\nPPid:\t${parent}\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const inode = disk.make('file', 0o444);
    inode.data = Buffer.from(text);
    directory.entries.set(name, inode);
  }
  directory.entries.set('cwd', disk.make('link', 0o777, '/home/user'));
  proc.entries.set(String(pid), directory);
  onDeath.add(() => void proc.entries.delete(String(pid)));
};

class Exited extends Killed {
  readonly code: number;
  constructor(code: number) {
    super();
    this.code = code;
  }
}
type Start = { readonly command: string; readonly args: readonly string[]; readonly logFile?: string };

/** Runs a program until its process exits with a code or is killed. */
const life = async (host: SimulatedHost, argv: readonly string[]): Promise<number> => {
  let exit: (code: number) => void = () => {};
  const ended = new Promise<number>((resolve) => (exit = resolve));
  const own: Host = {
    ...host,
    exit: (code) => {
      exit(code);
      throw new Exited(code);
    },
  };
  return Promise.race([ended, runProgram(own, argv, program).catch(() => 1)]);
};

const logging = (host: SimulatedHost, logFile: string | undefined): SimulatedHost => {
  if (logFile === undefined) return host;
  const file = host.files.append(logFile);
  const output = { isTty: false, columns: 80, write: async (text: string | Uint8Array) => file.write(text) };
  return { ...host, terminal: { ...host.terminal, stdout: output, stderr: output } };
};

/** Returns the command that a shell executes: `sh -c '… exec "$@"' sh …`. An outer shell may set the environment of the server. */
const commandIn = (words: readonly string[]): readonly string[] =>
  words[0] === '/bin/sh' && words[1] === '-c' ? commandIn(words.slice(4)) : words;
/** Parses `sh -c '… echo "$$" > "$1" && shift 2 && exec "$@"' sh PIDFILE CWD COMMAND …` and plain commands. */
const parsed = ({ command, args }: Start): { pidFile?: string; words: readonly string[] } =>
  command === '/bin/sh'
    ? { pidFile: args[3] ?? '', words: commandIn(args.slice(5)) }
    : { words: [command, ...args] };

/** Returns the process name, for example `member n1 3.3.27`. */
const memberName = (words: readonly string[]): string => {
  const version = /-(3\.\d+\.\d+)$/.exec(words[0] ?? '')?.[1];
  return `member ${words[words.indexOf('--name') + 1]} ${version}`;
};

const started = (kernel: Kernel, net: Lan, parent: Process, start: Start): Started => {
  const { pidFile, words } = parsed(start);
  const text = textOf(parent, words[0] ?? '');
  const self = replacement(text);
  const flags = [...self.slice(2), '--', ...words.slice(1)];
  const { process, ended } = kernel.spawn(memberName(words), parent.machine, async (own) => {
    const host = hostOf(kernel, net, own);
    if (pidFile !== undefined) await host.files.replace(pidFile, `${own.pid}\n`);
    return life(logging(host, start.logFile), flags);
  });
  listInProc(process, words, parent.pid);
  const exited = new Promise<Exit>((resolve) => {
    void ended.then((end) =>
      kernel.later(
        () =>
          resolve(
            end.kind === 'done' ? { code: end.value, signal: null } : { code: null, signal: 'SIGKILL' },
          ),
        0,
        parent,
      ),
    );
  });
  return {
    pid: process.pid,
    exited,
    kill: () => {
      kernel.later(() => kernel.kill(process), 0, undefined);
      return true;
    },
    async *lines() {},
  };
};

const versionOf = (process: Process, command: string): Finished => {
  const said = /'([^']* Version: [^']*)'/.exec(textOf(process, command))?.[1] ?? '';
  return { code: 0, signal: null, stdout: `${said}\n`, stderr: '', timedOut: false };
};

export const programsOf = (kernel: Kernel, net: Lan, process: Process): Partial<Host['processes']> => ({
  run: (command, args, options) =>
    kernel.call(() => {
      const done = args[0] === '-s' ? runScript(String(options?.input), CTL_VERSION) : undefined;
      if (done !== undefined) return done;
      if (args[0] === '--version') return versionOf(process, command);
      return { code: 127, signal: null, stdout: '', stderr: '', timedOut: false, startError: 'ENOENT' };
    }),
  start: (command, args, options) =>
    kernel.call(() =>
      kernel.effect(`start ${parsed({ command, args }).words[0]}`, () =>
        started(kernel, net, process, {
          command,
          args,
          ...(options?.logFile === undefined ? {} : { logFile: options.logFile }),
        }),
      ),
    ),
});
