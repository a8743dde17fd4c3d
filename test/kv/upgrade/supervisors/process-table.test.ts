import { describe, expect, it } from 'vitest';
import {
  memberProcess,
  processesOf,
  unnamedServer,
} from '../../../../src/kv/upgrade/supervisors/member-process.ts';
import {
  localProcesses,
  serverVariables,
  statusOf,
  wordsIn,
  type ProcessInfo,
  type ProcessTable,
} from '../../../../src/kv/upgrade/supervisors/process-record.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';

describe('kernel data of a process', () => {
  it('a process has a parent, a state, and a user', () => {
    expect(
      statusOf(
        'Name:\tetcd\nState:\tT (stopped)\nPPid:\t3\nUid:\t1\t2\t4\t5\nGid:\t6\t7\t8\t9\nGroups:\t7 8 \n',
      ),
    ).toEqual({
      ...{ parent: 3, state: 'T', uid: 2, gid: 7, groups: [7, 8] },
    });
    expect(statusOf('Groups:\t\n')).toEqual({ parent: 0, groups: [] });
    expect(statusOf('')).toEqual({ parent: 0 });
  });
  it('words end with zeros', () => {
    expect([wordsIn(''), wordsIn('a\0'), wordsIn('a\0\0b'), wordsIn('a b\0c\0')]).toEqual([
      ...[[], ['a'], ['a', '', 'b'], ['a b', 'c']],
    ]);
  });
  it('variables are those that a server reads', () =>
    expect([...serverVariables(['ETCD_NAME=a=b', 'PATH=/bin', 'ETCD_ROOT_PASSWORD=x', 'odd'])]).toEqual([
      ['ETCD_NAME', 'a=b'],
    ]));
});

describe('processes of this machine', () => {
  const files = {
    '/proc/7/cmdline': '/usr/bin/etcd\0--name\0n1\0',
    '/proc/7/status': 'State:\tS\nPPid:\t1\n',
    '/proc/7/environ': 'ETCD_NAME=n1\0PATH=/bin\0',
    '/proc/8/cmdline': 'bash\0',
    '/proc/self/cmdline': 'etcd\0',
    '/run/ours.pid': '4242\n',
    '/run/dead.pid': '99\n',
    '/run/init.pid': '1',
    '/run/odd.pid': 'etcd',
  };
  const host = fakeHost({ files });
  const alive = {
    ...host,
    processes: { ...host.processes, isAlive: (pid: number) => [1, 2, 4242].includes(pid) },
  };
  const table = localProcesses(alive);
  it('processes are named by a pid file while they run', async () => {
    const pids = ['/run/ours.pid', '/run/dead.pid', '/run/init.pid', '/run/odd.pid', '/run/none.pid'];
    expect(await Promise.all(pids.map(table.pidIn))).toEqual([4242, ...Array(4).fill(undefined)]);
    await host.files.replace('/run/two.pid', '2');
    expect(await table.pidIn('/run/two.pid')).toBe(2);
  });
  it('processes have their known facts', async () => {
    expect(await table.get(7)).toMatchObject({
      ...{ pid: 7, parent: 1, state: 'S', words: ['/usr/bin/etcd', '--name', 'n1'] },
      env: new Map([['ETCD_NAME', 'n1']]),
    });
    expect(await table.get(7)).not.toHaveProperty('startMark');
    expect(await table.get(4242)).toMatchObject({ words: [], startMark: 'mark' });
  });
  it('processes are found by their programs', async () => {
    const found = async (...names: string[]) => (await table.all(new Set(names))).map(({ pid }) => pid);
    expect([await found('etcd'), await found('bash', 'etcd'), await found('sh')]).toEqual([[7], [7, 8], []]);
  });
  it('members of one observation share a scan, and a later member starts a new one', async () => {
    let lists = 0;
    const list: typeof host.files.list = (path) => {
      lists += 1;
      return host.files.list(path);
    };
    const machine = { ...host, files: { ...host.files, list } };
    const pidsFor = async (...names: string[]) =>
      (await localProcesses(machine).all(new Set(names))).map(({ pid }) => pid);
    expect(await Promise.all([pidsFor('etcd'), pidsFor('bash'), pidsFor('sh')])).toEqual([[7], [8], []]);
    expect(lists).toBe(1);
    await host.files.replace('/proc/9/cmdline', 'etcd\0');
    expect([await pidsFor('etcd'), lists]).toEqual([[7, 9], 2]);
    await host.files.remove('/proc/9/cmdline');
    expect([await pidsFor('etcd'), lists]).toEqual([[7], 3]);
  });
});

