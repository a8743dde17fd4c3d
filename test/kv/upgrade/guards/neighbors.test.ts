/**
 * Guard results next to the main case: one part is missing, one part is added, or the number differs by one.
 */
import { describe, expect, it } from 'vitest';
import { adviceText } from '../../../../src/core/next.ts';
import { healthyClusterFindings } from '../../../../src/kv/operations/plan.ts';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import { countsOf, reportable } from '../../../../src/kv/upgrade/guards/guard.ts';
import { isGood, laggingFollowers, stopFinding } from '../../../../src/kv/upgrade/guards/membership.ts';
import { alarmMessages, v2BytesOf } from '../../../../src/kv/upgrade/guards/store.ts';
import type {
  Finding,
  HostFacts,
  MemberSpec,
  MemberStatus,
  Observation,
} from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { hints, said, second } from './said.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const onHost = (patch: Partial<HostFacts>): MemberStatus[] =>
  second({ host: { ...seen('n2').host, ...patch } });
const row = (id: string, name: string) => ({ id, name, peer_urls: [], client_urls: [], is_learner: false });

describe('accepted refusals', () => {
  const full = { members: second({ db_size_bytes: 99, quota_bytes: 100 }) };
  const accept = (...names: string[]) => ({ options: planOptions({ accept: names }) });
  it('an accepted refusal is a warning that states it', () => {
    expect(said('quota', full)[0]).toEqual(naming('fail', 'n2', '99', 'quota', 'database'));
    expect(said('quota', full, accept('quota'))[0]).toMatch(/^warn n2: .* \(accepted\)$/);
    expect(said('quota', full, accept('disk-space'))[0]).toMatch(/^fail/);
  });
  it(
    'acceptance has no effect without a finding, or for a guard that cannot be accepted',
    covers('spec/store#errors-5'),
    () => {
      expect(said('quota', {}, accept('quota'))).toEqual([naming('pass', 'quota', 'database')]);
      const warned = { members: second({ db_size_bytes: 80, quota_bytes: 100 }) };
      expect(said('quota', warned, accept('quota'))[0]).not.toContain('accepted');
      const never = { members: onHost({ has_db_file: false }) };
      expect(said('db-file-present', never, accept('db-file-present'))[0]).toMatch(/^fail n2/);
    },
  );
});

it('findings are counted by level, and reported to CI services without absent data', () => {
  const finding = (level: 'pass' | 'warn' | 'unknown' | 'fail') => ({ guard: 'g', level, message: 'm' });
  expect(
    countsOf([finding('pass'), finding('warn'), finding('warn'), finding('unknown'), finding('fail')]),
  ).toEqual({
    ...{ pass: 1, warn: 2, unknown: 1, fail: 1 },
  });
  expect(reportable(finding('warn'), undefined)).toEqual({ rule: 'g', level: 'warn', message: 'm' });
  expect(reportable({ ...finding('fail'), member: 'n1', hint: 'h' }, '/f')).toEqual({
    ...{ rule: 'g', level: 'fail', message: 'm', subject: 'n1', hint: 'h', file: '/f' },
  });
});

describe('binaries', () => {
  const wrong = onHost({ new_binary_version: '3.5.1' });
  const unit = clusterFile(3, {
    members: ['n1', 'n2', 'n3'].map((name) => ({ name, client_url: seen(name).client_url, unit: 'kv' })),
  });
  it('binaries are checked unless a restart keeps them', () => {
    const other = ['fail n2: n2: the new binary is 3.5.1, but the target of the upgrade is 3.4'];
    expect(said('binaries-are-right', { members: wrong, cluster: unit })).toEqual(other);
    const restart = { kind: 'restart', from: '3.3', to: '3.3' } as const;
    const same = ['n1', 'n2', 'n3'].map((name) =>
      seen(name, { host: { ...seen(name).host, new_binary_version: name === 'n2' ? '3.5.1' : '3.3.25' } }),
    );
    expect(said('binaries-are-right', { members: same, cluster: unit }, restart)[0]).toMatch(/^pass/);
    expect(said('binaries-are-right', { members: same }, restart)).toEqual([
      'fail n2: n2: the new binary is 3.5.1, but the target of the restart is 3.3',
    ]);
    expect(said('binaries-are-right', { members: same, cluster: { ...unit, members: [] } }, restart)).toEqual(
      ['fail n2: n2: the new binary is 3.5.1, but the target of the restart is 3.3'],
    );
  });
});

