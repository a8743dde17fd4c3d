import { describe, expect, it } from 'vitest';
import {
  directoryFacts,
  placeProblems,
  startedProgram,
} from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import { localDriver } from '../../../../src/kv/upgrade/supervisors/local.ts';
import { AppError } from '../../../../src/core/problem.ts';
import type { Host } from '../../../../src/platform/host.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import type { MemberSpec, Placement } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';

const member: MemberSpec = {
  ...{
    name: 'n1',
    client_url: 'http://h:2379',
    data_dir: '/data',
    pid_file: '/run/n1.pid',
    log_file: '/log/n1',
  },
  ...{ old_command: ['/old/etcd', '--data-dir', '/data'], new_command: ['/new/etcd', '--data-dir', '/data'] },
};
type Running = {
  readonly words: readonly string[];
  readonly parent?: number;
  readonly state?: string;
  readonly uid?: number;
};
type More = {
  readonly files?: Record<string, string>;
  readonly env?: Record<string, string>;
  /** Exit time of a process after each signal. The process ignores other signals. */
  readonly endsAfterMs?: Readonly<Record<number, number>>;
};
const server = ['/old/etcd', '--data-dir', '/data'];
/** A machine with these processes. A start creates process 900, which writes its pid file. */
const machine = (
  processes: Record<number, Running>,
  { files = {}, env = {}, endsAfterMs = {} }: More = {},
) => {
  const shown = Object.entries(processes).flatMap(([pid, { words, parent = 1, state = 'S', uid = 1000 }]) => [
    [`/proc/${pid}/cmdline`, words.map((word) => `${word}\0`).join('')],
    [`/proc/${pid}/status`, `State:\t${state}\nPPid:\t${parent}\nUid:\t1\t${uid}\nGid:\t1\t6\n`],
  ]);
  const host = fakeHost({
    env: { PATH: '/bin', ETCD_NAME: 'mine', ...env },
    files: {
      '/data/member/snap/db': 'x',
      '/run/x': '',
      '/log/x': '',
      ...Object.fromEntries(shown),
      ...files,
    },
    run: ({ args }) => ({ stdout: args.includes('--version') ? 'etcd Version: 3.4.1' : '' }),
  });
  const endings = new Map<number, number>();
  const signals: string[] = [];
  const started: { words: readonly string[]; options: object }[] = [];
  let failsWithLog = false;
  const alive = (pid: number): boolean =>
    (pid in processes || pid === 900) && !((endings.get(pid) ?? Number.POSITIVE_INFINITY) <= host.elapsed());
  const made = partlyMade<Host>({
    ...host,
    files: {
      ...host.files,
      readNow: (path: string) => {
        const pid = Number(/^\/proc\/(\d+)\//.exec(path)?.[1]);
        return Number.isNaN(pid) || alive(pid) ? host.files.readNow(path) : undefined;
      },
    },
    processes: {
      ...host.processes,
      isAlive: alive,
      startMark: () => undefined,
      signal: (pid: number, name: string) => {
        signals.push(`${pid} ${name}`);
        const after = endsAfterMs[pid];
        if (after !== undefined && !endings.has(pid)) endings.set(pid, host.elapsed() + after);
        return true;
      },
      start: async (_: string, words: readonly string[], options: { logFile?: string } & object) => {
        if (failsWithLog && options.logFile !== undefined) throw new Error('the log is full');
        started.push({ words, options });
        await host.files.replace('/run/n1.pid', '900\n');
        return {
          pid: 900,
          exited: new Promise<never>(() => {}),
          kill: () => true,
          lines: async function* () {},
        };
      },
    },
  });
  const failLog = () => {
    failsWithLog = true;
  };
  return { host, made, driver: localDriver(made), signals, started, failLog };
};
const named = { files: { '/run/n1.pid': '7\n' } };

describe('a process of this machine', () => {
  it('a process runs if the pid file names it, or if it is found by its directory', async () => {
    expect(await machine({ 7: { words: server } }, named).driver.process(member)).toEqual({
      state: 'running',
      pid: 7,
    });
    expect(await machine({ 8: { words: server } }).driver.process(member)).toEqual({
      state: 'running',
      pid: 8,
    });
    expect(await machine({}).driver.process(member)).toEqual({ state: 'gone' });
  });
  it('a process is asked to exit, even if it is suspended, and awaited', async () => {
    const some = machine({ 7: { words: server } }, { ...named, endsAfterMs: { 7: 500 } });
    expect(await some.driver.stop(member, 1000)).toBe(true);
    expect(some.signals).toEqual(['7 SIGTERM', '7 SIGCONT']);
    expect(some.host.elapsed()).toBeGreaterThanOrEqual(500);
    // The driver first polls after 1 ms, and then every 10 ms.
    expect([some.host.slept[0], Math.max(...some.host.slept)]).toEqual([1, 10]);
  });
  it('a process that does not exit in time is reported', async () => {
    const slow = machine({ 7: { words: server } }, { ...named, endsAfterMs: { 7: 2000 } });
    expect(await slow.driver.stop(member, 1000)).toBe(false);
    expect(slow.host.elapsed()).toBeGreaterThan(1000);
    expect(slow.host.elapsed()).toBeLessThan(1100);
  });
  it('ends with what it started', async () => {
    const wrapper = { 7: { words: ['/bin/boot', '/data'] }, 9: { words: server, parent: 7 } };
    const some = machine(wrapper, { ...named, endsAfterMs: { 7: 0, 9: 0 } });
    expect(await some.driver.stop(member, 1000)).toBe(true);
    expect(some.signals).toEqual(['7 SIGTERM', '7 SIGCONT', '9 SIGTERM', '9 SIGCONT']);
    const stuck = machine(wrapper, { ...named, endsAfterMs: { 9: 0 } });
    expect(await stuck.driver.stop(member, 50)).toBe(false);
    expect(stuck.signals).toEqual(['7 SIGTERM', '7 SIGCONT']);
  });
  it('a process is killed without a request to exit', async () => {
    const some = machine({ 7: { words: server } }, { ...named, endsAfterMs: { 7: 0 } });
    await some.driver.kill(member);
    expect(some.signals).toEqual(['7 SIGKILL']);
    expect(await machine({}).driver.stop(member, 1)).toBe(true);
  });
  it.each([
    [10_000, 'ends in time'],
    [10_100, 'STOP_IGNORED'],
  ])('a killed process that ends after %i ms: %s', async (ms, expected) => {
    const some = machine({ 7: { words: server } }, { ...named, endsAfterMs: { 7: ms } });
    const killed = some.driver.kill(member).then(
      () => 'ends in time',
      (error: unknown) => (error instanceof AppError ? error.detail.code : error),
    );
    expect([await killed, some.signals]).toEqual([expected, ['7 SIGKILL']]);
  });
});

describe('a start', () => {
  const start = async (
    some: ReturnType<typeof machine>,
    which: 'old' | 'new' = 'new',
    spec = member,
    placement?: object,
  ) => {
    const { pid } = await some.driver.start(spec, which, placement as Placement);
    return [pid, some.started.at(-1)?.words.slice(3), some.started.at(-1)?.options];
  };
  it('a start runs a shell that becomes the server, with the settings of the cluster file and not of the operator', async () => {
    const env = { ETCD_NAME: undefined };
    expect(await start(machine({}))).toEqual([
      900,
      ['/run/n1.pid', '.', '/new/etcd', '--data-dir', '/data'],
      { env, detached: true, logFile: '/log/n1' },
    ]);
    const spec = { ...member, env: { ETCD_X: '1', ETCD_NAME: 'own' }, log_file: undefined as never };
    const [, words, options] = await start(machine({}), 'old', spec, { runs_as: { cwd: '/srv' } });
    expect([words, options]).toEqual([
      ['/run/n1.pid', '/srv', '/old/etcd', '--data-dir', '/data'],
      { env: { ETCD_X: '1', ETCD_NAME: 'own' }, detached: true },
    ]);
  });
  it('a start as root uses the owner of the data, unless another user was recorded', async () => {
    const root = () => {
      const some = machine({});
      return { ...some, driver: localDriver({ ...some.made, uid: 0 }) };
    };
    expect((await start(root()))[1]).toContain('1000');
    expect((await start(root(), 'new', member, { runs_as: { uid: 5, gid: 6 } }))[1]).toContain('5');
    expect((await start(root(), 'new', { ...member, data_dir: '/none' }))[1]).not.toContain('setpriv');
    expect((await start(root(), 'new', { ...member, data_dir: undefined as never }))[1]).not.toContain(
      'setpriv',
    );
  });
  it('a start is refused without a command, and while the member runs', async () => {
    await expect(start(machine({}), 'new', { name: 'n1', client_url: '' })).rejects.toMatchObject({
      ...{ category: 'config', message: 'member n1 has no new_command' },
    });
    await expect(start(machine({ 7: { words: server } }, named))).rejects.toMatchObject({
      ...{
        category: 'unsafe',
        message: 'member n1 is already running (process 7)',
        detail: { code: 'ALREADY_RUNNING' },
      },
    });
  });
  it('a start of the old version continues without a writable log; the new one does not', async () => {
    const some = machine({});
    some.failLog();
    await expect(start(some)).rejects.toThrow('the log is full');
    expect((await start(some, 'old'))[2]).toEqual({ env: { ETCD_NAME: undefined }, detached: true });
  });
});

describe('the files of a member', () => {
  const move = { from: '3.4', to: '3.5', run: 'r' } as const;
  it('a later run of the same versions does not replace the configuration that an earlier run kept', async () => {
    const some = machine({ 7: { words: server } }, { files: { ...named.files, '/c.yml': 'old: 1' } });
    const spec = { ...member, config_file: '/c.yml' };
    const first = (await some.driver.stage(spec, move)).previous.config as string;
    await some.driver.writeFile(spec, '/c.yml', 'new: 1');
    const second = (await some.driver.stage(spec, { ...move, run: 's' })).previous.config as string;
    expect(await some.host.files.read(first)).toBe('old: 1');
    expect(await some.host.files.read(second)).toBe('new: 1');
  });
  it('the configuration is kept next to it, with its mode, if it exists', async () => {
    const some = machine({ 7: { words: server } }, { files: { ...named.files, '/c.yml': 'a: 1' } });
    await some.host.files.setMode('/c.yml', 0o640);
    const spec = { ...member, config_file: '/c.yml' };
    expect(await some.driver.stage(spec, move)).toEqual({
      ...{ member: 'n1', previous: { minor: '3.4', config: '/c.yml.opsctl-3.4-r' }, next: { minor: '3.5' } },
      runs_as: { uid: 1000, gid: 6, cwd: undefined },
    });
    expect(await some.host.files.read('/c.yml.opsctl-3.4-r')).toBe('a: 1');
    expect(some.host.files.mode('/c.yml.opsctl-3.4-r')).toBe(0o640);
    const none = machine({});
    expect(await none.driver.stage(spec, move)).toEqual({
      ...{ member: 'n1', previous: { minor: '3.4' }, next: { minor: '3.5' } },
    });
    expect(await none.driver.stage(member, move)).toEqual({
      ...{ member: 'n1', previous: { minor: '3.4' }, next: { minor: '3.5' } },
    });
  });
  it('a file that is written keeps its mode', async () => {
    const some = machine({}, { files: { '/f': 'old' } });
    await some.host.files.setMode('/f', 0o604);
    await some.driver.writeFile(member, '/f', 'new');
    expect([await some.driver.readFile(member, '/f'), some.host.files.mode('/f')]).toEqual(['new', 0o604]);
  });
  it('the end of its log is its newest lines', async () => {
    const tail = (text: string, lines = 2) =>
      machine({}, { files: { '/log/n1': text } }).driver.logTail(member, lines);
    expect([await tail('a\nb\n\nc\n'), await tail('ab\n'), await tail('')]).toEqual([['b', 'c'], ['ab'], []]);
    const long = `first\n${'x'.repeat(256 * 1024 - 1)}\n`;
    expect((await tail(long, 9)).map((line) => line.length)).toEqual([256 * 1024 - 1]);
    expect(await machine({}).driver.logTail(member, 2)).toEqual([]);
    expect(await machine({}).driver.logTail({ name: 'n1', client_url: '' }, 2)).toEqual([]);
    const { made } = machine({}, { files: { '/log/n1': 'a' } });
    const closed: string[] = [];
    const openParts: Host['files']['openParts'] = (path) => {
      const parts = made.files.openParts(path);
      return parts && { ...parts, size: parts.size, close: () => void closed.push(path) };
    };
    await localDriver({ ...made, files: { ...made.files, openParts } }).logTail(member, 1);
    expect(closed).toEqual(['/log/n1']);
  });
  it('the commands of a plan name the files', () => {
    const { describe: told } = machine({}).driver;
    expect(told('stop', member, 'old')).toEqual(['kill -TERM "$(cat /run/n1.pid)"']);
    expect(told('copy-data', member, 'old')).toEqual(['cp -aL /data COPY']);
    expect(told('start', member, 'new')).toEqual(['/new/etcd --data-dir /data >> /log/n1 2>&1 &']);
    expect(told('gate', member, 'new')).toEqual([]);
    const bare = { name: 'n1', client_url: '' };
    expect([told('stop', bare, 'old'), told('copy-data', bare, 'old'), told('start', bare, 'old')]).toEqual([
      ['kill -TERM "$(cat \'\')"'],
      ["cp -aL '' COPY"],
      [" >> '' 2>&1 &"],
    ]);
  });
});

describe('the facts of this machine', () => {
  const facts = (some: ReturnType<typeof machine>, spec = member, sizes = false) =>
    some.driver.facts(spec, { sizes });
  it('facts are those of the process, its programs, its data and its configuration', async () => {
    const found = await facts(
      machine({ 7: { words: server } }, { files: { ...named.files, '/c.yml': 'name: n1' } }),
      {
        ...member,
        config_file: '/c.yml',
      },
    );
    expect(found).toMatchObject({
      ...{ is_running: true, pid: 7, data_dir_exists: true, data_dir_writable: true, has_db_file: true },
      ...{ db_file_bytes: 1, v2_bytes: 0, free_bytes: 1e12, disk: 'disk', real_data_dir: '/data' },
      ...{
        new_binary_version: '3.4.1',
        old_binary_version: '3.4.1',
        config: { name: 'n1' },
        clock_skew_ms: 0,
      },
    });
    expect((await facts(machine({}), member, true)).data_dir_bytes).toBe(1);
    expect(await facts(machine({}))).toMatchObject({ is_running: false });
    expect(await facts(machine({ 7: { words: server, state: 'T' } }, named))).toMatchObject({
      is_suspended: true,
    });
    expect(await facts(machine({ 7: { words: server, uid: 5 } }, named))).toMatchObject({
      owner_mismatch: naming('1000', '5', 'directory', 'uid', 'process'),
      problems: [naming('5', '1000', 'start', 'process', 'uid')],
    });
  });
  it('the file of ETCD_CONFIG_FILE is read, unless the cluster file overrides it', async () => {
    const environ = 'ETCD_CONFIG_FILE=/c.yml\0';
    const files = { ...named.files, '/proc/7/environ': environ, '/c.yml': 'wal-dir: /c' };
    const some = machine({ 7: { words: server } }, { files: { ...files, '/d.yml': 'wal-dir: /d' } });
    const seen = async (patch: Partial<MemberSpec> = {}, minor: Minor = '3.4') =>
      some.driver.facts({ ...member, ...patch }, { sizes: false, minor: async () => minor });
    const read = async (patch: Partial<MemberSpec>) => {
      const { config, is_config_of_variable: isOfVariable } = await seen(patch);
      return [config?.['wal-dir'], isOfVariable];
    };
    expect(await read({})).toEqual(['/c', true]);
    expect(await read({ env: { ETCD_CONFIG_FILE: '/d.yml' } })).toEqual(['/d', true]);
    expect(await read({ env: { ETCD_CONFIG_FILE: '' } })).toEqual([undefined, undefined]);
    expect(await read({ config_file: '/d.yml' })).toEqual(['/d', undefined]);
    expect(await read({ new_command: ['/new/etcd', '--config-file=/d.yml'] })).toEqual(['/d', undefined]);
    expect((await seen({ env: { ETCD_CONFIG_FILE: '/none' } })).config_error).toEqual(
      naming('/none', 'configuration'),
    );
  });
  it('the variables of a process count for a version that does not read the file', async () => {
    const environ = 'ETCD_CONFIG_FILE=/c.yml\0ETCD_WAL_DIR=/e\0';
    const files = {
      ...named.files,
      '/proc/7/environ': environ,
      '/c.yml': 'wal-dir: /c',
      '/e/x': '',
      '/c/x': '',
    };
    const { driver } = machine({ 7: { words: server } }, { files });
    const seen = async (minor: Minor | undefined) => {
      const { wal_place, problems = [] } = await driver.facts(member, {
        sizes: false,
        minor: async () => minor,
      });
      return [wal_place?.path, problems.filter((one) => one.includes('ETCD_WAL_DIR')).length];
    };
    expect(await Promise.all((['3.3', '3.4', undefined] as const).map(seen))).toEqual([
      ...[
        ['/e', 1],
        ['/c', 0],
        ['/c', 0],
      ],
    ]);
  });
  it('the file of the process is read if its next start reads another file', async () => {
    const look = async (running: string, patch: Partial<MemberSpec>) => {
      const some = machine(
        { 7: { words: [...server, `--config-file=${running}`] } },
        { files: { ...named.files, '/proc/7/root/etc/a.yml': 'name: a', '/b.yml': 'name: b' } },
      );
      const { config, running_config } = await some.driver.facts({ ...member, ...patch }, { sizes: false });
      return [config?.['name'], running_config?.['name']];
    };
    expect(await look('/etc/a.yml', {})).toEqual([undefined, 'a']);
    expect(await look('/etc/a.yml', { config_file: '/b.yml' })).toEqual(['b', 'a']);
    expect(await look('/b.yml', { config_file: '/b.yml' })).toEqual(['b', undefined]);
    expect(await look('/etc/none.yml', {})).toEqual([undefined, undefined]);
    // The working directory of the process is not known.
    expect(await look('etc/a.yml', {})).toEqual([undefined, undefined]);
  });
  it('facts contain the problems', async () => {
    const other = await facts(machine({ 7: { words: ['/bin/sleep', '9'] } }, named));
    expect([other.is_running, other.problems]).toEqual([
      ...[false, [naming('/run/n1.pid', '7', 'process', 'member')]],
    ]);
    const some = machine({});
    const info: Host['files']['info'] = async (path) => {
      if (path === '/data') throw new Error('no way');
      return some.made.files.info(path);
    };
    const broken = localDriver({ ...some.made, files: { ...some.made.files, info } });
    // The facts contain the error, so that the caller can continue with the other members.
    expect((await broken.facts({ ...member, data_dir: '/data' }, { sizes: false })).problems).toEqual([
      naming('directory', 'no way'),
    ]);
    const nothing = await facts(machine({}), { name: 'n1', client_url: '' });
    expect(nothing).toMatchObject({ is_running: false, new_binary_error: naming('no binary') });
    expect(nothing).not.toHaveProperty('data_dir_exists');
    expect(nothing).not.toHaveProperty('old_binary_version');
  });
});

describe('a data directory', () => {
  const files = {
    '/data/member/snap/db': 'xxxx',
    '/data/member/snap/1.snap': 'xx',
    '/data/member/snap/2.snap': 'xxx',
    '/data/member/snap/3.other': 'x'.repeat(9),
    '/data/member/wal/0.wal': 'x',
  };
  const seen = (patch: object = {}, sizes = false, path: string | undefined = '/data') =>
    directoryFacts({ ...fakeHost({ files }).files, ...patch } as never, path, sizes);
  it('a data directory has its sizes', async () => {
    expect(await seen({}, true)).toMatchObject({ v2_bytes: 3, db_file_bytes: 4, data_dir_bytes: 19 });
    expect(await seen()).not.toHaveProperty('data_dir_bytes');
    expect(await directoryFacts(fakeHost().files, undefined, true)).toEqual({});
    for (const path of ['/none', '/data/member/snap/db'])
      expect(await seen({}, false, path)).toMatchObject({ data_dir_exists: false });
    const unknown = { freeBytes: () => Promise.reject(new Error('x')), diskOf: async () => undefined };
    const found = await seen(unknown);
    for (const key of ['free_bytes', 'disk']) expect(found).not.toHaveProperty(key);
  });
  it('a data directory behind a dangling link is searched by its name', async () =>
    expect(await seen({ realPath: async () => undefined })).toMatchObject({ data_dir_exists: true }));
  it('a data directory is writable if all of it is', async () => {
    const mode = async (path: string, bits: number) => {
      const host = fakeHost({ files });
      await host.files.setMode(path, bits);
      return (await directoryFacts(host.files, '/data', false)).data_dir_writable;
    };
    for (const path of [
      '/data',
      '/data/member',
      '/data/member/snap',
      '/data/member/wal',
      '/data/member/snap/db',
    ]) {
      expect(await mode(path, 0o555)).toBe(false);
      expect(await mode(path, 0o755)).toBe(true);
      const isWritable = async (asked: string) => asked !== path;
      expect((await seen({ isWritable })).data_dir_writable).toBe(false);
    }
    for (const bits of [0o200, 0o020, 0o002]) expect(await mode('/data', bits)).toBe(true);
  });
});

describe('programs of a member', () => {
  const spec = (patch: object): MemberSpec => ({ name: 'n1', client_url: '', ...patch });
  it('the one that is started is asked where its name is that of the binary', () => {
    const of = (old_binary: string | undefined, old_command: unknown) =>
      startedProgram(
        spec({
          ...(old_binary === undefined ? {} : { old_binary }),
          ...(old_command === undefined ? {} : { old_command }),
        }),
        'old',
      );
    expect(of('/a/etcd', ['/b/etcd'])).toBe('/b/etcd');
    expect(of('/a/etcd', ['/b/boot'])).toBe('/a/etcd');
    expect([of('/a/etcd', undefined), of(undefined, ['/b/etcd']), of(undefined, undefined)]).toEqual([
      ...['/a/etcd', '/b/etcd', undefined],
    ]);
  });
  it('a program that a command starts next to its binary must exist', async () => {
    const problems = (patch: object) =>
      placeProblems(fakeHost({ files: { '/a/etcd': '' } }).files, spec(patch), '/');
    const missing = ['old_command starts /b/etcd, which does not exist'];
    expect(await problems({ old_binary: '/a/etcd', old_command: ['/b/etcd', '-x'] })).toEqual(missing);
    expect(await problems({ old_binary: '/b/etcd', old_command: ['/b/etcd', '-x'] })).toEqual([]);
    expect(await problems({ old_command: ['/b/etcd'] })).toEqual([]);
    expect(await problems({ old_binary: '/a/etcd', old_command: ['b', '-x'] })).toEqual([]);
    expect(await problems({ old_binary: '/x/etcd', old_command: ['/a/etcd', '-x'] })).toEqual([]);
  });
});
