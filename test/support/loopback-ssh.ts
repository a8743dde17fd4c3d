/** A real sshd on a loopback port, in the namespaces that a prefix enters. Its root shell prints as much noise as a login shell can. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/platform/node/ports.ts';
import { realSshd } from '../real/sshd.mjs';
import { realSudo } from '../real/sudo.mjs';
import { pause } from './cluster.ts';
import { hangTimer } from './hang.ts';

export type LoopbackSsh = {
  /** For `ssh -F`; the host is named `bed`. */
  readonly config: string;
  /** Closes every connection immediately and refuses new connections until the promise settles. Remote processes continue. */
  cut(until: Promise<unknown>): Promise<void>;
  close(): void;
};

/** Returns the listener and the processes of its connections. Servers that a connection started are no longer its child processes. */
const sshdsOf = (pid: number): number[] => {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const below = children === '' ? [] : children.split(' ').flatMap((child) => sshdsOf(Number(child)));
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('sshd') ? [pid, ...below] : below;
  } catch {
    return [];
  }
};
const killAll = (pids: readonly number[]): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  }
};

export type SshOptions = {
  /** The server is behind another server, and only that server can resolve its name. */
  readonly jump?: true;
  /** The login user is not root and uses a real sudo to become root. */
  readonly sudo?: true;
};
const jumpPortOf = (port: number, { jump }: SshOptions): readonly number[] =>
  jump === undefined ? [] : [port];
const operator = 'operator';

