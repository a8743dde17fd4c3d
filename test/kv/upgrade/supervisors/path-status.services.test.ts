import { lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { memberDisks } from '../../../../src/kv/upgrade/guards/disk-space.ts';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import { placeFrom, placeScript, seePlace } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { localShell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import {
  type StartedWith,
  walDirectoryOf,
  walDirOf,
} from '../../../../src/kv/upgrade/supervisors/wal-directory.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { patient, realHost, type RealHost } from '../../../support/real-host.ts';

let real: RealHost;
beforeEach(async () => {
  real = patient(await realHost());
});
const at = (name: string): string => join(real.directory, name);
const put = (name: string, text: string): void => {
  mkdirSync(join(at(name), '..'), { recursive: true });
  writeFileSync(at(name), text);
};
const spec = (more: Partial<MemberSpec> = {}): MemberSpec => ({
  ...{ name: 'n1', client_url: 'http://127.0.0.1:1', data_dir: at('data'), pid_file: at('pid') },
  ...more,
});
const drivers = ['local', 'hooks'] as const;
const driverOf = (kind: (typeof drivers)[number], member: MemberSpec) =>
  openDriver(real.host, {
    ...{ name: 'c', driver: kind, members: [member] },
    hooks: { is_running: 'false' },
  });

describe('a directory of a host', () => {
  it('a directory looks the same here and by a script', async () => {
    mkdirSync(at('disk/data'), { recursive: true, mode: 0o700 });
    mkdirSync(at('disk/data/member'), { mode: 0o700 });
    mkdirSync(at('disk/data/member/snap'), { mode: 0o750 });
    symlinkSync(at('disk/data'), at('data'));
    for (const path of [at('data'), `${at('disk/data')}//`, at('nothing'), '/proc']) {
      const { stdout } = await localShell(real.host).run(placeScript(path));
      const [here, there] = [await seePlace(real.host.files, path), placeFrom(stdout, path, {})];
      const sure = ({ free_bytes: _, disk: __, beside, ...rest }: typeof here) => ({
        ...{ ...rest, beside: beside.path, isWritable: beside.is_writable },
      });
      expect(sure(there as typeof here)).toEqual(sure(here));
    }
    const seen = await seePlace(real.host.files, at('data'));
    expect(seen).toMatchObject({ path: at('data'), real: at('disk/data'), exists: true, mode: 0o700 });
    expect(seen.inner_modes).toEqual({ member: 0o700, 'member/snap': 0o750 });
    expect((await seePlace(real.host.files, '/proc')).is_mount).toBe(true);
    expect(placeFrom('nothing', '/x', {})).toBeUndefined();
  });
});

describe.each(drivers)('a copy of a data directory by the driver %s', (kind) => {
  const copied = async (walDir?: string) => {
    const member = spec();
    return (await driverOf(kind, member)).copyData(member, '.copy', walDir);
  };
  it('follows links, contains a separate log, and is counted', async () => {
    put('disk/data/member/snap/db', 'data');
    put('disk/more/1.snap', 'snap');
    put('logs/0.wal', 'log');
    symlinkSync(at('disk/more'), at('disk/data/member/snap/more'));
    symlinkSync(at('disk/data'), at('data'));
    put('data.copy/old', 'x');
    put('data.copy.partial/half', 'x');
    expect(await copied(at('logs'))).toEqual({ path: at('data.copy'), files: 3, bytes: 11 });
    expect(lstatSync(at('data.copy')).isDirectory()).toBe(true);
    expect(lstatSync(at('data.copy/member/snap/more')).isDirectory()).toBe(true);
    expect(readFileSync(at('data.copy/member/wal/0.wal'), 'utf8')).toBe('log');
    expect(readdirSync(at('.')).filter((name) => /partial|old/.test(name))).toEqual([]);
  });
  it('does not contain a log twice that is part of the data directory', async () => {
    put('data/member/snap/db', 'data');
    put('data/own/0.wal', 'log');
    symlinkSync(at('data/own'), at('link'));
    expect(await copied(at('link'))).toMatchObject({ files: 2 });
  });
  it('a failed copy leaves no files behind, and the previous copy stays', async () => {
    put('data/member/snap/db', 'data');
    put('data.copy/old', 'x');
    await expect(copied(at('no-logs'))).rejects.toThrow('write-ahead log does not exist');
    symlinkSync(at('nowhere'), at('data/member/lost'));
    await expect(copied()).rejects.toThrow();
    expect(readdirSync(at('data.copy'))).toEqual(['old']);
    expect(readdirSync(at('.')).filter((name) => name.includes('partial'))).toEqual([]);
    const gone = spec({ data_dir: at('none') });
    await expect((await driverOf(kind, gone)).copyData(gone, '.copy', undefined)).rejects.toThrow(
      'does not exist or is not a directory',
    );
  });
  it('needs the room of everything that it contains', async () => {
    put('disk/data/member/snap/db', 'd'.repeat(40_960));
    put('logs/0.wal', 'l'.repeat(81_920));
    symlinkSync(at('disk/data'), at('data'));
    const member = spec({ wal_dir: at('logs') });
    const facts = await (await driverOf(kind, member)).facts(member, { sizes: true });
    expect(facts.data_dir_bytes).toBeGreaterThanOrEqual(122_880);
    expect(facts).toMatchObject({ has_db_file: true, wal_place: { path: at('logs'), exists: true } });
    const without = spec();
    const blind = await (await driverOf(kind, without)).facts(without, { sizes: true });
    expect(blind.is_wal_missing).toBe(true);
  });
});

describe('the directory of the log', () => {
  const running = (words: string[], env: Record<string, string> = {}) => ({
    ...{ words: ['etcd', ...words], env: new Map(Object.entries(env)), cwd: '/srv' },
  });
  it('the log directory is the one of the running process', () => {
    const file = { 'wal-dir': '/c' };
    expect(walDirectoryOf(spec(), file, undefined, '3.4')).toBe('/c');
    expect(walDirectoryOf(spec(), file, running(['--wal-dir', '/f']), '3.4')).toBe('/f');
    expect(walDirectoryOf(spec(), undefined, running([], { ETCD_WAL_DIR: 'log' }), '3.4')).toBe('/srv/log');
    // A server with a configuration file ignores flags and environment variables.
    const byFile = running(['--config-file=/c.yml', '--wal-dir=/f'], { ETCD_WAL_DIR: '/e' });
    expect(walDirectoryOf(spec(), file, byFile, '3.3')).toBe('/c');
    expect(walDirectoryOf(spec({ wal_dir: '/own' }), {}, byFile, '3.3')).toBe('/own');
    expect(walDirectoryOf(spec(), undefined, undefined, undefined)).toBeUndefined();
  });
  it('the file of ETCD_CONFIG_FILE counts only for versions that read it', () => {
    const [file, named] = [{ 'wal-dir': '/c' }, { ETCD_CONFIG_FILE: '/c.yml' }];
    const both = running([], { ...named, ETCD_WAL_DIR: '/e' });
    const of = (minor: Minor | undefined, one: StartedWith | undefined, patch = {}) =>
      walDirectoryOf(spec(patch), file, one, minor);
    expect([of('3.3', both), of('3.4', both), of(undefined, both)]).toEqual(['/e', '/c', '/c']);
    expect([of('3.3', running([], named)), of('3.4', running([], named))]).toEqual([undefined, '/c']);
    // The cluster file has the variable for a member that does not run.
    const env = { ...named, ETCD_WAL_DIR: '/e' };
    expect([of('3.3', undefined, { env }), of('3.4', undefined, { env })]).toEqual(['/e', '/c']);
    // The servers ignore an empty variable.
    expect(of('3.4', running([], { ETCD_CONFIG_FILE: '', ETCD_WAL_DIR: '/e' }))).toBe('/e');
  });
  it('the log directory is resolved where the process runs', () => {
    const beside = { path: '/srv/log', is_writable: true };
    const wal_place = { path: '/srv/log', real: '/srv/log', exists: true, beside };
    expect(walDirOf(spec({ old_command: ['etcd', '--wal-dir=log'] }), { wal_place }, undefined)).toBe(
      '/srv/log',
    );
    expect(walDirOf(spec({ old_command: ['etcd', '--wal-dir=log'] }), {}, undefined)).toBe('log');
    expect(walDirOf(spec(), { wal_place }, undefined)).toBe('/srv/log');
  });
});

describe('the disks of a member', () => {
  const place = (disk: string, free_bytes: number, besideDisk = disk) => ({
    ...{ path: `/${disk}`, real: `/${disk}`, exists: true, disk, free_bytes },
    beside: { path: `/${disk}`, is_writable: true, disk: besideDisk, free_bytes: 7 },
  });
  const [db, log] = [10, 64 * 1024 * 1024];
  const host = { free_bytes: 100, disk: 'a', data_dir_bytes: 30, data_place: place('a', 100) };
  const parts = (seen: object, copy_data: boolean) =>
    memberDisks(seen, db, { copy_data }).map(({ disk, free, stays, passes }) => [disk, free, stays, passes]);
  it('add up what each has to hold', () => {
    expect(parts(host, true)).toEqual([['a', 100, 30, db + log]]);
    expect(parts({ ...host, wal_place: place('a', 100) }, false)).toEqual([['a', 100, 0, db + log]]);
    const apart = { ...host, wal_place: place('b', 50), data_place: place('a', 100, 'c') };
    expect(parts(apart, true)).toEqual([
      ['a', 100, 0, db],
      ['b', 50, 0, log],
      ['c', 7, 30, 0],
    ]);
    expect(parts({ ...apart, data_place: place('a', 100, 'b') }, true)).toEqual([
      ['a', 100, 0, db],
      ['b', 7, 30, log],
    ]);
  });
});
