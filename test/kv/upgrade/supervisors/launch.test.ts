import { describe, expect, it } from 'vitest';
import {
  environmentProblems,
  identityOf,
  identityProblem,
  isOperatorVariable,
  ownerFacts,
  placeFacts,
  processProblems,
} from '../../../../src/kv/upgrade/supervisors/member-process.ts';
import { launchWords } from '../../../../src/kv/upgrade/supervisors/successor.ts';
import type { ProcessInfo } from '../../../../src/kv/upgrade/supervisors/process-record.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { naming } from '../../../support/facts.ts';

const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:2379', data_dir: '/data', pid_file: '/run/n1.pid' },
  ...{ old_command: ['/old', '--name', 'n1'], new_command: ['/new', '--name', 'n1'] },
};
const running = (patch: Partial<ProcessInfo> = {}): ProcessInfo => ({
  ...{ pid: 7, parent: 1, words: ['/old', '--name', 'n1'], env: new Map() },
  ...patch,
});

describe('inherited properties of a successor', () => {
  it('a successor inherits user, groups and directory, if they are known', () => {
    expect(identityOf(undefined)).toBeUndefined();
    expect(identityOf(running())).toEqual({});
    const whole = { uid: 5, gid: 6, groups: [7], cwd: '/srv' };
    expect(identityOf(running(whole))).toEqual(whole);
  });
  it('only root can switch to another user', () => {
    const words = (identity: Parameters<typeof launchWords>[2], uid: number) =>
      launchWords(member, ['/new', '-x'], identity, { uid }).slice(3);
    const asOther = ['setpriv', '--reuid', '5', '--regid', '6'];
    expect(words(undefined, 1000)).toEqual(['/run/n1.pid', '.', '/new', '-x']);
    expect(words({ uid: 5, gid: 6, cwd: '/srv' }, 1000)).toEqual(['/run/n1.pid', '/srv', '/new', '-x']);
    expect(words({ uid: 5, gid: 6, groups: [7, 8] }, 0)).toEqual([
      ...['/run/n1.pid', '.', ...asOther, '--groups', '7,8', '--', '/new', '-x'],
    ]);
    expect(words({ uid: 5, gid: 6 }, 0)).toEqual([
      ...['/run/n1.pid', '.', ...asOther, '--clear-groups', '--', '/new', '-x'],
    ]);
    const plain = ['/run/n1.pid', '.', '/new', '-x'];
    for (const same of [{ uid: 0, gid: 0 }, { uid: 5 }, { gid: 6 }, {}])
      expect(words(same, 0)).toEqual(plain);
    expect(words({ uid: 0, gid: 6 }, 0)).toContain('setpriv');
    expect(words({ uid: 5, gid: 0 }, 0)).toContain('setpriv');
  });
  it('a member of another user cannot be replaced without root', () => {
    const problem = (uid: number | undefined, own: number) =>
      identityProblem(running(uid === undefined ? {} : { uid }), own);
    expect([problem(undefined, 5), problem(5, 5), problem(5, 0)]).toEqual([undefined, undefined, undefined]);
    expect(problem(5, 6)).toEqual(naming('5', '6', 'process', 'uid'));
    expect(identityProblem(undefined, 6)).toBeUndefined();
    expect(processProblems(member, running({ uid: 5 }), undefined, 6, '3.4')).toEqual([problem(5, 6)]);
    expect(processProblems(member, undefined, undefined, 6, '3.4')).toEqual([]);
  });
  it('settings of the operator stay with the operator', () => {
    expect(['ETCD_NAME', 'ETCDCTL_API', 'OPSCTL_HOME'].map(isOperatorVariable)).toEqual([true, true, true]);
    expect(['PATH', 'MY_ETCD_NAME', 'ETCD'].map(isOperatorVariable)).toEqual([false, false, false]);
  });
});