const serverConfig = (directory: string, port: number): string =>
  [
    'ListenAddress 127.0.0.1',
    `Port ${port}`,
    `HostKey ${directory}/host_key`,
    `AuthorizedKeysFile ${directory}/id.pub`,
    ...['StrictModes no', 'UsePAM no', 'PasswordAuthentication no', 'PermitRootLogin yes', 'PidFile none'],
    // The tester's own start-up files are not part of a bed. They may be slow, or wait for a lock that a killed shell left.
    `SetEnv HOME=${directory}`,
    // A start-up file that prints text runs before the command, so its output precedes the response.
    `ForceCommand echo "Welcome to the bed"; echo "ActiveState=active"; echo "motd" >&2; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
  ].join('\n');
const clientConfig = (directory: string, port: number, options: SshOptions, jumpPort: number): string =>
  [
    'Host bed',
    `  HostName ${options.jump === undefined ? '127.0.0.1' : 'bed.behind.invalid'}`,
    `  Port ${port}`,
    `  User ${options.sudo === undefined ? userInfo().username : operator}`,
    ...[
      'Host jump second-jump',
      '  HostName 127.0.0.1',
      `  Port ${jumpPort}`,
      `  User ${userInfo().username}`,
    ],
    'Host *',
    `  IdentityFile ${directory}/id`,
    ...['  IdentitiesOnly yes', '  StrictHostKeyChecking no', '  LogLevel ERROR'],
    `  UserKnownHostsFile ${directory}/known`,
  ].join('\n');

const leftOut = (what: string, why: string): undefined => {
  if (process.env['OPSCTL_TEST_IN_CI'] === 'true') throw new Error(`no ${what}: ${why}`);
  process.stderr.write(`left out: a real ${what}: ${why}\n`);
  return undefined;
};

/**
 * Writes the files in /etc for the server: its own user, a user without root privileges, a name that only this server resolves,
 * and the sudo rule.
 */
const writeEtc = (etc: string): void => {
  mkdirSync(etc, { recursive: true });
  chmodSync(etc, 0o755);
  const known = readFileSync('/etc/passwd', 'utf8');
  const sshd = /^sshd:/m.test(known) ? '' : 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n';
  writeFileSync(join(etc, 'passwd'), `${known}${sshd}${operator}:x:65532:65534::/:/bin/sh\n`);
  writeFileSync(join(etc, 'hosts'), `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 bed.behind.invalid\n`);
  // The account module of sudo requires an entry for each user that switches to another user. No user has a password.
  const entries = ['root', operator].map((name) => `${name}:*:19000:0:99999:7:::\n`);
  writeFileSync(join(etc, 'shadow'), entries.join(''), { mode: 0o640 });
  writeFileSync(join(etc, 'sudoers'), `${operator} ALL=(root) NOPASSWD: /bin/sh, /usr/bin/sh\n`, {
    mode: 0o440,
  });
};

/** As root, sshd requires a dedicated user and a directory, and sudo must be at its path. Both exist only in this mount namespace. */
const withinScript = (tree: string | undefined): string =>
  [
    'set -e',
    // The units of a test's systemd are mounted there. A mount over all of /etc would hide them.
    'units=; if grep -q " /etc/systemd/system " /proc/self/mounts; then units=$0-units; mkdir -p "$units"; mount --bind /etc/systemd/system "$units"; fi',
    'mount -t overlay overlay -o "lowerdir=$0:/etc" /etc',
    '[ -z "$units" ] || mount --bind "$units" /etc/systemd/system',
    ...(tree === undefined ? [] : [`mount -t overlay overlay -o 'lowerdir=${tree}/usr:/usr' /usr`]),
    'mkdir -p /run/sshd; chmod 755 /run/sshd; exec "$@"',
  ].join('\n');

export const startLoopbackSsh = async (
  directory: string,
  prefix: readonly string[],
  options: SshOptions = {},
): Promise<LoopbackSsh | undefined> => {
  const found = realSshd();
  if ('missing' in found) return leftOut('ssh server', found.missing);
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && options.jump !== undefined)
    return leftOut('jump host', 'a name that only it knows needs root');
  const sudo = options.sudo === undefined ? undefined : realSudo();
  if (sudo !== undefined && 'missing' in sudo) return leftOut('sudo', sudo.missing);
  mkdirSync(directory, { recursive: true });
  for (const name of ['id', 'host_key'])
    if (!existsSync(join(directory, name)))
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
  chmodSync(directory, 0o755);
  const [port, jumpPort] = (await freePorts(2)) as [number, number];
  const etc = join(directory, 'etc');
  writeEtc(etc);
  writeFileSync(join(directory, 'config'), clientConfig(directory, port, options, jumpPort));
  const env = { ...process.env, LD_LIBRARY_PATH: found.libraries ?? '' };
  const listenOn = (at: number): ChildProcess => {
    const settings = join(directory, `sshd-${at}.conf`);
    writeFileSync(settings, serverConfig(directory, at));
    // Without root privileges, sshd serves only its own user and needs no files in /etc.
    const within = isRoot ? ['unshare', '-m', 'sh', '-c', withinScript(sudo?.tree), etc] : [];
    const [program, ...words] = [...prefix, ...within, found.sshd, '-D', '-f', settings];
    return spawn(program as string, words, { stdio: 'ignore', env });
  };
  const listen = (): ChildProcess => listenOn(port);
  const jumps = jumpPortOf(jumpPort, options).map(listenOn);
  let [child, isClosed] = [listen(), false];
  const through = options.jump === undefined ? [] : ['-J', 'jump'];
  for (const isHung = hangTimer(); !isHung(); ) {
    try {
      execFileSync('ssh', ['-F', join(directory, 'config'), ...through, 'bed', 'true'], { stdio: 'ignore' });
      break;
    } catch {
      await pause(50);
    }
  }
  const cut = async (until: Promise<unknown>): Promise<void> => {
    killAll(sshdsOf(child.pid as number));
    await until;
    if (!isClosed) child = listen();
  };
  const close = (): void => {
    isClosed = true;
    for (const one of [child, ...jumps]) {
      killAll(sshdsOf(one.pid as number));
      one.kill('SIGKILL');
    }
  };
  return { config: join(directory, 'config'), cut, close };
};
