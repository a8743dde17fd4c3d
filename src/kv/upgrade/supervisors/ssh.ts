import { args, trustWords } from '../../../core/program-call.ts';
import { next } from '../../../core/next.ts';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { childPath, type FileName, pathPart } from '../../../core/file-name.ts';
import { AppError } from '../../../core/problem.ts';
import { scriptText, sh, type ShellScript, shellLine, wordsOf } from '../../../core/shell.ts';
import type { Finished, Host, RunOptions } from '../../../platform/host.ts';
import { findTrustProblem } from '../../../platform/trust.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';
import { defaultMs, type Driver, MAY_BE_DOWN, type Shell, type StartedMember } from './driver.ts';

/**
 * Puts a script between two marks. Start-up files of a login shell may print to both streams before the
 * script, so only output between the marks counts. Without the second mark, the script did not finish.
 */
export const frameScript = (script: ShellScript, mark: string): ShellScript => sh`echo ${[mark]}
echo ${[mark]} >&2
(
${script}
) </dev/null
printf '\\n%s %d\\n' ${[mark]} $?
`;
export type SshFrame =
  | { readonly kind: 'whole'; readonly done: Finished }
  /** The script did not start: contains the output of the shell, sudo or ssh. */
  | { readonly kind: 'not-begun' }
  | { readonly kind: 'cut' };
/** Returns the output of the script between the marks. Pure. */
export const unframeOutput = (done: Finished, mark: string): SshFrame => {
  const begin = `${mark}\n`;
  const at = done.stdout.indexOf(begin);
  if (at < 0) return { kind: 'not-begun' };
  const end = new RegExp(`\\n${mark} (\\d+)\\n$`).exec(done.stdout);
  if (end === null) return { kind: 'cut' };
  const stdout = done.stdout.slice(at + begin.length, end.index);
  const errorsAt = done.stderr.indexOf(begin);
  const stderr = errorsAt < 0 ? done.stderr : done.stderr.slice(errorsAt + begin.length);
  return {
    kind: 'whole',
    done: { ...done, code: Number(end[1]), signal: null, timedOut: false, stdout, stderr },
  };
};

const sendMs = 3_600_000;
/** The path of a socket has at most 104 bytes (macOS), and ssh adds 17 bytes while it creates the socket. */
const mostPathBytes = 104 - 17;
const socketName = (words: readonly string[]): FileName =>
  pathPart(hash('sha256', words.join('\0')).slice(0, 12));
/**
 * Only its owner may enter it: a user who can create a socket there would receive all scripts and their
 * output (spec/store#measured-service-managers-6).
 */
const isPrivate = async ({ files, uid }: Host, directory: string): Promise<boolean> => {
  const info = await files.info(directory);
  return info?.kind === 'directory' && info.uid === uid && (info.mode & 0o077) === 0;
};
/**
 * A private directory with a short enough path for sockets; undefined: every command opens a separate
 * connection.
 */
const socketDirectory = async (host: Host, state: string | undefined): Promise<string | undefined> => {
  const runtime = host.env['XDG_RUNTIME_DIR'];
  const candidates = [
    ...(runtime?.startsWith('/') ? [join(runtime, 'opsctl')] : []),
    ...(state === undefined ? [] : [join(state, 'ssh')]),
  ];
  for (const directory of candidates) {
    if (Buffer.byteLength(childPath(directory, socketName([]))) > mostPathBytes) continue;
    await host.files.makeDirectory(directory, 0o700).catch(() => {});
    if ((await isPrivate(host, directory)) && (await findTrustProblem(host, directory)) === undefined)
      return directory;
  }
  return undefined;
};
/** Options that the cluster file adds to every connection. */
const ownWords = ({ ssh }: Pick<ClusterFile, 'ssh'>): string[] => [
  ...(ssh?.proxy_jump === undefined ? [] : ['-J', ssh.proxy_jump]),
  ...(ssh?.options ?? []),
];
/**
 * Returns the arguments before the destination: no prompts, one connection for many commands, and the options
 * of the cluster file. If an option has two values, ssh uses the first.
 */
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
    tryThis: [
      shellLine(['ssh', where, 'true']),
      'use a key without a passphrase, or an agent: ssh runs without prompts',
    ],
  });
type Remote = (
  command: ShellScript,
  options: RunOptions & { readonly timeoutMs: number },
) => Promise<Finished>;
/**
 * ssh exits with code 255 after its own errors. Closes the failed connection, so the next command opens a new
 * connection.
 */
const remoteFor =
  ({ host, words }: Ssh, where: string): Remote =>
  async (command, options) => {
    const prefix = await words(where);
    const done = await host.processes.run(
      ...trustWords('ssh', prefix, args`-- ${where} ${scriptText(command)}`),
      {
        ...options,
        keepsRunningOnCtrlC: true,
      },
    );
    if (done.startError !== undefined)
      throw new AppError('config', `cannot start ssh: ${done.startError}`, {
        code: 'NO_SSH',
        tryThis: ['install the ssh client'],
      });
    if (done.code !== 255 && !done.timedOut) return done;
    await host.processes.run(...trustWords('ssh', prefix, args`-O exit -- ${where}`), {
      timeoutMs: 2000,
      keepsRunningOnCtrlC: true,
    });
    const said = done.stderr.trim().split('\n').at(-1) ?? '';
    throw unreachable(
      where,
      done.timedOut
        ? `no response within ${options.timeoutMs / 1000} s`
        : said === ''
          ? 'the connection ended'
          : said,
    );
  };