const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:2379', data_dir: '/data', pid_file: '/run/n1.pid' },
  ...{ old_command: ['/old/etcd', '--name', 'n1'], new_binary: '/new/kvd' },
};
const one = (pid: number, words: string[], more: Partial<ProcessInfo> = {}): ProcessInfo => ({
  ...{ pid, parent: 1, words, env: new Map(), cwd: '/srv' },
  ...more,
});
/** A host with these processes. The pid file contains the first one. */
const machine = (...processes: ProcessInfo[]): ProcessTable => ({
  pidIn: async () => processes[0]?.pid,
  get: async (pid) => processes.find((process) => process.pid === pid),
  all: async (programs) =>
    processes.filter(({ words }) => programs.has((words[0] ?? '').replace(/^.*\//, ''))),
  realPath: async (path) => (path === '/link' ? '/data' : path === '/srv/missing' ? undefined : path),
});
const found = async (spec: MemberSpec, ...processes: ProcessInfo[]) => {
  const { process, problem } = await memberProcess(machine(...processes), spec);
  return process?.pid ?? problem;
};

describe('the process that a pid file names', () => {
  const no = (value: string) => naming('/run/n1.pid', '7', value, 'process', 'member');
  it('a process is the member if it runs on its data directory, under any name', async () => {
    expect(await found(member, one(7, ['etcd', '--data-dir', '/data']))).toBe(7);
    expect(await found(member, one(7, ['etcd', '--data-dir=/link']))).toBe(7);
    expect(await found(member, one(7, ['etcd', '--data-dir', 'n1']))).toEqual(no('/srv/n1'));
    expect(
      await found(
        { ...member, data_dir: '/n1' },
        one(7, ['etcd', '--data-dir', 'n1'], { cwd: undefined as never }),
      ),
    ).toBe(7);
    expect(await found({ ...member, data_dir: '/srv/missing' }, one(7, ['x', '--data-dir', 'missing']))).toBe(
      7,
    );
  });
  it('a process is the member if its environment names it, and it is a server', async () => {
    const env = new Map([['ETCD_DATA_DIR', '/other']]);
    expect(await found(member, one(7, ['/x/etcd'], { env }))).toEqual(no('/other'));
    expect(await found(member, one(7, ['kvd'], { env }))).toEqual(no('/other'));
    expect(await found(member, one(7, ['bash'], { env }))).toEqual(no('bash'));
  });
  it('a process is the member if its arguments name it', async () => {
    expect(await found(member, one(7, ['run', 'http://h:2379']))).toBe(7);
    expect(await found(member, one(7, ['run', '--data=/data/x']))).toBe(7);
    expect(await found(member, one(7, ['sh', '/any/kvd']))).toBe(7);
    expect(await found({ ...member, config_file: '/c.yml' }, one(7, ['run', '/c.yml']))).toBe(7);
    expect(await found(member, one(7, ['/bin/sleep', '9']))).toEqual(no('sleep'));
  });
  it('a process is the member if its configuration file is its own', async () => {
    const spec = { ...member, old_command: ['/old/etcd', '--config-file', '/srv/c.yml'] };
    expect(await found(spec, one(7, ['run', '--config-file', 'c.yml']))).toBe(7);
    expect(await found(spec, one(7, ['run', '--config-file', 'd.yml']))).toEqual(no('run'));
    expect(
      await found({ ...spec, config_file: '/d.yml' }, one(7, ['run', '--config-file', 'c.yml'])),
    ).toEqual(no('run'));
    expect(
      await found({ name: 'n1', client_url: 'http://h:1', pid_file: '/run/n1.pid' }, one(7, ['run'])),
    ).toEqual(no('run'));
  });
  it('a server that reads a file ignores its flags and variables', async () => {
    // The unit of a package sets ETCD_DATA_DIR, and the operator adds a file with another data directory.
    const env = new Map([['ETCD_DATA_DIR', '/var/default']]);
    const words = ['/old/etcd', '--config-file', '/c.yml'];
    const spec = { ...member, config_file: '/c.yml' };
    expect(await found(spec, one(7, words, { env }))).toBe(7);
    expect(await found(spec, one(7, [...words, '--data-dir', '/other']))).toBe(7);
    const named = new Map([...env, ['ETCD_CONFIG_FILE', '/c.yml']]);
    expect(await found(spec, one(7, ['/old/etcd'], { env: named }))).toBe(7);
    // The server of another member has the same program.
    expect(await found(spec, one(7, ['/old/etcd', '--config-file', '/d.yml']))).toEqual(no('/d.yml'));
    const next = { ...spec, new_command: ['/new/kvd', '--config-file', '/d.yml'] };
    expect(await found(next, one(7, ['/new/kvd', '--config-file', '/d.yml']))).toBe(7);
    const relative = { ...member, old_command: ['/old/etcd', '--config-file', 'c.yml'] };
    expect(await found(relative, one(7, ['/old/etcd', '--config-file', '/d.yml']))).toBe(7);
  });
  it('a process is the member if it started its server', async () => {
    const wrapper = one(7, ['/bin/boot']);
    const server = (parent: number, directory = '/data') =>
      one(9, ['/old/etcd', '--data-dir', directory], { parent });
    expect(await found(member, wrapper, server(7))).toBe(7);
    expect(await found(member, wrapper, one(8, ['sh'], { parent: 7 }), server(8))).toBe(7);
    expect(await found(member, wrapper, server(1))).toEqual(no('boot'));
    expect(await found(member, wrapper, server(7, '/other'))).toEqual(no('boot'));
    expect(await found(member, wrapper, server(99))).toEqual(no('boot'));
    expect(await found(member, wrapper, one(8, ['sh'], { parent: 9 }), server(8))).toEqual(no('boot'));
  });
  it('a process without arguments counts as the member, and an exited one does not', async () => {
    expect([await found(member, one(7, [])), await found(member, one(7, ['']))]).toEqual([7, 7]);
    expect(await found(member, one(7, ['etcd', '--data-dir', '/data'], { state: 'Z' }))).toBeUndefined();
    expect(await found(member)).toBeUndefined();
    expect(await found({ ...member, pid_file: undefined as never }, one(7, ['etcd']))).toBeUndefined();
  });
});

describe('a server without a pid file', () => {
  const none: ProcessTable['pidIn'] = async () => undefined;
  const server = async (running: ProcessInfo, spec = member) =>
    (await unnamedServer({ ...machine(running), pidIn: none }, spec))?.pid;
  it('a server without a pid file is known by its data directory or its configuration file', async () => {
    expect(await server(one(9, ['/old/etcd', '--data-dir', '/data']))).toBe(9);
    expect(await server(one(9, ['/old/etcd', '--data-dir', '/other']))).toBeUndefined();
    expect(await server(one(9, ['/old/etcd', '--data-dir', '/data'], { state: 'Z' }))).toBeUndefined();
    expect(await server(one(9, ['/old/etcd', '--name', 'n1']))).toBeUndefined();
    const spec = { ...member, config_file: '/c.yml' };
    expect(await server(one(9, ['/old/etcd', '--config-file', '/c.yml']), spec)).toBe(9);
    expect(await server(one(9, ['/old/etcd', '--conf=/c.yml']), spec)).toBe(9);
    expect(await server(one(9, ['/old/etcd', '--config-file', '/d']), spec)).toBeUndefined();
    const env = new Map([['ETCD_DATA_DIR', '/var/default']]);
    expect(await server(one(9, ['/old/etcd', '--config-file', '/c.yml'], { env }), spec)).toBe(9);
  });
  it('a server without a pid file is stopped, with its children', async () => {
    const all = async (...processes: ProcessInfo[]) =>
      (await processesOf(machine(...processes), member)).map(({ pid }) => pid);
    const below = one(9, ['/old/etcd', '--data-dir', '/data'], { parent: 7 });
    expect(await all(one(7, ['sh', '/data']), below)).toEqual([7, 9]);
    expect(await all(one(7, ['/old/etcd', '--data-dir', '/data']), below)).toEqual([7]);
    expect(await all(one(7, ['/bin/sleep']), one(9, ['etcd', '--data-dir', '/data']))).toEqual([9]);
    expect(await all(one(7, ['/bin/sleep']))).toEqual([]);
    const known = { process: one(3, ['etcd', '--data-dir', '/data']) };
    expect((await processesOf(machine(below), member, known)).map(({ pid }) => pid)).toEqual([3]);
  });
});