it('rules about a version count where it is to be started, or left', () => {
  const rules = [
    { from: '3.4.9', through: '3.4.9', on: 'arrive', level: 'fail', reason: 'r', instead: 'i', source: 's' },
    { from: '3.3.9', through: '3.3.9', on: 'arrive', level: 'fail', reason: 'r', instead: 'i', source: 's' },
  ] as const;
  const versions = { data_of: '2099-01-01', minors: [{ minor: '3.4', latest: '3.4.99' }], rules } as never;
  const options = planOptions({ versions });
  const arriving = (server_version: string, new_binary_version: string | undefined) =>
    said(
      'known-versions',
      {
        members: [
          seen('n1', { server_version, host: { ...seen('n1').host, new_binary_version } as HostFacts }),
        ],
      },
      { options },
    )[0]?.slice(0, 4);
  expect(arriving('3.3.25', '3.4.9')).toBe('fail');
  expect(arriving('3.3.25', '3.4.8')).toBe('pass');
  // The member already runs this version, and the plan does not start another minor.
  expect([arriving('3.4.9', '3.4.9'), arriving('3.3.25', '3.3.9')]).toEqual(['pass', 'pass']);
  expect(arriving('3.3.25', undefined)).toBe('pass');
});

describe('the file of ETCD_CONFIG_FILE', () => {
  type Case = {
    readonly running?: Record<string, string>;
    readonly env?: Record<string, string>;
    readonly words?: string[];
    readonly driver?: 'systemd';
    readonly version?: string;
  };
  const file = { ETCD_CONFIG_FILE: '/c.yml' };
  const given = ({ running = {}, env, words = [], driver, version = '3.3.25' }: Case) => {
    const cluster = clusterFile();
    const command = ['/opt/etcd', '--name', 'n2', ...words];
    const host = { ...seen('n2').host, command, environment: running } as HostFacts;
    const spec = { new_command: driver === undefined ? command : undefined, env };
    const members = cluster.members.map((one) => (one.name === 'n2' ? { ...one, ...spec } : one));
    return {
      members: second({ host, server_version: version }),
      cluster: { ...cluster, members, ...(driver && { driver }) },
    };
  };
  type Way = { readonly from: '3.2' | '3.3' | '3.4'; readonly to: '3.3' | '3.4' | '3.5' };
  const failed = (one: Case, way: Way = { from: '3.3', to: '3.4' }): string[] =>
    said('configuration-fits', given(one), way).filter((text) => text.startsWith('fail'));
  it.each<[string, Case]>([
    ['in env', { env: file }],
    ['in the environment of the running process', { running: file }],
    ['in the environment of a service', { running: file, driver: 'systemd' }],
  ])('would replace all settings from 3.4 on: %s', (_, one) => {
    expect(failed(one)).toEqual([naming('fail n2', 'ETCD_CONFIG_FILE', '/c.yml', '3.3', '3.4', 'data-dir')]);
    const told = hints('configuration-fits', given(one)).map(String);
    expect(told.some((hint) => hint.includes(one.driver === undefined ? 'in env' : 'its service'))).toBe(
      true,
    );
  });
  it.each<[string, Case, Way?]>([
    [
      'an empty variable in env overrides the running process',
      { running: file, env: { ETCD_CONFIG_FILE: '' } },
    ],
    ['the command line names a file itself', { env: file, words: ['--config-file', '/d.yml'] }],
    ['3.3 ignores it too', { env: file, version: '3.2.32' }, { from: '3.2', to: '3.3' }],
    ['3.4 already reads it', { env: file, version: '3.4.23' }, { from: '3.4', to: '3.5' }],
    ['this member already runs 3.4', { env: file, version: '3.4.23' }],
  ])('does not matter: %s', (_, one, way) => expect(failed(one, way)).toEqual([]));
});

