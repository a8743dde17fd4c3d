import { AppError } from '../../kernel/problem.ts';
import type { Finished, Host } from '../../host/host.ts';
import type { ClusterFile, MemberSpec } from '../types.ts';

/** Runs a POSIX shell script where a member lives. The script goes over standard input: nothing of it is in a process list. */
export type Shell = {
  /** For messages: `here`, or the host. */
  readonly where: string;
  run(script: string, options?: { readonly timeoutMs?: number }): Promise<Finished>;
  /** How a person would run one command there. */
  shown(command: string): string;
};

const defaultMs = 10_000;

export const localShell = (host: Host): Shell => ({
  where: 'here',
  run: (script, { timeoutMs = defaultMs } = {}) => host.processes.run('/bin/sh', ['-s'], { input: script, timeoutMs }),
  shown: (command) => command,
});

/** Words before the destination: no questions, one connection for many commands, and what the cluster file adds. */
export const sshWords = (host: Host, { ssh }: Pick<ClusterFile, 'ssh'>): string[] => [
  ...['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=5', '-o', 'ServerAliveInterval=5', '-o', 'ServerAliveCountMax=3'],
  ...['-o', 'ControlMaster=auto', '-o', `ControlPath=${host.files.temporaryFolder()}/opsctl-%C`, '-o', 'ControlPersist=15'],
  ...(ssh?.proxy_jump === undefined ? [] : ['-J', ssh.proxy_jump]),
  ...(ssh?.options ?? []),
];

/** The system's own ssh with its configuration, agent and known hosts. Exit 255 is ssh's own failure, everything else the script's. */
export const sshShell = (host: Host, cluster: ClusterFile, member: MemberSpec): Shell => {
  const words = sshWords(host, cluster);
  const there = cluster.ssh?.sudo === true ? 'sudo -n /bin/sh -s' : '/bin/sh -s';
  const where = member.host as string;
  return {
    where,
    run: async (script, { timeoutMs = defaultMs } = {}) => {
      const done = await host.processes.run('ssh', [...words, '--', where, there], { input: script, timeoutMs });
      if (done.startError !== undefined)
        throw new AppError('config', `ssh cannot be started: ${done.startError}`, { code: 'NO_SSH', tryThis: ['install the ssh client'] });
      if (done.code === 255 || done.timedOut) {
        const why = done.timedOut ? `no answer within ${timeoutMs / 1000} s` : (done.stderr.trim().split('\n').at(-1) ?? 'unknown');
        throw new AppError('network', `${where}: ssh: ${why}`, {
          code: 'SSH',
          tryThis: [`ssh ${where} true`, 'a key without a passphrase, or an agent: nothing is asked'],
        });
      }
      return done;
    },
    shown: (command) => `ssh ${where} ${command}`,
  };
};
