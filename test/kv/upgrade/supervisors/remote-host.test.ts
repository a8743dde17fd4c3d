import { describe, expect, it } from 'vitest';
import {
  pidFileService,
  remoteFiles,
  remoteProcesses,
} from '../../../../src/kv/upgrade/supervisors/pid-file.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { naming } from '../../../support/facts.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');
/** Returns the output of an inspection for one path. */
const shown = (path: string, real: string, info: string, writable = 'no'): string =>
  `path=${encoded(path)} ${encoded(real)} ${encoded(info)} ${writable}`;

describe('files of another host', () => {
  it('named files are read together, with their directories', async () => {
    const asked: string[] = [];
    const ask = async (script: unknown) => {
      asked.push(String(script));
      return [
        'motd',
        shown('/data/n1', '/mnt/n1', 'directory|4096|750|5|6|1700000000', 'yes'),
        shown('/mnt/n1', '/mnt/n1', 'directory|4096|755|5|6|1700000000'),
      ].join('\n');
    };
    const files = await remoteFiles(['/data/n1', undefined, '/data/n1'], ask);
    expect(asked).toHaveLength(1);
    expect(/for p in (.*); do see "\$p"; if/.exec(asked[0] as string)?.[1]).toBe('/data/n1 /data');
    expect(await files.info('/data/n1')).toEqual({
      ...{ kind: 'directory', sizeBytes: 4096, mode: 0o750, uid: 5, gid: 6, modifiedMs: 1_700_000_000_000 },
    });
    expect(await files.realPath('/data/n1')).toBe('/mnt/n1');
    expect([await files.isWritable('/data/n1'), await files.isWritable('/mnt/n1')]).toEqual([true, false]);
    expect(asked).toHaveLength(1);
  });
  it('other files are read one by one, each once', async () => {
    const asked: string[] = [];
    const ask = async (script: unknown) => {
      asked.push(String(script));
      return shown('/a', '/a', 'regular file|1|644|0|0|1');
    };
    const files = await remoteFiles([undefined], ask);
    expect(asked).toEqual([]);
    expect([(await files.info('/a'))?.kind, await files.realPath('/a')]).toEqual(['file', '/a']);
    expect(asked).toHaveLength(1);
    expect([await files.info('/b'), await files.realPath('/b'), await files.isWritable('/b')]).toEqual([
      ...[undefined, undefined, false],
    ]);
  });
  it.each([
    ['symbolic link', 'link'],
    ['directory', 'directory'],
    ['regular file', 'file'],
    ['regular empty file', 'file'],
    ['socket', 'other'],
  ])('a %s is a %s', async (type, kind) => {
    const files = await remoteFiles(['/x/y'], async () => shown('/x/y', '', `${type}|0|600|0|0|0`));
    expect([(await files.info('/x/y'))?.kind, await files.realPath('/x/y')]).toEqual([kind, undefined]);
  });
  it('a missing file has no facts', async () => {
    const files = await remoteFiles(['/x/y'], async () => shown('/x/y', '', ''));
    expect([await files.info('/x/y'), await files.isWritable('/x/y')]).toEqual([undefined, false]);
  });
});

const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:2379', data_dir: '/data', pid_file: '/run/n1.pid' },
  ...{
    log_file: '/log',
    old_command: ['/old/etcd', '--name', 'n1'],
    new_command: ['/new/etcd', '--data-dir', '/data'],
  },
};
const status = (parent: number, uid = 5) =>
  `State:\tS (sleeping)\nPPid:\t${parent}\nUid:\t1\t${uid}\t1\t1\nGid:\t1\t6\t1\t1\nGroups:\t6 7 \n`;
const process = (
  pid: number,
  words: readonly string[],
  more: { parent?: number; env?: string; cwd?: string; mark?: string } = {},
) =>
  `process=${pid} ${encoded(status(more.parent ?? 1))} ${encoded(`${more.cwd ?? '/srv'}\n`)} ${encoded(words.map((word) => `${word}\0`).join(''))} ${more.env === undefined ? '-' : encoded(more.env)}${more.mark === undefined ? '' : ` ${more.mark}`}`;
const server = ['/old/etcd', '--data-dir', '/data'];

