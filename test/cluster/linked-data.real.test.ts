/**
 * Data directories of production hosts: links to another disk, owned by the service user, with a separate log
 * directory.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { consent } from '../support/consent.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, ...consent(words[0]), '-o', 'json'], { home });
const owner = 65_534;
const giveTo = (path: string, uid: number): void => {
  chownSync(path, uid, uid);
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) giveTo(join(path, name), uid);
};
/** Starts a member as a service manager does, with another user and other environment variables. */
const startAs = (member: RealMember, uid: number, env: Record<string, string> = {}): void => {
  const log = openSync(member.log_file, 'a');
  const [program, ...words] = member.old_command as [string, ...string[]];
  const child = spawn(program, words, {
    uid,
    gid: uid,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', ...env },
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.unref();
  writeFileSync(member.pid_file, `${child.pid}\n`);
};
const stopAll = async (): Promise<void> => {
  for (const member of cluster.members) {
    cluster.kill(member, 'SIGTERM');
    await cluster.gone(member);
  }
};
/** The test cache is in a home directory that other users cannot enter. */
const programFor = (binary: string): string => {
  const path = join(cluster.directory, `bin-${binary.split('/').at(-4)}`, 'etcd');
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) copyFileSync(binary, path);
  return path;
};
/**
 * Each data directory moves to `disk/` behind a link, and each log to `logs/`. The service user owns both.
 */
const moveAway = async (withLog: boolean, uid: number): Promise<readonly RealMember[]> => {
  await stopAll();
  const members = cluster.members.map((member) => {
    const [data, log] = [
      join(cluster.directory, 'disk', `${member.name}.real`),
      join(cluster.directory, 'logs', member.name),
    ];
    for (const path of [data, log]) mkdirSync(dirname(path), { recursive: true });
    renameSync(member.data_dir, data);
    symlinkSync(data, member.data_dir);
    giveTo(data, uid);
    if (withLog) {
      renameSync(join(data, 'member', 'wal'), log);
      giveTo(log, uid);
    }
    const more = withLog ? ['--wal-dir', log] : [];
    const [old_binary, new_binary] = [programFor(member.old_binary), programFor(member.new_binary)];
    return {
      ...{ ...member, old_binary, new_binary },
      old_command: [old_binary, ...member.old_command.slice(1), ...more],
      new_command: [new_binary, ...member.new_command.slice(1), ...more],
    };
  });
  cluster.write({ ctl_binary: (binariesOf('3.4') as Binaries).ctl }, members);
  // A service below a directory that only root may enter could not start.
  if (uid !== 0) {
    chmodSync(cluster.directory, 0o755);
    for (const { log_file } of members) chownSync(log_file, uid, uid);
  }
  for (const member of members) startAs(member, uid);
  await cluster.healthy();
  return members;
};
const storedValue = async (url: string, key: string): Promise<string | undefined> => {
  const kvs = JSON.parse((await call(`${url}/v3/kv/range`, { key: base64(key) })).text).kvs ?? [];
  return kvs[0] === undefined ? undefined : Buffer.from(kvs[0].value, 'base64').toString();
};
const identity = (path: string): readonly number[] => {
  const { uid, gid, mode } = statSync(path);
  return [uid, gid, mode & 0o7777];
};

const onCopy = ({ old_command, name, peer_url }: RealMember, copy: string): string[] => {
  const words = old_command.filter((word, i) => word !== '--wal-dir' && old_command[i - 1] !== '--wal-dir');
  const at = words.indexOf('--data-dir');
  const cluster = words.indexOf('--initial-cluster');
  return words
    .with(at + 1, copy)
    .with(cluster + 1, `${name}=${peer_url}`)
    .concat('--force-new-cluster');
};

const isRoot = process.getuid?.() === 0;
const hasAll = hasBinaries('3.4', '3.5') && (binariesOf('3.4') as Binaries).ctl !== '' && isRoot;
describe.runIf(hasAll)('data directories behind links, of another user, with a separate log', () => {
  it('linked directories are copied completely, and a server starts on the copy', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
    await gatewayPut(cluster.urls[0] as string, 'before', 'kept', '/v3');
    const members = await moveAway(true, owner);
    const ran = await kv('upgrade', '--copy-data');
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    for (const { name, data_copy } of ran.json().members) {
      const at = members.find((member) => member.name === name) as RealMember;
      expect(dirname(data_copy)).toBe(dirname(at.data_dir));
      expect(lstatSync(data_copy).isDirectory()).toBe(true);
      expect(readdirSync(join(data_copy, 'member')).sort()).toEqual(['snap', 'wal']);
      expect(readdirSync(join(data_copy, 'member', 'wal')).some((file) => file.endsWith('.wal'))).toBe(true);
      expect(identity(data_copy)).toEqual(identity(at.data_dir));
      expect(statSync(join(data_copy, 'member', 'snap', 'db')).uid).toBe(owner);
    }
    // The copy is sufficient for the old version.
    const [first] = ran.json().members;
    const member = members.find(({ name }) => name === first.name) as RealMember;
    await stopAll();
    startAs({ ...member, old_command: onCopy(member, first.data_copy) }, owner);
    await expect.poll(() => storedValue(member.client_url, 'before')).toBe('kept');
    cluster.kill(member, 'SIGKILL');
    await cluster.gone(member);
  });

  it('keep link, disk, owner and mode in a restore, and the members start', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5' });
    await gatewayPut(cluster.urls[0] as string, 'before', 'kept', '/v3');
    const [member] = (await moveAway(true, owner)) as [RealMember];
    const log = join(cluster.directory, 'logs', member.name);
    const before = [identity(member.data_dir), identity(log)];
    expect((await kv('upgrade')).code).toBe(0);
    const done = await kv('restore');
    expect(done.code === 0 ? '' : done.stderr).toBe('');
    expect(lstatSync(member.data_dir).isSymbolicLink()).toBe(true);
    expect([identity(member.data_dir), identity(log)]).toEqual(before);
    expect(await storedValue(member.client_url, 'before')).toBe('kept');
    expect(existsSync(join(done.json().members[0].kept_data, 'member', 'snap', 'db'))).toBe(true);
  });

  it('linked directories are named correctly by check, and a replaced member stays on its disk', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
    const [member] = (await moveAway(false, 0)) as [RealMember];
    const real = join(cluster.directory, 'disk', `${member.name}.real`);
    giveTo(real, owner);
    const checked = await kv('check');
    expect(checked.stdout + checked.stderr).toContain(
      `${member.data_dir} is a link to ${real}, which belongs to uid ${owner}`,
    );
    // The process still runs as root, although another user owns its data.
    const ran = await kv('replace-member', member.name);
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    expect(identity(`/proc/${cluster.pid(member)}`)[0]).toBe(0);
    expect(identity(real)[0]).toBe(owner);
    expect(lstatSync(member.data_dir).isSymbolicLink()).toBe(true);
    expect(existsSync(join(real, 'member', 'snap', 'db'))).toBe(true);
  });
});
