/**
 * A real systemd as the first process in separate PID, mount and cgroup namespaces, with units of the tests. It uses the network
 * of the machine.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from './cluster.ts';
import { hangTimer } from './hang.ts';

export type SystemdHost = {
  /** Arguments before a command that run it inside the namespaces. */
  readonly prefix: readonly string[];
  /** Directory of the units. `systemctl daemon-reload` reads it. */
  readonly units: string;
  systemctl(...words: readonly string[]): string;
  close(): Promise<void>;
};

const program = (): string | undefined =>
  ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'].find((path) => existsSync(path));

/**
 * Runs a script with the unified hierarchy mounted, regardless of the hierarchy of the machine. Of 2400 starts on the first
 * version of cgroups, 93 exited with code 219, because the group of the last process was still being removed. Of 2400 starts
 * on the second version, none did.
 */
const withGroups = (script: string): string[] => [
  '--mount',
  'sh',
  '-c',
  `mount --make-rprivate / && mount -t cgroup2 none /sys/fs/cgroup && ${script}`,
];

/** The manager writes only to separate file systems. */
const boot = (directory: string): string => `#!/bin/sh
set -e
mount --make-rprivate /
umount /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs -o mode=755 none /run
mount --bind ${directory}/units /etc/systemd/system
export container=x
exec ${program()} --system --unit=tests.target --log-target=console --show-status=0
`;

const missing = (): string | undefined => {
  if (process.platform !== 'linux') return 'this is not Linux';
  if (process.getuid?.() !== 0) return 'namespaces and cgroups need root';
  if (program() === undefined) return 'systemd is not installed';
  if (!readFileSync('/proc/filesystems', 'utf8').includes('cgroup2')) return 'the kernel has no cgroup2';
  return undefined;
};

const leftOut = (why: string): undefined => {
  if (process.env['OPSCTL_TEST_IN_CI'] === 'true') throw new Error(`no real systemd: ${why}`);
  process.stderr.write(`left out: a real systemd: ${why}\n`);
  return undefined;
};

const childOf = (pid: number): number | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? undefined : Number(text.split(' ')[0]);
  } catch {
    return undefined;
  }
};

const ended = async (outer: ChildProcess, init: number | undefined, group: string): Promise<void> => {
  if (init !== undefined) process.kill(init, 'SIGKILL');
  outer.kill('SIGKILL');
  for (const isHung = hangTimer(); !isHung() && existsSync(`/proc/${init}`); ) await pause(25);
  spawnSync('unshare', withGroups(`find ${group} -depth -type d -exec rmdir {} ';'`));
};

/** Returns undefined and prints the reason to stderr if no systemd is available. */
export const startSystemd = async (directory: string): Promise<SystemdHost | undefined> => {
  const why = missing();
  if (why !== undefined) return leftOut(why);
  const units = join(directory, 'units');
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, 'tests.target'), '[Unit]\nDescription=tests\nDefaultDependencies=no\n');
  writeFileSync(join(directory, 'boot.sh'), boot(directory), { mode: 0o755 });
  const group = `/sys/fs/cgroup/tests-${process.pid}-${Date.now()}`;
  const script = `mkdir ${group} && echo $$ > ${group}/cgroup.procs && exec unshare --fork --kill-child --pid --mount --cgroup --ipc --uts --mount-proc sh ${directory}/boot.sh`;
  const outer = spawn('unshare', withGroups(script), { stdio: 'ignore' });
  let init: number | undefined;
  for (const isHung = hangTimer(); !isHung(); ) {
    init = childOf(outer.pid as number);
    const prefix = init === undefined ? [] : ['-t', String(init), '-m', '-p', '-C', '-i', '-u'];
    if (prefix.length > 0 && isUp(prefix))
      return {
        prefix: ['nsenter', ...prefix],
        units,
        systemctl: (...words) =>
          execFileSync('nsenter', [...prefix, 'systemctl', ...words], { encoding: 'utf8' }).trim(),
        close: () => ended(outer, init, group),
      };
    await pause(50);
  }
  await ended(outer, init, group);
  return leftOut('it did not come up within 120 s');
};

const isUp = (prefix: readonly string[]): boolean => {
  try {
    return /running|degraded/.test(
      execFileSync('nsenter', [...prefix, 'systemctl', 'is-system-running'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
  } catch {
    return false;
  }
};