describe('a configuration', () => {
  const withFile = (spec: object, config: Record<string, unknown>, to: '3.4' | '3.5' | '3.6') => {
    const cluster = clusterFile();
    const members = cluster.members.map((one) => (one.name === 'n2' ? { ...one, ...spec } : one));
    const given = { members: onHost({ config }), cluster: { ...cluster, members } };
    const from = ({ '3.4': '3.3', '3.5': '3.4', '3.6': '3.5' } as const)[to];
    return [
      said('configuration-fits', given, { from, to }),
      hints('configuration-fits', given, { from, to }),
    ];
  };
  it('a configuration that the plan rewrites is a warning with its line', () => {
    const [found, told] = withFile({ config_file: '/c' }, { 'auto-compaction-retention': 7 }, '3.5');
    expect(found?.[0]).toEqual(naming('warn', 'n2', 'auto-compaction-retention', '7', 'server'));
    expect(told?.[0]).toEqual(
      naming('plan', 'auto-compaction-mode: periodic', 'auto-compaction-retention: "7"'),
    );
  });
  it('a repeated key fails only where the plan would rewrite the file', () => {
    const levels = (config: Record<string, unknown>) => {
      const cluster = clusterFile();
      const members = cluster.members.map((one) => ({ ...one, config_file: '/c' }));
      const given = { members: onHost({ config, config_repeats: true }), cluster: { ...cluster, members } };
      return said('configuration-fits', given, { to: '3.5' }).filter((text) => text.startsWith('fail'));
    };
    expect(levels({ 'auto-compaction-retention': 7 })).toEqual([naming('fail n2', 'twice')]);
    expect(levels({ name: 'n2' })).toEqual([]);
  });
  it('a configuration that the plan does not rewrite has the hint of the finding', () => {
    const old = { 'experimental-compaction-batch-limit': 7 };
    for (const spec of [{ config_file: '/c' }, {}]) {
      const [found, told] = withFile(spec, old, '3.6');
      expect(found?.[0]).toEqual(naming('warn', 'n2', 'experimental-compaction-batch-limit'));
      expect(told).toEqual([naming('3.6', 'member')]);
    }
    const [, plain] = withFile({ config_file: '/c' }, { 'log-outputs': 'stderr' }, '3.5');
    expect(plain).toEqual(['log-outputs: [stderr]']);
    const [, named] = withFile({}, { 'auto-compaction-retention': 7 }, '3.5');
    expect(named?.[0]).toEqual(naming('config_file', 'PATH', 'cluster', 'plan', 'between'));
  });
  it('settings of the command line and of the environment are distinguished', () => {
    const of = (spec: object) => withFile(spec, { 'data-dir': '/data/n2' }, '3.6');
    expect(of({ new_command: ['new', '--enable-v2'] })).toEqual([
      [expect.stringMatching(/^fail n2: n2: --enable-v2 /)],
      [expect.stringMatching(/^in new_command: /)],
    ]);
    expect(of({ env: { ETCD_ENABLE_V2: 'true' } })).toEqual([
      [expect.stringMatching(/^warn n2: n2: ETCD_ENABLE_V2 /)],
      [expect.stringMatching(/^in env: /)],
    ]);
  });
});

it('an unreachable host is named by its member', () => {
  const cluster = clusterFile(3, {
    members: clusterFile().members.map((one) => ({ ...one, host: `h${one.name}` })),
  });
  const members = onHost({ problems: ['away'], is_unreachable: true });
  expect(hints('data-directories', { members, cluster })).toEqual([naming('hn2', '5', 's')]);
});

