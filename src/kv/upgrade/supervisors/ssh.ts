import { type FileName, childPath, pathPart } from '../../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { sh } from '../../../core/shell.ts';
import type { Finished, Host, RunOptions } from '../../../platform/host.ts';
import { findDistrust } from '../../../platform/trust.ts';
import { shellLine, wordsOf } from '../cluster/command-line.ts';
import type { ClusterFile, MemberSpec } from '../../engine/types.ts';
import { framed, unframed } from './framed.ts';
import { defaultMs } from './shell.ts';
import type { Shell } from './shell.ts';

const sendMs = 3_600_000;
/** A socket's path has at most 104 bytes (macOS), and ssh adds 17 of its own while it makes one. */
const mostPathBytes = 104 - 17;
const socketName = (words: readonly string[]): FileName =>
  pathPart(createHash('sha256').update(words.join('\0')).digest('hex').slice(0, 12));

/** Only its owner may enter it: whoever can make a socket there would get every script and answer (spec/store#measured-service-managers-6). */
const isPrivate = async ({ files, uid }: Host, directory: string): Promise<boolean> => {
  const info = await files.info(directory);
  return info?.kind === 'directory' && info.uid === uid && (info.mode & 0o077) === 0;
};

/** A private directory whose sockets have short enough names; undefined: every command makes a connection of its own. */
const socketDirectory = async (host: Host, state: string | undefined): Promise<string | undefined> => {
  const runtime = host.env['XDG_RUNTIME_DIR'];
  const candidates = [
    ...(runtime?.startsWith('/') ? [join(runtime, 'opsctl')] : []),
    ...(state === undefined ? [] : [join(state, 'ssh')]),
  ];
  for (const directory of candidates) {
    if (Buffer.byteLength(childPath(directory, socketName([]))) > mostPathBytes) continue;
    await host.files.makeDirectory(directory, 0o700).catch(() => {});
    if ((await isPrivate(host, directory)) && (await findDistrust(host, directory)) === undefined)
      return directory;
  }
  return undefined;
};

/** What the cluster file adds to every connection. */
const ownWords = ({ ssh }: Pick<ClusterFile, 'ssh'>): string[] => [
  ...(ssh?.proxy_jump === undefined ? [] : ['-J', ssh.proxy_jump]),
  ...(ssh?.options ?? []),
];

/** Words before the destination: no questions, one connection for many commands, and what the cluster file adds. Of two values for one option ssh takes the first. */
export const sshWords = (
  cluster: Pick<ClusterFile, 'ssh'>,
  sockets: string | undefined,
  where: string,
): string[] => {
  const own = ownWords(cluster);
  const option = (text: string): string[] => ['-o', text];
  return [
    '-T',
    ...option('BatchMode=yes'),
    ...own,
    ...option('ConnectTimeout=5'),
    ...option('ServerAliveInterval=5'),
    ...option('ServerAliveCountMax=3'),
    ...(sockets === undefined
      ? option('ControlPath=none')
      : [
          ...option('ControlMaster=auto'),
          ...option(`ControlPath=${childPath(sockets, socketName([where, ...own]))}`),
          ...option('ControlPersist=15'),
        ]),
  ];
};

export type Ssh = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly words: (where: string) => Promise<string[]>;
};
/** `state`: the directory of this user's state, for the sockets of connections. */
export const openSsh = (host: Host, cluster: ClusterFile, state: string | undefined): Ssh => {
  let sockets: Promise<string | undefined> | undefined;
  return {
    host,
    cluster,
    words: async (where) => {
      sockets ??= socketDirectory(host, state);
      return sshWords(cluster, await sockets, where);
    },
  };
};

const unreachable = (where: string, why: string): AppError =>
  new AppError('network', `${where}: ssh: ${why}`, {
    code: 'SSH',
    tryThis: [`ssh ${where} true`, 'a key without a passphrase, or an agent: nothing is asked'],
  });

type Remote = (command: string, options: RunOptions & { readonly timeoutMs: number }) => Promise<Finished>;
/** ssh itself ends with 255. The connection that failed is given up: whatever is tried next makes a new one. */
const remoteFor =
  ({ host, words }: Ssh, where: string): Remote =>
  async (command, options) => {
    const prefix = await words(where);
    const done = await host.processes.run('ssh', [...prefix, '--', where, command], options);
    if (done.startError !== undefined)
      throw new AppError('config', `ssh cannot be started: ${done.startError}`, {
        code: 'NO_SSH',
        tryThis: ['install the ssh client'],
      });
    if (done.code !== 255 && !done.timedOut) return done;
    await host.processes.run('ssh', [...prefix, '-O', 'exit', '--', where], { timeoutMs: 2000 });
    const said = done.stderr.trim().split('\n').at(-1) ?? '';
    throw unreachable(
      where,
      done.timedOut
        ? `no answer within ${options.timeoutMs / 1000} s`
        : said === ''
          ? 'the connection ended'
          : said,
    );
  };

/** Only one word reaches the other side whole: whatever a shell here would expand or redirect is quoted. Pure. */
const shownOver = (cluster: Pick<ClusterFile, 'ssh'>, where: string, command: string): string => {
  const there = cluster.ssh?.sudo === true ? `sudo -n ${shellLine(['/bin/sh', '-c', command])}` : command;
  const isPlain = wordsOf(there)?.join(' ') === there && shellLine(there.split(' ')) === there;
  return `${shellLine(['ssh', ...ownWords(cluster), where])} ${isPlain ? there : sh`${there}`}`;
};

/** The system's own ssh with its configuration, agent and known hosts. */
export const sshShell = (ssh: Ssh, member: MemberSpec): Shell => {
  const { host, cluster } = ssh;
  const where = member.host as string;
  const remote = remoteFor(ssh, where);
  const shell = cluster.ssh?.sudo === true ? 'sudo -n /bin/sh' : '/bin/sh';
  const run: Shell['run'] = async (script, { timeoutMs = defaultMs } = {}) => {
    const mark = `opsctl-${Buffer.from(host.random(12)).toString('hex')}`;
    const raw = await remote(`${shell} -s`, { input: String(framed(script, mark)), timeoutMs });
    const answer = unframed(raw, mark);
    if (answer.kind === 'whole') return answer.done;
    if (answer.kind === 'cut') throw unreachable(where, 'the connection ended in the middle of a command');
    const said = raw.stderr.trim().split('\n').at(-1) ?? '';
    throw unreachable(
      where,
      `${shell} could not be run there (exit code ${raw.code}${said === '' ? '' : `: ${said}`})`,
    );
  };
  return {
    where,
    run,
    send: async (path, wanted) => {
      const done = await remote(`${shell} -c ${sh`${String(sh`umask 077; cat > ${wanted}`)}`}`, {
        inputFile: path,
        timeoutMs: sendMs,
      });
      const remove = async (): Promise<void> => void (await run(sh`rm -f ${wanted}`));
      if (done.code === 0) return { path: wanted, remove };
      await remove();
      throw new AppError(
        'network',
        `${where}: ${path} could not be sent: ${done.stderr.trim().split('\n').at(-1) ?? ''}`,
        { code: 'SSH' },
      );
    },
    shown: (command) => shownOver(cluster, where, command),
  };
};
