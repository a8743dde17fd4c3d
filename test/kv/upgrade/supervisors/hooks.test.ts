import { serviceTexts } from '../../../support/service-texts.ts';
import { describe, expect, it } from 'vitest';
import { hooksService } from '../../../../src/kv/upgrade/supervisors/open.ts';
import { staticPodService } from '../../../../src/kv/upgrade/supervisors/static-pod.ts';
import { directoryFacts, configFacts } from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import { configPath } from '../../../../src/kv/upgrade/supervisors/member-process.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import type { ClusterFile, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:1', data_dir: '/d', old_binary: '/old', new_binary: '/new' },
  ...{ manifest: '/etc/pods/etcd.yaml', old_image: 'r/etcd:3.4.1', new_image: 'r/etcd:v3.5.2@sha256:x' },
};
/** The script removes opsctl variables before it runs the hook. */
const lastLine = (script: string): string | undefined => script.split('\n').at(-1);
const finished = (code: number | null, stdout = ''): Finished => ({
  ...{ code, signal: null, stdout, stderr: '', timedOut: false },
});

describe('hooks', () => {
  const service = (hooks?: ClusterFile['hooks']) =>
    serviceTexts(
      hooksService({ name: 'c', members: [member], ...(hooks === undefined ? {} : { hooks }), to: '3.5' }),
    );
  const all = service({
    ...{
      stop: ['stop', '{name}', '{version}'],
      start_old: ['start', '{binary}'],
      start_new: ['start', '{binary}', '{to}'],
    },
    ...{ is_running: ['running', '{name}'], kill: ['kill', '{name}'], log: ['log', '{name}'] },
    ...{ new_version: ['version', '{version}'], old_version: ['version', '{version}'] },
  });

  it.each([
    [0, false, 'running'],
    [75, false, 'starting'],
    [77, true, 'unknown'],
    [null, false, 'unknown'],
    [1, false, 'gone'],
    [1, true, 'starting'],
  ] as const)('is_running that exits with %s (just started: %s) means %s', (code, wasStarted, state) => {
    expect(all.stateFrom(finished(code), member, wasStarted).state).toBe(state);
  });

  it('hooks receive their values', () => {
    expect(all.look(member)).toBe('running n1');
    expect(lastLine(all.start(member, 'old', undefined))).toBe('start /old');
    expect(lastLine(all.start(member, 'new', undefined))).toBe('start /new 3.5');
    expect([all.kill(member).split('\n')[0], all.logTail(member, 9)]).toEqual([
      '( kill n1 ) || exit $?',
      'log n1',
    ]);
    expect([all.version(member, 'old'), all.version(member, 'new')]).toEqual(['version old', 'version new']);
    expect(all.describe('stop', member, 'old')).toEqual(['stop n1 old']);
    expect(all.describe('start', member, 'old')).toEqual(['start /old']);
    expect(all.describe('start', member, 'new')).toEqual(['start /new 3.5']);
    expect(all.describe('gate', member, 'new')).toEqual([]);
    expect(all.stop(member, 1000)).toContain('( running n1 )');
  });

  it('missing hooks are reported, and do not count as done', () => {
    const none = service();
    expect(none.look(member)).toBe('exit 77');
    expect(none.stop(member, 1000)).toBe('( exit 2 ) || exit 3; exit 0');
    expect(none.kill(member)).toContain(
      'echo "the cluster file has no hook kill: the process was not killed" >&2; exit 3',
    );
    expect([lastLine(none.start(member, 'new', undefined)), none.logTail(member, 1)]).toEqual([
      'exit 2',
      'true',
    ]);
    expect(none.version(member, 'new')).toBe("trusted '/new' && '/new' --version");
    expect(none.describe('stop', member, 'old')).toEqual(['']);
    expect(none.describe('start', member, 'old')).toEqual(['']);
  });
});