describe('processes of another host', () => {
  const look = async (lines: readonly string[], spec = member) => {
    const asked: string[] = [];
    const table = await remoteProcesses(spec, async (script) => {
      asked.push(String(script));
      return asked.length === 1 ? lines.join('\n') : `/real${/'(.*)'/.exec(String(script))?.[1]}\n`;
    });
    return { table, asked };
  };
  it('processes are searched by the names of their programs', async () => {
    const { asked } = await look([]);
    expect(asked[0]).toContain('grep -laF -e etcd /proc');
    const two = await look([], { ...member, old_binary: '/x/kvd' });
    expect(two.asked[0]).toContain('grep -laF -e kvd -e etcd /proc');
    expect((await look([], { name: 'n1', client_url: '' })).asked[0]).not.toContain('grep -laF');
  });
  it('processes of the host have their known facts', async () => {
    const { table } = await look([
      ...['uid=1000', 'pid=7', `own=${encoded('/mnt/data\n')}`, 'parent=7 3', 'parent=3 1', 'nonsense'],
      process(7, server, { parent: 3, env: 'ETCD_NAME=n1\nPATH=/bin\n', mark: '99' }),
      process(8, ['/bin/sh', '/old/etcd']),
    ]);
    expect(table.ownUid).toBe(1000);
    expect(await table.pidIn('/run/n1.pid')).toBe(7);
    expect(await table.get(7)).toEqual({
      ...{ pid: 7, parent: 3, state: 'S', uid: 5, gid: 6, groups: [6, 7], cwd: '/srv', words: server },
      ...{ env: new Map([['ETCD_NAME', 'n1']]), startMark: '99' },
    });
    expect(await table.get(3)).toEqual({ pid: 3, parent: 1, words: [], env: new Map() });
    expect(await table.get(9)).toBeUndefined();
    expect((await table.all(new Set(['etcd']))).map(({ pid }) => pid)).toEqual([7]);
    expect((await table.all(new Set(['sh']))).map(({ pid }) => pid)).toEqual([8]);
  });
  it('processes that ended between two checks are omitted, and so are other entries', async () => {
    const { table } = await look(['pid=7', 'process=', 'process=1 x', process(8, [])]);
    expect(await table.pidIn('')).toBeUndefined();
    expect([await table.get(1), (await table.get(8))?.words]).toEqual([undefined, []]);
    expect(await table.all(new Set(['']))).toHaveLength(1);
    expect((await table.get(8)) ?? {}).not.toHaveProperty('startMark');
  });
  it('processes with an unreadable directory have none', async () => {
    const { table } = await look([process(7, server, { cwd: '' })]);
    expect((await table.get(7)) ?? {}).not.toHaveProperty('cwd');
  });
  it('a real name is read once; that of the data directory arrives with the inspection', async () => {
    const { table, asked } = await look([`own=${encoded('/mnt/data\n')}`]);
    expect([await table.realPath('/data'), await table.realPath('/mnt/data')]).toEqual([
      '/mnt/data',
      '/mnt/data',
    ]);
    expect(asked).toHaveLength(1);
    expect([await table.realPath('/x'), await table.realPath('/x')]).toEqual(['/real/x', '/real/x']);
    expect(asked).toHaveLength(2);
    const unknown = await look([]);
    expect([await unknown.table.realPath('/data'), unknown.asked.length]).toEqual(['/real/data', 2]);
    const unnamed = await look([`own=${encoded('/home\n')}`], { name: 'n1', client_url: '' });
    expect([await unnamed.table.realPath('/home'), unnamed.asked.length]).toEqual(['/real/home', 2]);
    const none = await remoteProcesses(member, async () => '\n');
    expect(await none.realPath('/x')).toBeUndefined();
  });
});