describe('members of one cluster', () => {
  it('a duplicate member in the file is reported', () =>
    expect(said('one-cluster', { members: second({ member_id: '1001' }) })).toContain(
      'fail n2: n2 and another entry of the cluster file are the same member 3e9',
    ));
  it('a member that does not report its ID is not a different member', () => {
    const nameless = second({ member_id: undefined, cluster_id: undefined, listed_ids: undefined } as never);
    const [, n2, n3] = nameless;
    expect(
      said('one-cluster', {
        members: [n2, n3, { ...(n2 as MemberStatus), name: 'n1' }] as MemberStatus[],
      }).map((one) => one.slice(0, 16)),
    ).toEqual(['fail n2: n2 resp', 'fail n1: n1 resp']);
  });
  it.each<[string, Partial<MemberSpec>, Partial<HostFacts>]>([
    ['a script', { new_command: ['/opt/start.sh', '--name', 'n2'] }, {}],
    ['a script of a rollback', { old_command: ['/opt/start.sh'] }, {}],
    ['a file', { new_command: ['etcd', '--config-file=/etc/n2.yml'] }, {}],
    [
      'another file',
      { new_command: ['etcd', '--config-file=/b'], config_file: '/a' },
      { config: { name: 'n2' } },
    ],
    ['a file of a variable', { env: { ETCD_CONFIG_FILE: '/etc/n2.yml' } }, {}],
  ])('%s that was not read may form a new cluster', (_, spec, host) => {
    const file = clusterFile();
    const cluster = {
      ...file,
      members: file.members.map((one) => (one.name === 'n2' ? { ...one, ...spec } : one)),
    };
    expect(said('one-cluster', { cluster, members: onHost(host) })).toEqual([
      expect.stringMatching(/^unknown n2: .*force-new-cluster.*(start\.sh|\/etc\/n2\.yml|\/b)/),
    ]);
    const which = spec.old_command === undefined ? 'next start' : 'start with old_command';
    expect(said('one-cluster', { cluster, members: onHost(host) })).toEqual([naming(which)]);
  });
  const [oldFile, newFile] = ['--config-file=/etc/old.yml', '--config-file=/etc/new.yml'];
  const forced = { 'force-new-cluster': true };
  const running = { command: ['etcd', oldFile], environment: {} };
  it.each<[string, Partial<MemberSpec>, HostFacts, RegExp]>([
    ['not read', {}, { config: {} }, /^unknown n2: .*\/etc\/old\.yml/],
    [
      'not read, with config_file',
      { config_file: '/etc/new.yml' },
      { config: {} },
      /^unknown n2: .*old\.yml/,
    ],
    ['of the process', {}, { ...running, config: {}, running_config: forced }, /^fail n2: /],
    [
      'of the process, which SSH reads',
      { new_command: ['etcd'] },
      { ...running, config: forced },
      /^fail n2: /,
    ],
    ['of the process without the setting', {}, { ...running, config: {}, running_config: {} }, /^pass/],
    [
      'of the process, with config_file',
      { config_file: '/etc/new.yml' },
      { ...running, config: {}, running_config: forced },
      /^fail n2: /,
    ],
    [
      'of the process without the setting, with config_file',
      { config_file: '/etc/new.yml' },
      { ...running, config: {}, running_config: {} },
      /^pass/,
    ],
    [
      'of another process',
      {},
      { ...running, command: ['etcd', '--config-file=/c'], config: {}, running_config: {} },
      /^unknown n2: .*old\.yml/,
    ],
    ['of both starts', { new_command: ['etcd', oldFile] }, { config: {} }, /^pass/],
  ])('the file of old_command: %s', (_, spec, host, expected) => {
    const file = clusterFile();
    const starts = { old_command: ['etcd', oldFile], new_command: ['etcd', newFile], ...spec };
    const members = file.members.map((one) => (one.name === 'n2' ? { ...one, ...starts } : one));
    expect(said('one-cluster', { cluster: { ...file, members }, members: onHost(host) })).toEqual([
      expect.stringMatching(expected),
    ]);
  });
  it('a renamed server is not a script', () => {
    const file = clusterFile();
    const renamed = {
      old_binary: '/opt/a',
      old_command: ['/opt/a'],
      new_binary: '/opt/b',
      new_command: ['/opt/b'],
    };
    const cluster = { ...file, members: file.members.map((one) => ({ ...one, ...renamed })) };
    expect(said('one-cluster', { cluster })[0]).toMatch(/^pass/);
  });
  it('a command without a name, or with an unknown name, belongs to no other member', () => {
    const cluster = (old_command: string[]) => {
      const file = clusterFile();
      return {
        ...file,
        members: file.members.map((one) => (one.name === 'n1' ? { ...one, old_command } : one)),
      };
    };
    for (const words of [['/old/etcd'], ['/old/etcd', '--name', 'n7'], ['/old/etcd', '--name', 'n1']])
      expect(said('one-cluster', { cluster: cluster(words) })[0]).toMatch(/^pass/);
    expect(said('one-cluster', { cluster: cluster(['/old/etcd', '--name', 'n2']) })).toEqual([
      'fail n1: old_command of n1 starts member n2, but its client_url belongs to n1',
    ]);
  });
});

