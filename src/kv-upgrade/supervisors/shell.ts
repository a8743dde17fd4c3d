import { AppError } from '../../core/problem.ts';
import type { Finished, Host, RunOptions } from '../../platform/host.ts';
import type { ClusterFile, MemberSpec } from '../types.ts';
import { quoted } from './service.ts';

/** Runs a POSIX shell script where a member lives. The script goes over standard input: nothing of it is in a process list. */
export type Shell = {
  /** For messages: `here`, or the host. */
  readonly where: string;
  run(script: string, options?: { readonly timeoutMs?: number }): Promise<Finished>;
  /** Makes a file of this machine readable there; `wanted` is where it goes when it has to travel. */
  send(path: string, wanted: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
  /** How a person would run one command there. */
  shown(command: string): string;
};

const defaultMs = 10_000;
const sendMs = 3_600_000;

export const localShell = (host: Host): Shell => ({
  where: 'here',
  run: (script, { timeoutMs = defaultMs } = {}) =>
    host.processes.run('/bin/sh', ['-s'], { input: script, timeoutMs }),
  send: async (path) => ({ path, remove: async () => {} }),
  shown: (command) => command,
});

/** Words before the destination: no questions, one connection for many commands, and what the cluster file adds. */
export const sshWords = (host: Host, { ssh }: Pick<ClusterFile, 'ssh'>): string[] => [
  ...[
    '-o',
    'BatchMode=yes',
    '-o',
    'ConnectTimeout=5',
    '-o',
    'ServerAliveInterval=5',
    '-o',
    'ServerAliveCountMax=3',
  ],
  ...[
    '-o',
    'ControlMaster=auto',
    '-o',
    `ControlPath=${host.files.temporaryDirectory()}/opsctl-%C`,
    '-o',
    'ControlPersist=15',
  ],
  ...(ssh?.proxy_jump === undefined ? [] : ['-J', ssh.proxy_jump]),
  ...(ssh?.options ?? []),
];

/** The system's own ssh with its configuration, agent and known hosts. Exit 255 is ssh's own failure, everything else the script's. */
export const sshShell = (host: Host, cluster: ClusterFile, member: MemberSpec): Shell => {
  const words = sshWords(host, cluster);
  const shell = cluster.ssh?.sudo === true ? 'sudo -n /bin/sh' : '/bin/sh';
  const where = member.host as string;
  const remote = async (
    command: string,
    options: RunOptions & { readonly timeoutMs: number },
  ): Promise<Finished> => {
    const { timeoutMs } = options;
    const done = await host.processes.run('ssh', [...words, '--', where, command], options);
    if (done.startError !== undefined)
      throw new AppError('config', `ssh cannot be started: ${done.startError}`, {
        code: 'NO_SSH',
        tryThis: ['install the ssh client'],
      });
    if (done.code === 255 || done.timedOut) {
      const why = done.timedOut
        ? `no answer within ${timeoutMs / 1000} s`
        : (done.stderr.trim().split('\n').at(-1) ?? 'unknown');
      throw new AppError('network', `${where}: ssh: ${why}`, {
        code: 'SSH',
        tryThis: [`ssh ${where} true`, 'a key without a passphrase, or an agent: nothing is asked'],
      });
    }
    return done;
  };
  const run: Shell['run'] = (script, { timeoutMs = defaultMs } = {}) =>
    remote(`${shell} -s`, { input: script, timeoutMs });
  return {
    where,
    run,
    send: async (path, wanted) => {
      const done = await remote(`${shell} -c ${quoted(`umask 077; cat > ${quoted(wanted)}`)}`, {
        inputFile: path,
        timeoutMs: sendMs,
      });
      const remove = async (): Promise<void> => void (await run(`rm -f ${quoted(wanted)}`));
      if (done.code === 0) return { path: wanted, remove };
      await remove();
      throw new AppError(
        'network',
        `${where}: ${path} could not be sent: ${done.stderr.trim().split('\n').at(-1) ?? ''}`,
        { code: 'SSH' },
      );
    },
    shown: (command) => `ssh ${where} ${command}`,
  };
};