describe('a process with a pid file on another host', () => {
  const service = pidFileService({ name: 'c', members: [member] });
  /** A host with these processes. Its data directory belongs to uid 8. */
  const host =
    (lines: readonly string[], info = 'directory|1|755|8|9|1') =>
    async (script: unknown) => {
      if (String(script).startsWith('readlink')) return '';
      return String(script).includes('see()')
        ? [shown('/data', '/data', info, 'yes'), shown('/', '/', 'directory|1|755|0|0|1', 'yes')].join('\n')
        : ['uid=0', ...lines].join('\n');
    };
  const here = [`pid=7`, `own=${encoded('/data\n')}`, process(7, server, { mark: '99' })];
  const scriptOf = async (script: ReturnType<typeof service.stop>, lines: readonly string[], info?: string) =>
    String(typeof script === 'function' ? await script(host(lines, info)) : script);
  it('a process on another host is running or gone', async () => {
    expect(await service.processOf?.(member, host(here))).toEqual({ state: 'running', pid: 7 });
    expect(await service.processOf?.(member, host([]))).toEqual({ state: 'gone' });
    expect(service.stateFrom({} as never, member, false)).toMatchObject({ state: 'unknown' });
  });
  it('runs as its process, else as the owner of its data', async () => {
    expect(await service.runsAs?.(member, host(here))).toEqual({
      uid: 5,
      gid: 6,
      groups: [6, 7],
      cwd: '/srv',
    });
    expect(await service.runsAs?.(member, host([]))).toEqual({ uid: 8, gid: 9 });
    expect(await service.runsAs?.(member, host([], ''))).toBeUndefined();
    expect(await service.runsAs?.({ name: 'n1', client_url: '' }, host([]))).toBeUndefined();
  });
  it('a process on another host is asked to exit and checked twenty times a second', async () => {
    const stop = await scriptOf(service.stop(member, 1010), here);
    expect(stop).toEqual(naming('7', '99', 'TERM', 'CONT', 'kill', 'null'));
    expect(stop).toContain('[ $i -gt 21 ] && exit 1');
    const kill = await scriptOf(service.kill(member), here);
    expect(kill).toEqual(naming('7', '99', 'KILL', 'kill', 'null'));
    expect(kill).toContain('[ $i -gt 200 ] && exit 1');
  });
  it('a process on another host is started as its previous user, and not twice', async () => {
    const start = async (lines: readonly string[], placement?: object, spec = member, info?: string) =>
      scriptOf(service.start(spec, 'new', placement as never), lines, info);
    expect(await start(here)).toBe('echo "it is already running (process 7)" >&2; exit 4');
    expect(await start([])).toContain(' sh /run/n1.pid / setpriv --reuid 8 --regid 9');
    expect(await start([], undefined, member, '')).toContain(' sh /run/n1.pid / /new/etcd --data-dir /data');
    expect(await start([], { runs_as: { uid: 3, gid: 4, cwd: '/there' } })).toContain(
      ' sh /run/n1.pid /there setpriv --reuid 3 --regid 4',
    );
    expect(await start([])).toContain('\nexec nohup /bin/sh -c');
    expect(await start([], undefined, { ...member, env: { ETCD_X: 'a b' } })).toContain(
      "\nexport 'ETCD_X=a b'\nexec nohup /bin/sh -c",
    );
  });
  it('a process on another host has its plan text', () => {
    expect(service.describe('stop', member, 'old')).toEqual(['kill -TERM "$(cat /run/n1.pid)"']);
    expect(service.describe('start', member, 'old')).toEqual(['/old/etcd --name n1 >> /log 2>&1 &']);
    expect(service.describe('gate', member, 'old')).toEqual([]);
    expect(String(service.logTail(member, 9))).toBe("tail -n 9 '/log'");
    expect(String(service.version(member, 'new'))).toBe("trusted '/new/etcd' && '/new/etcd' --version");
    expect(String(service.version({ ...member, new_binary: '/bin/kvd' }, 'new'))).toBe(
      "trusted '/bin/kvd' && '/bin/kvd' --version",
    );
    expect(service.version({ name: 'n1', client_url: '' }, 'old')).toBeUndefined();
  });
  it('a process on another host has the facts of its host', async () => {
    const facts = (lines: readonly string[], spec = member) =>
      service.facts?.(spec, host(lines), { sizes: false });
    expect(await facts(here)).toMatchObject({
      ...{ is_running: true, pid: 7, working_directory: '/srv', real_data_dir: '/data' },
    });
    expect(await facts(here)).not.toHaveProperty('is_suspended');
    const named = here.map((line) =>
      line.startsWith('process=') ? process(7, server, { env: 'ETCD_CONFIG_FILE=c.yml' }) : line,
    );
    const asked: string[] = [];
    const ask = async (script: unknown) => {
      asked.push(String(script));
      return String(script).includes("'/srv/c.yml'") ? `file\n${encoded('name: n1')}` : host(named)(script);
    };
    expect(await service.facts?.(member, ask, { sizes: false })).toMatchObject({
      ...{ config: { name: 'n1' }, is_config_of_variable: true },
    });
    const gone = await facts([]);
    expect(gone).toMatchObject({ is_running: false });
    for (const key of ['pid', 'owner_mismatch', 'working_directory']) expect(gone).not.toHaveProperty(key);
    const stopped = here.map((line) =>
      line.startsWith('process=')
        ? line.replace(encoded(status(1)), encoded(status(1).replace('S (', 'T (')))
        : line,
    );
    expect(await facts(stopped)).toMatchObject({ is_suspended: true });
    const other = [`pid=7`, `own=${encoded('/data\n')}`, process(7, ['/old/etcd', '--data-dir', '/other'])];
    expect((await facts(other))?.problems?.[0]).toEqual(
      naming('/run/n1.pid', '7', 'directory', '/other', 'process', 'member'),
    );
  });
});