/**
 * Quotes everything that a local shell would expand or redirect, so that the command arrives as one argument.
 * Pure.
 */
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
  const shell = [...(cluster.ssh?.sudo === true ? ['sudo', '-n'] : []), '/bin/sh'];
  const run: Shell['run'] = async (script, { timeoutMs = defaultMs } = {}) => {
    const mark = `opsctl-${Buffer.from(host.random(12)).toString('hex')}`;
    const raw = await remote(sh`${shell} -s`, { input: scriptText(frameScript(script, mark)), timeoutMs });
    const answer = unframeOutput(raw, mark);
    if (answer.kind === 'whole') return answer.done;
    if (answer.kind === 'cut') throw unreachable(where, 'the connection was lost during a command');
    const said = raw.stderr.trim().split('\n').at(-1) ?? '';
    throw unreachable(
      where,
      `cannot run ${shellLine(shell)} there (exit code ${raw.code}${said === '' ? '' : `: ${said}`})`,
    );
  };
  return {
    where,
    run,
    send: async (path, wanted) => {
      const done = await remote(sh`${shell} -c ${scriptText(sh`umask 077; cat > ${wanted}`)}`, {
        inputFile: path,
        timeoutMs: sendMs,
      });
      const remove = async (): Promise<void> => void (await run(sh`rm -f ${wanted}`));
      if (done.code === 0) return { path: wanted, remove };
      await remove();
      throw new AppError(
        'network',
        `${where}: cannot send ${path}: ${done.stderr.trim().split('\n').at(-1) ?? ''}`,
        { code: 'SSH' },
      );
    },
    display: (command) => shownOver(cluster, where, command),
  };
};

const isCut = (error: unknown): error is AppError => error instanceof AppError && error.detail.code === 'SSH';
const everyMs = 500;
const gaveUp = (member: MemberSpec, error: AppError): AppError =>
  new AppError('stopped', `${member.name} may be down: ${error.message}`, {
    code: MAY_BE_DOWN,
    tryThis: [
      ...(error.detail.tryThis ?? []),
      next(['kv', 'resume'], `, as soon as ${member.host} can be reached: it starts ${member.name}`),
    ],
    cause: error,
  });
/** A member is unchanged before its stop. */
const notStopped = (member: MemberSpec, error: AppError): AppError =>
  new AppError('stopped', `${member.name} was not stopped: ${error.message}`, {
    code: 'SSH',
    tryThis: [
      ...(error.detail.tryThis ?? []),
      next(['kv', 'resume'], `, as soon as ${member.host} can be reached`),
    ],
    cause: error,
  });
type Retry = <T>(
  member: MemberSpec,
  act: () => Promise<T>,
  more?: {
    /** Runs before every repeated attempt: an attempt may have succeeded although its response was lost. */
    readonly isDone?: () => Promise<T | undefined>;
    readonly failure?: typeof gaveUp;
  },
) => Promise<T>;
const retryFor =
  (host: Host, graceMs: number): Retry =>
  async (member, act, { isDone = async () => undefined, failure = gaveUp } = {}) => {
    const until = host.elapsed() + graceMs;
    const again = async () => (await isDone()) ?? act();
    for (let next = act; ; next = again) {
      try {
        return await next();
      } catch (error) {
        if (!isCut(error)) throw error;
        if (host.elapsed() > until) throw failure(member, error);
        await host.sleep(everyMs);
      }
    }
  };
/**
 * After its stop a member may be down, and only the next command starts it, so opsctl restores a dropped
 * connection within the grace period. The host may have continued in the meantime, so every command checks
 * the state first and can be repeated. Commands immediately before the stop are repeated as well, so that a
 * short interruption does not stop the run.
 */
export const reconnecting = (driver: Driver, host: Host, graceMs: number): Driver => {
  const again = retryFor(host, graceMs);
  const isStarted = async (member: MemberSpec): Promise<StartedMember | undefined> => {
    const { state } = await driver.process(member);
    return state === 'running' || state === 'starting' ? {} : undefined;
  };
  const patientFacts: Driver['facts'] = async (member, want) => {
    for (const until = host.elapsed() + graceMs; ; ) {
      const seen = await driver.facts(member, want);
      if (seen.is_unreachable !== true || host.elapsed() > until) return seen;
      await host.sleep(everyMs);
    }
  };
  return {
    ...driver,
    facts: (member, want) => (want.isPatient ? patientFacts : driver.facts)(member, want),
    stage: (member, move) => again(member, () => driver.stage(member, move), { failure: notStopped }),
    stop: (member, graceOfStopMs) => again(member, () => driver.stop(member, graceOfStopMs)),
    kill: (member) => again(member, () => driver.kill(member)),
    activate: (member, which, placement) => again(member, () => driver.activate(member, which, placement)),
    start: (member, which, placement) =>
      again(member, () => driver.start(member, which, placement), { isDone: () => isStarted(member) }),
    copyData: (member, ending, walDir) => again(member, () => driver.copyData(member, ending, walDir)),
    readFile: (member, path) => again(member, () => driver.readFile(member, path)),
    writeFile: (member, path, text) => again(member, () => driver.writeFile(member, path, text)),
  };
};
