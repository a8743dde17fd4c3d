import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { localShell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import {
  buildDirectory,
  refuseFullDisks,
  restorePlan,
  swapDirectory,
} from '../../../../src/kv/upgrade/restore/plan.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { naming } from '../../../support/facts.ts';
import { away, observed, seen } from '../../../support/observations.ts';
import { realHost, type RealHost } from '../../../support/real-host.ts';

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
  for (const directory of ['data/member/wal', 'data/member/snap', 'log'])
    mkdirSync(at(directory), { recursive: true });
  for (const file of ['data/member/wal/0.wal', 'data/member/snap/db', 'log/0.wal'])
    writeFileSync(at(file), 'present');
  // A ctl program that builds a directory as the real program does, including the log.
  writeFileSync(
    at('ctl'),
    '#!/bin/sh\nwhile [ "$1" != --data-dir ]; do shift; done\nmkdir -p "$2/member/wal" "$2/member/snap"; echo new > "$2/member/wal/0.wal"; echo new > "$2/member/snap/db"\n',
  );
  chmodSync(at('ctl'), 0o755);
  chmodSync(at('data'), 0o700);
});
const at = (name: string): string => join(real.directory, name);
const member = (more: Partial<MemberSpec> = {}): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  peer_url: 'http://127.0.0.1:2380',
  data_dir: at('data'),
  ...more,
});
const snapshot = {
  member: 'n1',
  path: '/s.db',
  size_bytes: 1,
  file_sha256: '',
  trailer_sha256: '',
  revision: 5,
  duration_ms: 0,
};
const planOf = (spec: MemberSpec, observation = observed([away('n1')])) =>
  restorePlan({
    cluster: { name: 'c', ctl_binary: at('ctl'), members: [spec] },
    observation,
    snapshot,
    to: '3.3',
    run: 'R',
  });
const firstOf = ({ members: [first] }: ReturnType<typeof planOf>): NonNullable<typeof first> => {
  if (first === undefined) throw new Error('the plan has no member');
  return first;
};
const rebuilt = async (spec: MemberSpec): Promise<void> => {
  const plan = planOf(spec);
  const shell = localShell(real.host);
  await buildDirectory(shell, plan, firstOf(plan), spec);
  await swapDirectory(shell, firstOf(plan), spec, []);
};
const text = (path: string): string => readFileSync(at(path), 'utf8').trim();

describe('the directories of a member that is rebuilt', () => {
  it('the data directory gets a new content, and its present one is kept aside', async () => {
    await rebuilt(member());
    expect([
      text('data/member/wal/0.wal'),
      text('data/member/snap/db'),
      text('data.before-restore-R/member/snap/db'),
    ]).toEqual(['new', 'new', 'present']);
    expect(statSync(at('data')).mode & 0o777).toBe(0o700);
  });

  it('a log outside of the data directory is moved too, even if the ctl program does not know it', async () => {
    const spec = member({ old_command: ['/bin/etcd', '--wal-dir', `${at('log')}/`] });
    await rebuilt(spec);
    expect([text('log/0.wal'), text('log.before-restore-R/0.wal'), text('data/member/snap/db')]).toEqual([
      'new',
      'present',
      'new',
    ]);
    expect(readdirSync(at('data/member'))).toEqual(['snap']);
    await rebuilt(spec);
    expect(readdirSync(real.directory).filter((name) => name.startsWith('log'))).toEqual([
      'log',
      'log.before-restore-R',
      'log.before-restore-R.2',
    ]);
  });

  it('a log inside of the data directory moves with it', async () => {
    mkdirSync(at('data/own/log'), { recursive: true });
    await rebuilt(member({ env: { ETCD_WAL_DIR: at('data/own/log') } }));
    expect([text('data/own/log/0.wal'), readdirSync(at('data/member'))]).toEqual(['new', ['snap']]);
  });

  it('a log in its usual place needs no move', async () => {
    await rebuilt(member({ old_command: ['/bin/etcd', `--wal-dir=${at('data/member/wal')}`] }));
    expect(text('data/member/wal/0.wal')).toBe('new');
  });
});

