/** Three hosts with a real ssh server each. They use network namespaces if this process may create them, and loopback ports otherwise. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { freePorts } from '../../src/platform/node/ports.ts';
import { realSshd } from '../real/sshd.mjs';

export type SshHost = {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** Arguments before a command that run it on that host. */
  readonly prefix: readonly string[];
};
export type SshHosts = {
  readonly hosts: readonly SshHost[];
  /** Configuration file for `ssh -F`. */
  readonly config: string;
  readonly isNamespaced: boolean;
  close(): void;
};

const ip = (...words: string[]): void => void execFileSync('ip', words, { stdio: 'pipe' });
const quietly = (work: () => void): boolean => {
  try {
    work();
    return true;
  } catch {
    return false;
  }
};

type Net = { readonly hosts: SshHost[]; readonly remove: () => void };
const bridgeOf = (id: number): string => `kvb${id}`;
/**
 * Creates a bridge with a name that no other test uses, including a test that was killed and left its bridge. Returns undefined
 * if the process lacks the permission.
 */
const freeBridge = (): number | undefined =>
  Array.from({ length: 20 }, () => randomInt(10_000)).find((id) =>
    quietly(() => ip('link', 'add', bridgeOf(id), 'type', 'bridge')),
  );
/** Creates one bridge and three namespaces. Returns undefined if the process lacks the permission. */
const namespaces = (): Net | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  const id = freeBridge();
  if (id === undefined) return undefined;
  // No two names have the same network: with equal networks the machine would connect to the members of another test.
  const [bridge, net] = [bridgeOf(id), `10.${100 + Math.floor(id / 200)}.${id % 200}`];
  const names = [1, 2, 3].map((n) => `kv${id}x${n}`);
  const remove = (): void => {
    // Sessions outlive their server, and a connection into a removed namespace never closes automatically.
    for (const name of names) {
      quietly(() => {
        for (const pid of execFileSync('ip', ['netns', 'pids', name]).toString().split('\n').filter(Boolean))
          process.kill(Number(pid), 'SIGKILL');
      });
      quietly(() => ip('netns', 'del', name));
    }
    quietly(() => ip('link', 'del', bridge));
  };
  const isMade = quietly(() => {
    ip('addr', 'add', `${net}.1/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    names.forEach((name, i) => {
      ip('netns', 'add', name);
      ip('link', 'add', `kv${id}v${i}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', `kv${id}v${i}`, 'master', bridge, 'up');
      ip('-n', name, 'addr', 'add', `${net}.${11 + i}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
    });
  });
  if (!isMade) {
    remove();
    return undefined;
  }
  return {
    hosts: names.map((name, i) => ({
      name: `host${i + 1}`,
      address: `${net}.${11 + i}`,
      port: 22,
      prefix: ['ip', 'netns', 'exec', name],
    })),
    remove,
  };
};

const onLoopback = async (): Promise<Net> => {
  const ports = await freePorts(3);
  return {
    hosts: ports.map((port, i) => ({ name: `host${i + 1}`, address: '127.0.0.1', port, prefix: [] })),
    remove: () => {},
  };
};

const serverConfig = (directory: string, { address, port }: SshHost): string =>
  [
    ...[
      `ListenAddress ${address}`,
      `Port ${port}`,
      `HostKey ${join(directory, 'host_key')}`,
      `AuthorizedKeysFile ${join(directory, 'id.pub')}`,
      // The tester's own start-up files are not part of a host.
      `SetEnv HOME=${directory}`,
    ],
    ...[
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin yes',
      'PidFile none',
      'MaxStartups 50',
    ],
  ].join('\n');

/** As root, sshd requires a dedicated user and a directory. Both exist only inside its mount namespace. */
const wrapped = (directory: string, words: readonly string[]): readonly string[] => {
  if (process.getuid?.() !== 0) return words;
  const passwd = join(directory, 'passwd');
  const known = readFileSync('/etc/passwd', 'utf8');
  writeFileSync(
    passwd,
    /^sshd:/m.test(known) ? known : `${known}sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n`,
  );
  const script =
    'mount --bind "$0" /etc/passwd && mount -t tmpfs none /run && mkdir -p /run/sshd && chmod 755 /run/sshd && exec "$@"';
  return ['unshare', '-m', 'sh', '-c', script, passwd, ...words];
};

const clientConfig = (directory: string, hosts: readonly SshHost[]): string =>
  hosts
    .map(({ name, address, port }) =>
      [
        `Host ${name}`,
        `  HostName ${address}`,
        `  Port ${port}`,
        `  User ${userInfo().username}`,
        `  IdentityFile ${join(directory, 'id')}`,
        '  IdentitiesOnly yes',
        '  StrictHostKeyChecking no',
        `  UserKnownHostsFile ${join(directory, 'known')}`,
        '  LogLevel ERROR',
      ].join('\n'),
    )
    .join('\n');

/** Returns undefined and prints the reason to stderr if no ssh server is available. */
export const startSshHosts = async (directory: string): Promise<SshHosts | undefined> => {
  const found = realSshd();
  if ('missing' in found) {
    if (process.env['OPSCTL_TEST_IN_CI'] === 'true') throw new Error(`no ssh server: ${found.missing}`);
    process.stderr.write(`left out: a real ssh server: ${found.missing}\n`);
    return undefined;
  }
  mkdirSync(directory, { recursive: true });
  for (const name of ['id', 'host_key'])
    if (!existsSync(join(directory, name)))
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
  chmodSync(directory, 0o755);
  const net = namespaces() ?? (await onLoopback());
  const running: ChildProcess[] = net.hosts.map((host) => {
    const config = join(directory, `${host.name}.conf`);
    writeFileSync(config, serverConfig(directory, host));
    const [command, ...words] = [...host.prefix, ...wrapped(directory, [found.sshd, '-D', '-f', config])];
    return spawn(command as string, words, {
      stdio: 'ignore',
      env: { ...process.env, LD_LIBRARY_PATH: found.libraries ?? '' },
    });
  });
  const config = join(directory, 'ssh_config');
  writeFileSync(config, clientConfig(directory, net.hosts));
  return {
    hosts: net.hosts,
    config,
    isNamespaced: net.hosts[0]?.prefix.length !== 0,
    close: () => {
      for (const child of running) child.kill('SIGKILL');
      net.remove();
    },
  };
};