describe('a static pod', () => {
  const service = serviceTexts(staticPodService({ name: 'c', members: [member] }));
  const state = (lines: string[], code = 0) =>
    service.stateFrom(finished(code, lines.join('\n')), member, false);

  it('runs when a process has its data directory, and is on its way while its manifest is in its place', () => {
    expect(state(['pid=71'])).toEqual({ state: 'running', pid: 71 });
    expect(state(['pid=1', 'manifest=false']).state).toBe('gone');
    expect(state(['manifest=false'])).toMatchObject({
      state: 'gone',
      reason: expect.stringContaining('manifest'),
    });
    expect(state(['manifest=true'])).toEqual({
      ...{ state: 'starting', awaits: naming('manifest', 'kubelet') },
    });
    expect(state(['permission denied'], 1)).toEqual({ state: 'unknown', reason: 'permission denied' });
    const containers = JSON.stringify({
      containers: [
        {
          ...{ metadata: { name: 'etcd', attempt: 0 }, state: 'CONTAINER_EXITED' },
          createdAt: '1700000001000000000',
          labels: { 'io.kubernetes.container.name': 'etcd', 'io.kubernetes.pod.name': 'etcd-h' },
        },
      ],
    });
    const pod = Buffer.from('kind: Pod\nmetadata: {name: etcd}\n').toString('base64');
    const known = ['manifest=true', `pod=${pod}`, 'since=1700000000', `containers=${containers}`];
    expect(state(known).state).toBe('gone');
    expect(state(known.filter((line) => !line.startsWith('since='))).state).toBe('starting');
  });

  it(
    'a static pod starts with the manifest of the requested version, and keeps the others',
    covers('spec/store#measured-service-managers-5'),
    () => {
      const placement = {
        member: 'n1',
        previous: { minor: '3.4', manifest: '/etc/kept' },
        next: { minor: '3.5', manifest: '/etc/next' },
      } as const;
      expect(service.start(member, 'new', placement)).toContain("source='/etc/next'\n");
      expect(service.start(member, 'old', placement)).toContain("source='/etc/kept'\n");
      expect(service.start(member, 'old', undefined)).toContain('opsctl-parked');
      expect(service.discard?.(member, placement)).toBe("rm -f '/etc/next'");
      expect(service.discard?.(member, { ...placement, next: { minor: '3.5' } })).toBe('true');
      expect(service.activate?.(member, 'new', placement)).toBe('true');
    },
  );

  it(
    'a static pod describes the commands of a person, and knows the versions by program or image',
    covers('spec/store#versions-5'),
    () => {
      expect(service.describe('stop', member, 'old')[0]).toMatch(/^mv -f '\/etc\/pods\/etcd.yaml' /);
      expect(service.describe('start', member, 'new')).toEqual([
        'write /etc/pods/etcd.yaml with image r/etcd:v3.5.2@sha256:x',
      ]);
      expect(service.describe('gate', member, 'new')).toEqual([]);
      expect(service.version(member, 'new')).toBe("trusted '/new' && '/new' --version");
      const { old_binary: _, ...image } = member;
      expect(service.version(image, 'old')).toContain("'r/etcd:3.4.1'");
      expect(service.logTail(member, 5)).toBe('true');
      expect(service.logTail({ ...member, log_file: '/l' }, 5)).toBe("tail -n 5 '/l'");
    },
  );
});

describe('facts of a data directory', () => {
  const files = {
    '/d/member/snap/db': '12345',
    '/d/member/snap/a.snap': '123',
    '/d/member/snap/b.snap': '1234567',
    '/d/member/wal/0.wal': '12',
  };
  const factsOf = async (patch: object = {}, wantsSizes = false, directory: string | undefined = '/d') => {
    const host = fakeHost({ files });
    const usual = {
      ...{ realPath: async (path: string) => path, isWritable: async () => true },
      ...{ freeBytes: async () => 99, diskOf: async () => 'disk-1' },
    };
    return directoryFacts({ ...host.files, ...usual, ...patch }, directory, wantsSizes);
  };
  it('a data directory has its size, its free space and its disk', async () => {
    expect(await factsOf()).toMatchObject({
      ...{ data_dir_exists: true, data_dir_writable: true, has_db_file: true, db_file_bytes: 5, v2_bytes: 7 },
      ...{ free_bytes: 99, disk: 'disk-1' },
    });
    expect((await factsOf({}, true)).data_dir_bytes).toBe(17);
    expect(await factsOf({}, false, '/none')).toMatchObject({ data_dir_exists: false });
    expect(await factsOf({}, false, '/d/member/snap/db')).toMatchObject({
      data_dir_exists: false,
    });
    const host = fakeHost({ files });
    expect(await directoryFacts(host.files, undefined, false)).toEqual({});
  });
  it('unreadable facts of a data directory are omitted', async () => {
    const broken = { freeBytes: () => Promise.reject(new Error('no')), diskOf: async () => undefined };
    expect(Object.keys(await factsOf(broken))).not.toContain('free_bytes');
    expect((await factsOf({ isWritable: async () => false })).data_dir_writable).toBe(false);
    const db = '/d/member/snap/db';
    expect((await factsOf({ isWritable: async (path: string) => path !== db })).data_dir_writable).toBe(
      false,
    );
  });
});

it('the configuration that the new version will read is that of the cluster file, else of its command', async () => {
  const named = { ...member, new_command: ['--config-file', '/c.yml'] };
  expect(configPath({ ...named, config_file: '/own.yml' })).toBe('/own.yml');
  expect(configPath(named)).toBe('/c.yml');
  expect(configPath(member)).toBeUndefined();
  const { files } = fakeHost({ files: { '/c.yml': 'name: n1\n', '/broken.yml': 'name: [\n' } });
  expect(await configFacts(files, configPath(member))).toEqual({});
  expect(await configFacts(files, configPath(named))).toEqual({ config: { name: 'n1' } });
  expect(await configFacts(files, '/none.yml')).toEqual({
    config_error: naming('/none.yml', 'configuration'),
  });
  const closed = { read: () => Promise.reject(new Error('EACCES: permission denied')) };
  expect(await configFacts(closed, '/c.yml')).toEqual({
    config_error: naming('EACCES', 'configuration', 'permission'),
  });
  expect((await configFacts(files, '/broken.yml')).config_error).toEqual(
    naming('/broken.yml', 'sequence', 'block', 'column'),
  );
});