describe('members that can be stopped', () => {
  it('members that respond, are healthy and vote can be stopped', () => {
    expect(isGood(seen('n1'))).toBe(true);
    for (const patch of [{ is_reachable: false }, { is_healthy: false }, { is_learner: true }])
      expect(isGood(seen('n1', patch))).toBe(false);
  });
  it('neither of two members can be stopped if one is unhealthy, and this cannot be accepted', () => {
    const members = [seen('n1'), seen('n2', { is_healthy: false })];
    const accept = { options: planOptions({ accept: ['quorum-survives'] }) };
    expect(said('quorum-survives', { members })[0]).toEqual(naming('fail n1', 0, 2));
    expect(said('quorum-survives', { members }, accept)[0]).toMatch(/^warn n1: .*accepted/);
  });
  it('members are checked again before each stop', () => {
    const two = observed([seen('n1'), seen('n2')]);
    expect(stopFinding(observed(), 'n1', [])).toBeUndefined();
    expect(stopFinding(two, 'n1', ['quorum-survives'])).toBeUndefined();
    expect(stopFinding(two, 'n1', [])).toEqual({
      ...{ guard: 'quorum-survives', level: 'fail', member: 'n1' },
      message: naming('n1', '1', '2', 'voting', 'healthy', 'needed'),
      hint: naming('opsctl kv resume', 'members'),
    });
    const suspended = { is_reachable: false, is_healthy: false, host: { is_suspended: true, pid: 7 } };
    expect(stopFinding(observed([seen('n1'), seen('n2'), seen('n3', suspended)]), 'n1', [])).toMatchObject({
      hint: naming('kill -CONT 7', 'opsctl kv resume'),
    });
  });
});

describe('members that keep up', () => {
  it('unknown progress of a member is not an objection', () => {
    const ahead = seen('n1', { raft_index: 100_000 });
    const unknown = seen('n2', { raft_index: undefined } as never);
    expect(said('members-keep-up', { members: [ahead, unknown] })[0]).toMatch(/^pass/);
    expect(said('members-keep-up', { members: [ahead, away('n2', { raft_index: 1 })] })[0]).toEqual(
      naming('n2', 'unknown', 'members'),
    );
    expect(
      said('members-keep-up', {
        members: [seen('n1', { raft_index: 1 }), seen('n2', { raft_index: 1001 })],
      })[0],
    ).toMatch(/^pass/);
    expect(said('members-keep-up', { members: [unknown] })[0]).toMatch(/^pass/);
  });
  it('an index that is not known is the very first', () => {
    const leader = (raft_index?: number) => seen('n1', { raft_index } as never);
    const other = seen('n2', { raft_index: undefined } as never);
    expect(laggingFollowers([leader(500), other], leader(500))).toEqual([]);
    expect(laggingFollowers([leader(501), other], leader(501))).toEqual(['n2']);
    expect(laggingFollowers([leader(), other], leader())).toEqual([]);
    expect(laggingFollowers([leader(501), seen('n2', { raft_index: 1 })], leader(501))).toEqual([]);
  });
});

