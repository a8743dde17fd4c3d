/** A real sshd on a port of loopback, in the namespaces that a prefix enters; its root shell is as noisy as a login shell can be. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/platform/node/free-ports.ts';
import { realSshd } from '../real/sshd.mjs';
import { pause } from './cluster.ts';

export type LoopbackSsh = {
  /** For `ssh -F`; the host is named `bed`. */
  readonly config: string;
  /** The processes of connections, to be cut. */
  close(): void;
};

const serverConfig = (directory: string, port: number): string =>
  [
    'ListenAddress 127.0.0.1',
    `Port ${port}`,
    `HostKey ${directory}/host_key`,
    `AuthorizedKeysFile ${directory}/id.pub`,
    ...['StrictModes no', 'UsePAM no', 'PasswordAuthentication no', 'PermitRootLogin yes', 'PidFile none'],
    // A start-up file that prints runs before the command; what it prints comes before the answer.
    `ForceCommand echo "Welcome to the bed"; echo "ActiveState=active"; echo "motd" >&2; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
  ].join('\n');
const clientConfig = (directory: string, port: number): string =>
  [
    'Host bed',
    '  HostName 127.0.0.1',
    `  Port ${port}`,
    `  User ${userInfo().username}`,
    `  IdentityFile ${directory}/id`,
    ...['  IdentitiesOnly yes', '  StrictHostKeyChecking no', '  LogLevel ERROR'],
    `  UserKnownHostsFile ${directory}/known`,
  ].join('\n');

export const startLoopbackSsh = async (
  directory: string,
  prefix: readonly string[],
): Promise<LoopbackSsh | undefined> => {
  const found = realSshd();
  if ('missing' in found) {
    if (process.env['CI'] === 'true') throw new Error(`no ssh server: ${found.missing}`);
    process.stderr.write(`left out: a real ssh server: ${found.missing}\n`);
    return undefined;
  }
  mkdirSync(directory, { recursive: true });
  for (const name of ['id', 'host_key'])
    if (!existsSync(join(directory, name)))
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
  chmodSync(directory, 0o755);
  const [port] = (await freePorts(1)) as [number];
  writeFileSync(join(directory, 'sshd.conf'), serverConfig(directory, port));
  writeFileSync(join(directory, 'config'), clientConfig(directory, port));
  const passwd = join(directory, 'passwd');
  const known = readFileSync('/etc/passwd', 'utf8');
  writeFileSync(
    passwd,
    /^sshd:/m.test(known) ? known : `${known}sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n`,
  );
  // As root, sshd wants a user of its own and a directory: both exist only in this mount namespace.
  const script = 'mount --bind "$0" /etc/passwd && mkdir -p /run/sshd && chmod 755 /run/sshd && exec "$@"';
  const argv = [...prefix, 'unshare', '-m', 'sh', '-c', script, passwd];
  const child = spawn(
    argv[0] as string,
    [...argv.slice(1), found.sshd, '-D', '-f', join(directory, 'sshd.conf')],
    {
      stdio: 'ignore',
      env: { ...process.env, LD_LIBRARY_PATH: found.libraries ?? '' },
    },
  );
  for (let i = 0; i < 400; i += 1) {
    try {
      execFileSync('ssh', ['-F', join(directory, 'config'), 'bed', 'true'], { stdio: 'ignore' });
      break;
    } catch {
      await pause(50);
    }
  }
  return { config: join(directory, 'config'), close: () => void child.kill('SIGKILL') };
};