describe('settings that a process has from its environment', () => {
  const said = (
    env: Record<string, string>,
    patch: Partial<MemberSpec> = {},
    words = running().words,
    minor: Minor = '3.4',
  ) =>
    environmentProblems(
      { ...member, ...patch },
      running({ words, env: new Map(Object.entries(env)), cwd: '/srv' }),
      minor,
    );
  const missing = naming('process', 'ETCD_LOG_LEVEL', 'environment', 'env', 'cluster file', 'no');
  it('settings of the environment must be in the cluster file, with the same value', () => {
    expect(said({ ETCD_LOG_LEVEL: 'debug' })).toEqual([missing]);
    expect(said({ ETCD_LOG_LEVEL: 'debug' }, { env: { ETCD_LOG_LEVEL: 'debug' } })).toEqual([]);
    expect(said({ ETCD_LOG_LEVEL: 'debug' }, { env: { ETCD_LOG_LEVEL: 'info' } })).toEqual([
      naming('ETCD_LOG_LEVEL', 'process', 'environment', 'cluster'),
    ]);
  });
  it('settings are equal if they are paths to one location', () => {
    const env = { ETCD_DATA_DIR: '/srv/data', ETCD_LOG_LEVEL: '/srv/data' };
    expect(said({ ETCD_DATA_DIR: 'data' }, { env })).toEqual([]);
    expect(said({ ETCD_LOG_LEVEL: 'data' }, { env })).toHaveLength(1);
    const nowhere = running({ env: new Map([['ETCD_DATA_DIR', 'data']]) });
    expect(environmentProblems({ ...member, env: { ETCD_DATA_DIR: '/data' } }, nowhere, '3.4')).toEqual([]);
  });
  it('do not count where both command lines have the flag, nor what every start sets', () => {
    expect(said({ ETCD_NAME: 'other' })).toEqual([]);
    expect(said({ ETCD_NAME: 'other' }, { new_command: ['/new'] })).toHaveLength(1);
    expect(said({ ETCD_NAME: 'other' }, { old_command: undefined as never })).toHaveLength(1);
    expect(said({ ETCD_INITIAL_ELECTION_TICK_ADVANCE: 'true' })).toEqual([]);
  });
  it('settings are not read next to a configuration file', () => {
    const env = { ETCD_LOG_LEVEL: 'debug' };
    expect(said(env, {}, ['/old', '--config-file', '/c'])).toEqual([]);
    expect(said({ ...env, ETCD_CONFIG_FILE: '/c' })).toEqual([]);
    // 3.3 does not read the file of the variable, so its settings come from the environment.
    const both = { ...env, ETCD_CONFIG_FILE: '/c' };
    expect(said(both, {}, running().words, '3.3')).toEqual([missing]);
    expect(said(both, { env }, running().words, '3.3')).toEqual([]);
    expect(said(both, {}, ['/old', '--config-file', '/c'], '3.3')).toEqual([]);
    // The servers ignore an empty variable.
    expect(said({ ...env, ETCD_CONFIG_FILE: '' })).toEqual([missing]);
    // The first argument is the program.
    expect(said(env, {}, ['--config-file'])).toEqual([missing]);
  });
  it('settings are unknown for an invisible process', () => {
    expect(environmentProblems(member, undefined, '3.4')).toEqual([]);
    expect(said({ ETCD_LOG_LEVEL: 'debug' }, {}, [])).toEqual([]);
  });
});

describe('facts of a process', () => {
  it('a process has its directory, and the real location of its data', async () => {
    const table = { realPath: async (path: string) => (path === '/data' ? '/mnt/data' : undefined) };
    expect(await placeFacts(table, member, running({ cwd: '/srv' }))).toEqual({
      ...{ working_directory: '/srv', real_data_dir: '/mnt/data' },
    });
    expect(await placeFacts(table, { ...member, data_dir: '/none' }, running())).toEqual({});
    expect(await placeFacts(table, { name: 'n1', client_url: '' }, undefined)).toEqual({});
  });
  it('another owner of its data', () => {
    const beside = { path: '/data', is_writable: true };
    const data = { path: '/data', real: '/data', exists: true, uid: 6, beside };
    expect(ownerFacts(5, data)).toEqual({
      owner_mismatch: 'the directory belongs to uid 6, but the process runs as uid 5',
    });
    expect(ownerFacts(5, { ...data, real: '/disk/data' })).toEqual({
      owner_mismatch: '/data is a link to /disk/data, which belongs to uid 6, but the process runs as uid 5',
    });
    const { uid: _, ...unknown } = data;
    expect([ownerFacts(6, data), ownerFacts(undefined, data), ownerFacts(5, undefined)]).toEqual([
      {},
      {},
      {},
    ]);
    expect(ownerFacts(5, unknown)).toEqual({});
  });
});