describe('an alarm', () => {
  const alarms = [{ member_id: '16', alarm: 'NOSPACE' }] as const;
  const message = (listed: Observation['listed'], members: readonly MemberStatus[] = []) =>
    alarmMessages({ alarms: [...alarms], listed, members })[0]?.message;
  it('an alarm belongs to a removed member if the list lacks that member', () => {
    const gone = 'alarm NOSPACE of member 10 is still raised, although 10 is no longer a member';
    expect(message([row('1', 'n1')])).toBe(gone);
    expect(message([])).toBe('alarm NOSPACE is raised by 10');
    expect(message([row('1', 'n1')], [seen('n9', { member_id: '16' })])).toBe(
      'alarm NOSPACE is raised by n9',
    );
    expect(message([row('1', 'n1'), row('16', 'n8')])).toBe('alarm NOSPACE is raised by n8');
  });
});

it('unobserved v2 data does not exist for the guard', () => {
  expect(v2BytesOf({ members: [away('n1'), seen('n2', { host: {} })] })).toBe(0);
  expect(v2BytesOf({ members: [seen('n2', { host: { v2_bytes: 7 } })], v2: { bytes: 5 } })).toBe(7);
  expect(v2BytesOf({ members: [seen('n2', { host: { v2_bytes: 3 } })], v2: { bytes: 5 } })).toBe(5);
});

it('a responding member has started, even if the list does not have its name yet', () => {
  const levels = (id: string) =>
    said('one-cluster', { listed: [row(id, ''), row('1002', 'n2'), row('1003', 'n3')] }).map(
      (line) => line.split(/[: ]/)[0],
    );
  expect(levels('1001')).toEqual(['pass']);
  expect(levels('1009')).toContain('fail');
});

describe('commands that are not an upgrade', () => {
  const host = seen('n2').host;
  const odd = seen('n2', { is_healthy: false, server_version: '3.5.1', errors: ['no space'] });
  const broken: readonly (readonly MemberStatus[])[] = [
    [seen('n1'), away('n2'), seen('n3')],
    [seen('n1'), odd, away('n3')],
    [seen('n1'), { ...odd, server_version: '3.3.25' }, seen('n3')],
    [seen('n1')],
    [seen('n1'), seen('n2')],
    [seen('n1'), seen('n2', { is_learner: true, raft_index: 9_000_000, revision: 2 }), seen('n3')],
    [seen('n1'), seen('n2', { host: { ...host, has_db_file: false, data_dir_exists: false } }), seen('n3')],
    [seen('n1'), seen('n2', { host: { ...host, old_binary_version: '3.2.32' } }), seen('n3')],
    [seen('n1', { unreached: ['n2'] }), seen('n2', { unreached: ['n1', 'n3'] }), seen('n3')],
  ];
  const textsOf = (findings: readonly Finding[]): string[] =>
    findings.flatMap(({ message, hint }) => [message, ...(hint === undefined ? [] : [adviceText(hint)])]);
  /** These texts name an upgrade as another case or as the time of another command. */
  const others = ['kv advance', 'while an upgrade is under way', 'does not apply: only the upgrade'];
  const isAbout = (text: string): boolean =>
    /upgrad/.test(text) && !others.some((part) => text.includes(part));
  const accepted = [[], ['all-members-healthy']];
  it.each(['restart', 'downgrade'] as const)('no finding of a %s speaks of an upgrade', (kind) => {
    const [from, to] = kind === 'restart' ? (['3.3', '3.3'] as const) : (['3.6', '3.5'] as const);
    const texts = broken.flatMap((members) =>
      accepted.flatMap((accept) =>
        textsOf(
          findingsOf({
            observation: observed([...members]),
            cluster: clusterFile(members.length),
            options: planOptions({ accept }),
            ...{ from, to, kind },
          }),
        ),
      ),
    );
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter(isAbout)).toEqual([]);
  });
  it('no finding of an operation speaks of an upgrade', () => {
    const texts = broken.flatMap((members) => [
      ...textsOf(healthyClusterFindings(observed([...members]), clusterFile(members.length))),
      ...textsOf(healthyClusterFindings(observed([...members]), clusterFile(1))),
    ]);
    expect(texts.length).toBeGreaterThan(50);
    expect(texts.filter(isAbout)).toEqual([]);
  });
});