describe('a data directory behind a link', () => {
  const moved = (name: string): void => {
    mkdirSync(at('disk'), { recursive: true });
    renameSync(at(name), at(`disk/${name.replaceAll('/', '-')}`));
    symlinkSync(at(`disk/${name.replaceAll('/', '-')}`), at(name));
  };
  it('a linked data directory stays behind the link, with its mode', async () => {
    moved('data');
    await rebuilt(member());
    expect(lstatSync(at('data')).isSymbolicLink()).toBe(true);
    expect(text('disk/data/member/snap/db')).toBe('new');
    expect(statSync(at('disk/data')).mode & 0o777).toBe(0o700);
    expect(text('data.before-restore-R/member/snap/db')).toBe('present');
    expect(lstatSync(at('data.before-restore-R')).isDirectory()).toBe(true);
  });
  it.each(['link', 'flag'])('keeps a log on its disk to which member/wal is a %s', async (by) => {
    moved('data/member/wal');
    const flag = by === 'flag' ? { old_command: ['/bin/etcd', `--wal-dir=${at('data/member/wal')}`] } : {};
    await rebuilt(member(flag));
    expect(lstatSync(at('data/member/wal')).isSymbolicLink()).toBe(true);
    expect(text('disk/data-member-wal/0.wal')).toBe('new');
    // The kept data is complete, because its link refers to the previous log.
    expect(text('data.before-restore-R/member/wal/0.wal')).toBe('present');
    expect(text('data.before-restore-R/member/snap/db')).toBe('present');
  });
  it('a link that the swap could not keep is refused before any stop', async () => {
    const build = (spec: MemberSpec) => {
      const plan = planOf(spec);
      return buildDirectory(localShell(real.host), plan, firstOf(plan), spec);
    };
    moved('data/member/snap');
    await expect(build(member())).rejects.toThrow('data/member/snap is a link');
    rmSync(at('data/member/snap'));
    rmSync(at('data/member/wal'), { recursive: true });
    await expect(build(member())).rejects.toThrow('no member/wal, and no setting names another directory');
    await expect(build(member({ data_dir: at('none/data') }))).rejects.toThrow('does not exist');
    await build(member({ wal_dir: at('log') }));
    expect(text('log.restoring/0.wal')).toBe('new');
  });
});

describe('the disk of a member that still runs', () => {
  it('a build without enough space, or one that fails, leaves no directory', async () => {
    const plan = planOf(member());
    const build = (size_bytes: number) =>
      buildDirectory(
        localShell(real.host),
        { ...plan, snapshot: { ...snapshot, size_bytes } },
        firstOf(plan),
        member(),
      );
    const check = (size_bytes: number, where: string, accepted: readonly string[] = []) => {
      const shell = { ...localShell(real.host), where };
      const one = { shell, step: firstOf(plan), member: member() };
      return refuseFullDisks({ ...plan, accepted, snapshot: { ...snapshot, size_bytes } }, [one]);
    };
    const { bavail, bsize } = statfsSync(real.directory);
    const free = bavail * bsize;
    await check(0.6 * free, 'here');
    // The copy of the snapshot is on the same disk of another host.
    await expect(check(0.6 * free, 'h1')).rejects.toThrow(/MiB free, and \d+ MiB is required/);
    await expect(check(1e15, 'here')).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'RESTORE_FAILED', tryThis: [naming('--accept disk-space')] },
    });
    await check(1e15, 'here', ['disk-space']);
    writeFileSync(at('ctl'), readFileSync(at('ctl'), 'utf8').replace(/$/, '\nexit 1\n'));
    await expect(build(1)).rejects.toMatchObject({ detail: { code: 'RESTORE_FAILED' } });
    expect(readdirSync(real.directory).filter((name) => name.includes('restoring'))).toEqual([]);
    expect(text('data/member/snap/db')).toBe('present');
  });
});

describe("the location of a member's log", () => {
  it('the configuration file also sets the location of the log', () => {
    const observation = observed([seen('n1', { host: { config: { 'wal-dir': '/disk/wal' } } })]);
    expect(planOf(member(), observation).members[0]?.wal_dir).toBe('/disk/wal');
  });
  it('a relative path is refused before anything is touched', () => {
    expect(() => planOf(member({ old_command: ['/bin/etcd', '--wal-dir', 'wal'] }))).toThrow(
      'the log directory wal of n1 is relative',
    );
  });
});
