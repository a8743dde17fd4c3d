import { describe, expect, it } from 'vitest';
import {
  allMembersHealthy,
  leaderAgreed,
  membersKeepUp,
  laggingFollowers,
  oneCluster,
  quorumSurvives,
  stopProblem,
} from '../../../../src/kv/upgrade/guards/membership.ts';
import {
  authAndLeases,
  checksV2,
  dataAgrees,
  alarmsAreClear,
  noV2Data,
  quota,
  settleOf,
  v2BytesOf,
  v2Settle,
} from '../../../../src/kv/upgrade/guards/store.ts';
import {
  binariesAreRight,
  clocksAgree,
  dataDirectories,
  dbFilePresent,
} from '../../../../src/kv/upgrade/guards/hosts.ts';
import { quotaFor } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { configurationFits } from '../../../../src/kv/upgrade/guards/configuration.ts';
import { diskSpace, memberRoomProblem } from '../../../../src/kv/upgrade/guards/disk-space.ts';
import { type Guard, type GuardInput, hintForHost } from '../../../../src/kv/upgrade/guards/guard.ts';
import { knownVersions, leastVersions, versionPath } from '../../../../src/kv/upgrade/guards/versions.ts';
import {
  modeFindings,
  retentionFindings,
} from '../../../../src/kv/upgrade/configuration/setting-combinations.ts';
import type { ClusterFile, HostFacts, MemberStatus, Observation } from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

type Given = {
  readonly members?: readonly MemberStatus[];
  readonly patch?: Partial<Observation>;
  readonly cluster?: ClusterFile;
  readonly input?: Partial<GuardInput>;
};
const findings = (guard: Guard, { members, patch = {}, cluster = clusterFile(), input = {} }: Given) =>
  guard.findings({
    ...{ observation: observed(members, patch), cluster, options: planOptions(), from: '3.3', to: '3.4' },
    ...input,
  });
/** Returns the result of a guard without its message, for example `fail n2` or `pass`. */
const said = (guard: Guard, given: Given = {}): string[] =>
  findings(guard, given).map(({ level, member }) => (member === undefined ? level : `${level} ${member}`));
const one = (patch: Partial<MemberStatus>): Given => ({
  members: [seen('n1'), seen('n2', patch), seen('n3')],
});
const onHost = (patch: Partial<HostFacts>): Given => one({ host: { ...seen('n2').host, ...patch } });
const words = (guard: Guard, given: Given): string | undefined => findings(guard, given)[0]?.message;
const MiB = 1024 ** 2;

describe('a guard passes at its limit, and fails beyond it', () => {
  it('clocks', () => {
    expect(
      [1000, -1000, 1001, -1001].map((clock_skew_ms) => said(clocksAgree, onHost({ clock_skew_ms }))),
    ).toEqual([...[['pass'], ['pass'], ['warn n2'], ['warn n2']]]);
    expect(words(clocksAgree, onHost({ clock_skew_ms: 2540 }))).toEqual(naming('n2', '2.5 s'));
    const unknown = { ...seen('n2').host };
    expect(said(clocksAgree, one({ host: { ...unknown, clock_skew_ms: undefined as never } }))).toEqual([
      'unknown',
    ]);
    const { host: _, ...blind } = seen('n2');
    expect(said(clocksAgree, { members: [seen('n1'), blind] })).toEqual(['unknown']);
  });
  it('the quota', () => {
    const share = (percent: number) => said(quota, one({ db_size_bytes: percent, quota_bytes: 100 }));
    expect([79, 80, 94, 95].map(share)).toEqual([['pass'], ['warn n2'], ['warn n2'], ['fail n2']]);
    expect(said(quota, one({ quota_bytes: undefined as never }))).toEqual(['unknown n2']);
    expect(said(quota, { members: [seen('n1'), away('n2')] })).toEqual(['unknown']);
  });
  const withFile = {
    name: 'n2',
    client_url: 'x',
    new_command: ['etcd', '--config-file=/etc/n2.yml'],
  } as const;
  const readsFile = { ...clusterFile(), members: [withFile] };
  it('a quota without a limit is compared and named as the servers write it', () => {
    const size = 3 * 1024 ** 3;
    const member = (quota_bytes: number, next: number) => ({
      ...one({
        ...{ db_size_bytes: size, quota_bytes },
        host: { ...seen('n2').host, config: { 'quota-backend-bytes': next } },
      }),
      cluster: readsFile,
    });
    expect(said(quota, member(-1, -1))).toEqual(['pass']);
    expect(said(quota, member(8 * 1024 ** 3, -1))).toEqual(['pass']);
    expect(said(quota, member(-1, size))).toEqual(['fail n2']);
    const { hint } = findings(quota, member(-1, size))[0] ?? {};
    expect(hint).toEqual(naming('quota-backend-bytes', '-1'));
    expect(quotaFor('-1')).toBe(-1);
  });
  it('the quota of the next start, from a file, a flag, a variable or the default', () => {
    const size = 3 * 1024 ** 3;
    const base = { db_size_bytes: size, quota_bytes: 8 * 1024 ** 3 };
    const inFile = (bytes: number) =>
      said(quota, {
        ...one({ ...base, host: { ...seen('n2').host, config: { 'quota-backend-bytes': bytes } } }),
        cluster: readsFile,
      });
    const withCommand = (
      more: Partial<ClusterFile['members'][number]>,
      patch: Partial<MemberStatus> = {},
    ) => {
      const { members, ...others } = clusterFile();
      const changed = members.map((member) => ({ ...member, ...more }));
      return said(quota, { ...one({ ...base, ...patch }), cluster: { ...others, members: changed } });
    };
    const inFlag = (...flags: string[]) => withCommand({ new_command: ['/opt/etcd', '--name=n', ...flags] });
    const name = 'ETCD_QUOTA_BACKEND_BYTES';
    const inVariable = (bytes: number) => withCommand({ env: { [name]: `${bytes}` } });
    const running = (env: Record<string, string>) => ({ host: { ...seen('n2').host, environment: env } });
    const inherited = (bytes: number) => withCommand({}, running({ [name]: `${bytes}` }));
    const quotas = [0.9, 1, 1.1, 2].map((share) => Math.round(size * share));
    const levels = [['fail n2'], ['fail n2'], ['warn n2'], ['pass']];
    expect(quotas.map(inFile)).toEqual(levels);
    expect(quotas.map((bytes) => inFlag(`--quota-backend-bytes=${bytes}`))).toEqual(levels);
    expect(quotas.map(inVariable)).toEqual(levels);
    expect(quotas.map(inherited)).toEqual(levels);
    // The cluster file overrides the variable of the process, and a flag overrides both.
    const large = running({ [name]: `${2 * size}` });
    expect(withCommand({ env: { [name]: `${size}` } }, large)).toEqual(['fail n2']);
    expect(withCommand({ new_command: ['new', `--quota-backend-bytes=${size}`] }, large)).toEqual([
      'fail n2',
    ]);
    expect([inFile(0), inFlag(), inFlag('--quota-backend-bytes=0')]).toEqual(Array(3).fill(['fail n2']));
    expect([inFile(-1), inFlag('--quota-backend-bytes=-1')]).toEqual([['pass'], ['pass']]);
    // A small database fits, but the next start drops the quota.
    const small = { db_size_bytes: 1024 };
    expect(withCommand({ new_command: ['/opt/etcd', '--name=n'] }, small)).toEqual(['warn n2']);
    expect(withCommand({ new_command: ['/opt/start.sh', '--name=n'] }, small)).toEqual(['pass']);
    expect(withCommand({ new_command: ['/opt/etcd', '--quota-backend-bytes=4294967296'] }, small)).toEqual([
      'pass',
    ]);
    const full = { db_size_bytes: 99, quota_bytes: 100 };
    expect(said(quota, one({ ...full, host: { config: { 'quota-backend-bytes': -1 } } }))).toEqual([
      'fail n2',
    ]);
    // The plan does not start a member that already runs the target.
    expect(said(quota, one({ ...base, server_version: '3.4.23' }))).toEqual(['pass']);
    // A script may contain any quota; a database below the default quota fits every usual start.
    const script = { new_command: ['/srv/start.sh'] };
    expect(withCommand(script)).toEqual(['unknown n2']);
    expect(withCommand({ new_command: ['/srv/start.sh', '--name=n'] })).toEqual(['unknown n2']);
    expect(withCommand(script, running({ ETCD_NAME: 'n' }))).toEqual(['unknown n2']);
    expect(withCommand(script, large)).toEqual(['pass']);
    // The image of a container may contain a variable of the process.
    const inContainer = (...flags: string[]) => ({
      new_command: ['docker', 'run', '-d', ...flags, 'img', 'etcd', '--name=n'],
    });
    expect(withCommand(inContainer(), large)).toEqual(['unknown n2']);
    expect(withCommand(inContainer())).toEqual(['fail n2']);
    expect(withCommand(inContainer('-e', `${name}=${2 * size}`), large)).toEqual(['pass']);
    expect(withCommand(script, { db_size_bytes: 1024 ** 3 })).toEqual(['pass']);
  });
  it('the lag of a member', () => {
    const lag = (raft_index: number) =>
      said(membersKeepUp, { members: [seen('n1', { raft_index: 10_000 }), seen('n2', { raft_index })] });
    expect([9000, 8999, 5000, 4999].map(lag)).toEqual([['pass'], ['warn n2'], ['warn n2'], ['fail n2']]);
    expect(
      said(membersKeepUp, { members: [seen('n1', { raft_index: 0 }), seen('n2', { raft_index: 0 })] }),
    ).toEqual(['pass']);
    const leader = seen('n1', { raft_index: 1000 });
    const ready = (patch: Partial<MemberStatus>) => laggingFollowers([leader, seen('n2', patch)], leader);
    expect([ready({ raft_index: 500 }), ready({ raft_index: 499 })]).toEqual([[], ['n2']]);
    expect(ready({ raft_index: 1000, leader_id: '7' })).toEqual(['n2']);
    expect(ready({ raft_index: 0, is_learner: true })).toEqual([]);
    expect(ready({ raft_index: 0, is_reachable: false })).toEqual([]);
    expect(laggingFollowers([leader, seen('n2')], seen('n2', { raft_index: 9e9 }))).toEqual([]);
  });
  it('data of the old interface', () => {
    const MB = 1_000_000;
    expect(
      [50 * MB, 50 * MB + 1, 100 * MB - 1, 100 * MB, 126 * MB].map((bytes) => settleOf(bytes)?.seconds),
    ).toEqual([...[undefined, 120, 120, 240, 360]]);
    expect([v2BytesOf({ members: [] }), v2BytesOf({ members: [], v2: { unknown: 'why' } })]).toEqual([0, 0]);
    expect(said(v2Settle, onHost({ v2_bytes: 50 * MB }))).toEqual(['pass']);
    expect(said(v2Settle, onHost({ v2_bytes: 50 * MB + 1 }))).toEqual(['warn']);
    expect(said(v2Settle, { patch: { v2: { bytes: 60 * MB } } })).toEqual(['warn']);
    expect(said(v2Settle, { patch: { v2: { unknown: 'no' } } })).toEqual(['unknown']);
    expect(words(v2Settle, { patch: { v2: { unknown: 'no' } } })).toEqual(naming('no', '50', '3.3'));
  });
  it('disk space of a member', () => {
    const room = (free_bytes: number, copy_data = false, data_dir_bytes?: number) =>
      said(diskSpace, {
        ...onHost({
          free_bytes,
          db_file_bytes: 10 * MiB,
          ...(data_dir_bytes === undefined ? {} : { data_dir_bytes }),
        }),
        input: { options: planOptions({ copy_data }) },
      });
    expect([84, 83.9, 74, 73.9].map((mib) => room(mib * MiB))).toEqual([
      ['pass'],
      ['warn n2'],
      ['warn n2'],
      ['fail n2'],
    ]);
    expect(room(84 * MiB, true)).toEqual(['warn n2']);
    expect(room(104 * MiB, true, 30 * MiB)).toEqual(['warn n2']);
    expect(room(103 * MiB, true, 30 * MiB)).toEqual(['fail n2']);
    const host = { ...seen('n2').host, free_bytes: 1 };
    const options = planOptions();
    expect(memberRoomProblem('n2', host, options)).toContain('n2 has');
    expect(memberRoomProblem('n2', host, { ...options, accept: ['disk-space'] })).toBeUndefined();
    expect(memberRoomProblem('n2', {}, options)).toBeUndefined();
  });
  it("disk space of the operator's machine", () => {
    const place = (path: string, free_bytes: number, is_writable = true) => ({
      path,
      free_bytes,
      is_writable,
    });
    const members = ['n1', 'n2', 'n3'].map((name) => seen(name, { db_size_bytes: MiB }));
    const at = (snapshots: ReturnType<typeof place>, run: ReturnType<typeof place>, more = members) =>
      said(diskSpace, { members: more, patch: { operator: { snapshots, run } } });
    const run = place('/run', 99 * MiB);
    const together = (mib: number) => at(place('/run/snapshots', mib * MiB), run);
    expect([8, 7.9, 4, 3.9].map(together)).toEqual([['pass'], ['warn'], ['warn'], ['fail']]);
    const apart = (mib: number) => at(place('/backup', mib * MiB), run);
    expect([6, 5.9, 3, 2.9].map(apart)).toEqual([['pass'], ['warn'], ['warn'], ['fail']]);
    expect(at(place('/backup', 99 * MiB), place('/run', 0.9 * MiB))).toEqual(['fail']);
    expect(at(place('/backup', 99 * MiB, false), run)).toEqual(['fail']);
    const done = [seen('n1', { db_size_bytes: MiB, server_version: '3.4.1' }), ...members.slice(1)];
    expect(at(place('/backup', 4 * MiB), run, done)).toEqual(['pass']);
  });
});

describe('members', () => {
  it('stopped members are reported before unhealthy ones, with reasons', () => {
    const given = { members: [seen('n1', { is_healthy: false }), seen('n2'), away('n3')] };
    expect(said(allMembersHealthy, given)).toEqual(['fail n3', 'fail n1']);
    expect(words(allMembersHealthy, { members: [away('n1', { error: undefined as never })] })).toEqual(
      naming('n1', 'respond', 'unknown'),
    );
    expect(
      words(allMembersHealthy, { members: [away('n1', { host: { is_suspended: true, pid: 7 } })] }),
    ).toEqual(naming('n1', '7', 'respond', 'process', 'suspended'));
    expect(
      words(
        allMembersHealthy,
        one({ is_reachable: false, is_healthy: false, error_code: 'TLS', error: 'bad' }),
      ),
    ).toEqual(naming('n2', 'bad'));
    const sick = (patch: Partial<MemberStatus>, more = {}) =>
      words(allMembersHealthy, { ...one({ is_healthy: false, ...patch }), ...more });
    expect(sick({ health_reason: 'r', errors: ['e'] })).toEqual(naming('n2', 'r', 'healthy'));
    expect(sick({ errors: ['e'] })).toEqual(naming('n2', 'e', 'healthy'));
    expect(sick({})).toEqual(naming('n2', '/health', 'healthy'));
    expect(sick({}, { patch: { alarms: [{ member_id: '1002', alarm: 'NOSPACE' }] } })).toContain(
      'alarm NOSPACE',
    );
    expect(said(allMembersHealthy)).toEqual(['pass']);
  });
  it('follow one leader', () => {
    expect(said(leaderAgreed)).toEqual(['pass']);
    expect(words(leaderAgreed, one({ leader_id: '1002' }))).toEqual(naming('members', 'leader'));
    const none = ['n1', 'n2', 'n3'].map((name) =>
      seen(name, { leader_id: undefined as never, is_leader: false, errors: [`${name} lost it`] }),
    );
    expect(words(leaderAgreed, { members: none })).toEqual(naming('n1', 'n1 lost it', 'leader', 'cluster'));
    const auth = { is_on: true, problem: 'wrong password', is_rejected: true } as const;
    expect(words(leaderAgreed, { members: none, patch: { auth } })).toEqual(
      naming('leader', 'wrong password'),
    );
    expect(words(leaderAgreed, { members: none, patch: { auth: { is_on: true } } })).toEqual(
      naming('no leader', 'writes'),
    );
    const other = ['n1', 'n2'].map((name) => seen(name, { leader_id: '9', is_leader: false }));
    const listed = [{ id: '9', name: 'n9', peer_urls: [], client_urls: [], is_learner: false }];
    expect(said(leaderAgreed, { members: other, patch: { listed } })).toEqual(['pass']);
    expect(said(leaderAgreed, { members: other, patch: { listed: [] } })).toEqual(['fail']);
  });
  it('members belong to one cluster, each named once and known', () => {
    expect(said(oneCluster)).toEqual(['pass']);
    expect(said(oneCluster, one({ cluster_id: '78' }))).toEqual(['fail']);
    expect(said(oneCluster, one({ listed_ids: ['1001'] }))).toEqual(['fail']);
    expect(said(oneCluster, one({ member_id: '1001' }))).toContain('fail n2');
    const row = (patch: object) => ({
      id: '9',
      name: 'n9',
      peer_urls: ['http://p'],
      client_urls: [],
      is_learner: false,
      ...patch,
    });
    const with9 = (patch: object, members?: MemberStatus[]) =>
      said(oneCluster, {
        ...(members ? { members } : {}),
        patch: { listed: [...observed().listed, row(patch)] },
      });
    expect([with9({}), with9({ name: '' }), with9({ is_learner: true })]).toEqual([
      ['fail'],
      ['fail'],
      ['fail n9'],
    ]);
    // The member that does not respond is in the list, so the additional member is another one.
    expect(with9({}, [seen('n1'), seen('n2'), away('n3')])).toEqual(['fail']);
    expect(
      said(oneCluster, {
        members: [seen('n1'), seen('n2'), away('n3')],
        patch: { listed: [...observed().listed.slice(0, 2), row({})] },
      }),
    ).toEqual(['unknown']);
    expect(
      said(oneCluster, {
        members: [seen('n1', { member_id: '1002' }), seen('n2', { member_id: '1001' }), seen('n3')],
      }),
    ).toEqual([...['fail n1', 'fail n2']]);
    const cluster = clusterFile();
    const commands = (new_command: string[], old_command = ['/old/etcd', '--name', 'n1']) => ({
      cluster: {
        ...cluster,
        members: cluster.members.map((spec) =>
          spec.name === 'n1' ? { ...spec, new_command, old_command } : spec,
        ),
      },
    });
    expect(said(oneCluster, commands(['/new/etcd', '--name', 'n2']))).toEqual(['fail n1']);
    expect(said(oneCluster, commands(['/new/etcd', '--name', 'n1'], ['/old/etcd', '--name', 'n3']))).toEqual([
      'fail n1',
    ]);
    expect(said(oneCluster, commands(['/new/etcd', '--name', 'elsewhere']))).toEqual(['pass']);
    expect(said(oneCluster, commands(['/new/etcd']))).toEqual(['pass']);
  });
  it('can be stopped one at a time', () => {
    expect(said(quorumSurvives)).toEqual(['pass']);
    expect(said(quorumSurvives, { members: [seen('n1')] })).toEqual(['warn']);
    const two = { members: [seen('n1'), seen('n2')] };
    expect(said(quorumSurvives, two)).toEqual(['fail']);
    const accept = { input: { options: planOptions({ accept: ['quorum-survives'] }) } };
    expect(said(quorumSurvives, { ...two, ...accept })).toEqual(['warn']);
    expect(said(quorumSurvives, { members: [seen('n1'), seen('n2'), away('n3')] })).toEqual(['fail n1']);
    const learner = [seen('n1'), seen('n2'), seen('n3', { is_learner: true })];
    expect(said(quorumSurvives, { members: learner })).toEqual(['fail n1']);
    const repair = { input: { options: planOptions({ accept: ['all-members-healthy'] }) } };
    const down = away('n3', { host: { is_running: false } });
    expect(said(quorumSurvives, { members: [seen('n1'), seen('n2'), down], ...repair })).toEqual(['warn']);
    const ill = seen('n3', { is_healthy: false });
    expect(said(quorumSurvives, { members: [seen('n1'), seen('n2'), ill], ...repair })).toEqual(['warn']);
    // Two unhealthy members of three: stopping the one that runs would leave one.
    const both = [seen('n1'), seen('n2', { is_healthy: false }), down];
    expect(said(quorumSurvives, { members: both, ...repair })).toEqual(['fail n2']);
    expect(said(quorumSurvives, { members: [seen('n1'), down], ...repair })).toEqual(['fail n1']);
    // A member that already runs the target version is not repaired by the upgrade.
    const fresh = seen('n2', { server_version: '3.4.23', is_healthy: false });
    expect(said(quorumSurvives, { members: [seen('n1'), fresh, seen('n3')], ...repair })).toEqual([
      'fail n1',
    ]);
    const five = [seen('n1'), fresh, seen('n3'), seen('n4'), seen('n5')];
    expect(said(quorumSurvives, { members: five, ...repair })).toEqual(['warn n2']);
    const stop = (members: MemberStatus[], patch = {}, accepted = false) =>
      stopProblem(observed(members, patch), 'n1', accepted);
    expect(stop([seen('n1'), seen('n2'), away('n3')])).toBe(
      'without n1 only 1 of 3 voting members would be healthy, 2 are needed (n3 is not)',
    );
    expect(stop([seen('n1'), seen('n2')])).toBe(
      'without n1 only 1 of 2 voting members would be healthy, 2 are needed',
    );
    expect(stop([seen('n1'), seen('n2')], {}, true)).toBeUndefined();
    expect(stop([seen('n1')])).toBeUndefined();
    const stranger = { id: '9', name: 'n9', peer_urls: [], client_urls: [], is_learner: false };
    const listed = observed().listed;
    const three = [seen('n1'), seen('n2'), seen('n3')];
    expect(stop(three, { listed: [...listed, stranger] })).toContain(
      'without n1 only 2 of 4 voting members would be healthy, 3 are needed (1 of them is not in the cluster file)',
    );
    expect(stop(three, { listed: [...listed, { ...stranger, is_learner: true }] })).toBeUndefined();
  });
});

describe('versions', () => {
  const path = (from: string | undefined, to: string | undefined, patch: Given = {}) =>
    findings(versionPath, { ...patch, input: { from, to, ...patch.input } as never }).map(
      ({ level, message }) => `${level} ${message}`,
    )[0];
  it('versions increase by one minor', covers('spec/store#versions-1', 'spec/store#versions-4'), () => {
    expect(path('3.3', '3.4')).toEqual(naming('pass', 'path', 'minor', 'version'));
    expect(path('3.3', '3.5')).toBe('fail 3.3 to 3.5 skips a minor version');
    expect(path('3.3', '3.2')).toEqual(naming('fail', '3.3', '3.2', 'downgrade', 'store'));
    expect(path('3.3', '3.9')).toEqual(naming('fail', '3.9', 'version'));
    expect(path('3.3', undefined)).toEqual(naming('fail', '3.3', 'version'));
    expect(path(undefined, '3.4')).toEqual(naming('fail', 'member', 'version'));
    expect(path('3.3', '3.4', one({ server_version: '3.2.1' }))).toBe(
      'fail n2 runs 3.2.1, neither 3.3 nor 3.4',
    );
    expect(path('3.3', '3.4', { patch: { cluster_version: '3.2.0' } })).toEqual(
      naming('3.2', 'member', 'cluster', 'version'),
    );
    expect(path('3.3', '3.4', { patch: { cluster_version: '3.4.0' } })).toEqual(
      naming('3.4', 'cluster', 'version', 'member'),
    );
    const restart = { kind: 'restart' } as const;
    expect(path('3.3', '3.3', { input: restart })).toContain('pass');
    expect(path('3.3', '3.3', { input: restart, patch: { cluster_version: '3.4.0' } })).toContain(
      'its members run 3.3',
    );
    expect(path('3.3', '3.3', { input: restart, ...one({ downgrade_to: '3.2' }) })).toEqual(
      naming('fail', 'downgrade', '3.2', 'enabled'),
    );
  });
  it('versions of the programs are the expected ones', () => {
    expect(said(binariesAreRight)).toEqual(['pass']);
    expect(said(binariesAreRight, onHost({ new_binary_version: '3.5.1' }))).toEqual(['fail n2']);
    expect(said(binariesAreRight, onHost({ new_binary_version: undefined as never }))).toEqual(['fail n2']);
    expect(said(binariesAreRight, onHost({ new_binary_version: '3.4.40' }))).toEqual(['warn']);
    expect(said(binariesAreRight, onHost({ old_binary_version: undefined as never }))).toEqual(['warn n2']);
    expect(said(binariesAreRight, onHost({ old_binary_version: '3.4.1' }))).toEqual(['fail n2']);
    expect(
      said(binariesAreRight, {
        ...one({ server_version: '3.4.1', host: { ...seen('n2').host, old_binary_version: '3.4.1' } }),
      }),
    ).toEqual(['pass']);
    expect(
      said(binariesAreRight, { ...onHost({ new_binary_version: '3.5.1' }), input: { to: '3.9' } as never }),
    ).toEqual(['warn']);
    const restart = (spec: object) => ({
      input: { kind: 'restart', to: '3.4' } as never,
      cluster: {
        ...clusterFile(),
        members: clusterFile().members.map(({ name, client_url }) => ({ name, client_url, ...spec })),
      },
    });
    expect(said(binariesAreRight, restart({}))).toEqual(['pass']);
    expect(said(binariesAreRight, { ...restart({}), ...onHost({ new_binary_version: '3.9.9' }) })).toEqual([
      'pass',
    ]);
    const unit = { unit: 'etcd', new_binary: '/b', old_binary: '/a' };
    expect(said(binariesAreRight, restart(unit))).toEqual(['fail n1', 'fail n2', 'fail n3']);
    for (const fine of [{ binary_path: '/p' }, { new_binary: '/a' }, { unit: undefined }])
      expect(said(binariesAreRight, restart({ ...unit, ...fine }))).toEqual(['pass']);
  });
  it('versions are looked up in the table, and unknown if they are newer', () => {
    const versions = {
      ...{
        data_of: '2026-01-01',
        minors: [
          { minor: '3.3', latest: '3.3.99' },
          { minor: '3.4', latest: '3.4.45' },
        ],
      },
      rules: [
        { from: '3.4.40', through: '3.4.40', on: 'arrive', level: 'fail' },
        { from: '3.3.20', through: '3.3.25', on: 'leave', level: 'warn', is_final: true },
      ].map((rule) => ({ ...rule, reason: 'r', instead: 'i', source: 's' })),
    } as never;
    const options = planOptions({ versions });
    const table = (guard: Guard, given: Given = {}, input: object = {}) =>
      said(guard, { ...given, input: { options, ...input } as never });
    expect(table(knownVersions)).toEqual(['pass']);
    expect(table(knownVersions, onHost({ new_binary_version: '3.4.40' }))).toEqual(['fail n2']);
    expect(table(knownVersions, onHost({ new_binary_version: '3.4.46' }))).toEqual(['unknown']);
    expect(table(knownVersions, onHost({ new_binary_version: '3.5.99' }))).toEqual(['pass']);
    expect(
      table(
        knownVersions,
        one({ server_version: '3.4.40', host: { ...seen('n2').host, new_binary_version: '3.4.40' } }),
      ),
    ).toEqual(['pass']);
    expect(table(leastVersions)).toEqual(['warn n1', 'warn n2', 'warn n3']);
    expect(table(leastVersions, {}, { kind: 'downgrade' })).toEqual(['pass']);
    expect(table(leastVersions, {}, { from: '3.2' })).toEqual(['pass']);
    expect(table(leastVersions, {}, { from: '3.3', to: '3.3' })).toEqual(['pass']);
  });
});

describe('data', () => {
  const row = (name: string, hash: number, compact_revision = 0, server = '3.4.1') => ({
    name,
    server,
    hash,
    compact_revision,
  });
  const hashes = (...rows: ReturnType<typeof row>[]) => said(dataAgrees, { patch: { hashes: rows } });
  it('data is equal, or the divergent member is named', () => {
    expect(said(dataAgrees)).toEqual(['pass']);
    expect(hashes(row('n1', 1), row('n2', 1))).toEqual(['pass']);
    expect(hashes(row('n1', 1), row('n2', 2), row('n3', 1))).toEqual(['fail n2']);
    expect(hashes(row('n1', 1), row('n2', 2))).toEqual(['fail']);
    expect(hashes(row('n1', 1, 5), row('n2', 2, 5, '3.5.1'))).toEqual(['warn']);
    expect(said(dataAgrees, { patch: { not_hashed: 'why' } })).toEqual(['unknown']);
    expect(hashes(row('n1', 1, 5), row('n2', 1, 7))).toEqual(['unknown']);
    expect(said(dataAgrees, { patch: { revisions_unread: 'why' } })).toEqual(['unknown']);
    const revisions = (...rows: readonly number[]) =>
      rows.map((revision, i) => ({ name: `n${i + 1}`, before: revision, after: revision }));
    const equal = [row('n1', 1), row('n2', 1), row('n3', 1)];
    const at = (...rows: readonly number[]) =>
      said(dataAgrees, { patch: { revisions: revisions(...rows), hashes: equal } });
    expect([at(7, 7, 7), at(7, 9, 7), at(7, 9)]).toEqual([['pass'], ['fail n2'], ['fail']]);
    expect(words(dataAgrees, { patch: { hashes: [row('n1', 1), row('n2', 2), row('n3', 1)] } })).toMatch(
      /^n2 holds different data: /,
    );
  });
  it('data is in the directory of the new version', () => {
    expect([said(dataDirectories), said(dbFilePresent)]).toEqual([['pass'], ['pass']]);
    expect(said(dbFilePresent, onHost({ has_db_file: false }))).toEqual(['fail n2']);
    expect(said(dbFilePresent, onHost({ has_db_file: false, data_dir_exists: false }))).toEqual(['pass']);
    expect(said(dataDirectories, onHost({ data_dir_exists: false }))).toEqual(['fail n2']);
    expect(words(dataDirectories, onHost({ data_dir_exists: false }))).toMatch(
      /^n2: data directory not found: \S*n2/,
    );
    expect(said(dataDirectories, onHost({ data_dir_writable: false }))).toEqual(['fail n2']);
    expect(said(dataDirectories, onHost({ owner_mismatch: 'root' }))).toEqual(['warn n2']);
    expect(said(dataDirectories, onHost({ problems: ['a', 'b'] }))).toEqual(['fail n2', 'fail n2']);
    expect(said(dataDirectories, onHost({ is_running: false }))).toEqual(['fail n2']);
    expect(said(dataDirectories, onHost({ is_running: false, problems: ['a'] }))).toEqual(['fail n2']);
    expect(
      said(dataDirectories, {
        members: [seen('n1'), away('n2', { host: { is_running: false, data_dir_exists: true } })],
      }),
    ).toEqual(['pass']);
    const spec = { name: 'n2', client_url: '', host: 'h2' };
    expect(hintForHost({ is_unreachable: true }, spec, 'x')).toContain('ssh h2 true');
    expect([hintForHost({}, spec, 'x'), hintForHost({ is_unreachable: true }, undefined, 'x')]).toEqual([
      'x',
      'x',
    ]);
  });
  it('v2 data prevents the start of 3.6', () => {
    const way = { from: '3.5', to: '3.6' } as const;
    const v2 = (cluster: ClusterFile, given: Given = {}, input: object = way) =>
      said(noV2Data, { ...given, cluster, input: input as never });
    const local = clusterFile(3, { utl_binary: '/etcdutl' });
    expect(v2(local)).toEqual(['pass']);
    expect(v2(clusterFile())).toEqual(['unknown']);
    expect(v2({ ...local, driver: 'systemd' })).toEqual(['unknown']);
    expect(v2(clusterFile(), {}, { from: '3.4', to: '3.5' })).toEqual(['pass']);
    expect([
      checksV2(local, way),
      checksV2(local, { from: '3.5', to: '3.5' }),
      checksV2(clusterFile(), way),
    ]).toEqual([true, false, false]);
    const on = (spec: object) =>
      v2({
        ...local,
        members: local.members.map((member) => (member.name === 'n2' ? { ...member, ...spec } : member)),
      });
    expect(on({ old_command: ['old', '--enable-v2'] })).toEqual(['fail n2']);
    expect(on({ old_command: ['old', '--enable-v2=false'] })).toEqual(['pass']);
    expect(on({ env: { ETCD_ENABLE_V2: 'true' } })).toEqual(['fail n2']);
    expect(on({ env: { ETCD_ENABLE_V2: 'no' } })).toEqual(['pass']);
    expect(v2(local, onHost({ config: { 'enable-v2': true } }))).toEqual(['fail n2']);
    expect(v2(local, onHost({ config: { 'enable-v2': false } }))).toEqual(['pass']);
  });
});

describe('authentication', () => {
  const user = { user: { name: 'root' } };
  const auth = (is: Observation['auth'], cluster = {}, given: Given = {}, input = {}) =>
    said(authAndLeases, {
      ...given,
      patch: { auth: is, ...given.patch },
      cluster: clusterFile(3, cluster),
      input,
    });
  it('needs a user that can read', () => {
    expect(auth({ is_on: false })).toEqual(['pass']);
    expect(auth({ is_on: undefined })).toEqual(['unknown']);
    expect(auth({ is_on: undefined, problem: 'p' })).toEqual(['unknown']);
    expect(auth({ is_on: true }, user)).toEqual(['warn']);
    expect(auth({ is_on: true })).toEqual(['fail', 'warn']);
    expect(auth({ is_on: true, problem: 'p' }, user)).toEqual(['fail', 'warn']);
    expect(auth({ is_on: true }, { tls: { cert_file: '/c' } })).toEqual(['warn']);
    expect(auth({ is_on: true, problem: 'p' }, { tls: { cert_file: '/c' } })).toEqual(['fail', 'warn']);
  });
  it('warns about tokens only if a member keeps them in its memory', () => {
    const tokens = (command: string[], environment: Record<string, string> = {}) =>
      said(authAndLeases, {
        members: ['n1', 'n2', 'n3'].map((name) => seen(name, { host: { command, environment } })),
        patch: { auth: { is_on: true } },
        cluster: clusterFile(3, user),
      } as never);
    expect(tokens(['etcd'])).toEqual(['warn']);
    expect(tokens(['etcd', '--auth-token', 'simple'])).toEqual(['warn']);
    expect(tokens(['etcd', '--config-file', '/c'])).toEqual(['warn']);
    expect(tokens(['etcd', '--auth-token=jwt,pub-key=/k'])).toEqual(['pass']);
    expect(tokens(['etcd'], { ETCD_AUTH_TOKEN: 'jwt' })).toEqual(['pass']);
  });
  it('authentication with short leases is a risk for old patches of 3.2', () => {
    const old = (server_version: string, shortest?: number, from = '3.2') =>
      auth(
        { is_on: true },
        user,
        {
          ...one({ server_version }),
          patch: shortest === undefined ? {} : { shortest_lease_seconds: shortest },
        },
        { from } as never,
      );
    expect(old('3.2.30')).toEqual(['fail n2', 'warn']);
    expect(old('3.2.31')).toEqual(['warn']);
    expect(old('3.2.30', 299)).toEqual(['fail n2', 'warn']);
    expect(old('3.2.30', 300)).toEqual(['warn']);
    expect(old('3.2.30', 1, '3.3')).toEqual(['warn']);
  });
});

describe('a configuration', () => {
  const fits = (spec: object, host: Partial<HostFacts> = {}, more: Partial<ClusterFile> = {}, to = '3.4') => {
    const cluster = clusterFile(3, more);
    const env = { ETCD_CORS: 'https://c.example:443' };
    const members = cluster.members.map((member) =>
      member.name === 'n2' ? { ...member, env, ...spec } : { ...member, env },
    );
    return said(configurationFits, {
      ...onHost(host),
      cluster: { ...cluster, members },
      input: { to } as never,
    });
  };
  it.each([
    ['3.4.24', ['fail n2']],
    ['3.4.25', ['pass']],
  ])('a flag of a later patch stops the program of the member: %s', (new_binary_version, expected) => {
    const spec = { new_command: ['new', '--tls-min-version=TLS1.2'] };
    expect(fits(spec, { new_binary_version })).toEqual(expected);
  });
  it('a configuration is valid for the new version, or will be rewritten', () => {
    expect(fits({})).toEqual(['pass']);
    expect(fits({}, { config_error: 'broken' })).toEqual(['fail n2']);
    expect(fits({ new_command: ['new', '--debug'] }, {}, {}, '3.5')).toEqual(['fail n2']);
    expect(fits({ env: { ETCD_DEBUG: 'true' } }, {}, {}, '3.5').length).toBeGreaterThan(0);
    const numeric = { config: { 'auto-compaction-retention': 1 } };
    expect(fits({ config_file: '/c' }, numeric, {}, '3.3')).toEqual(['warn n2']);
    expect(fits({}, numeric, {}, '3.3')).toEqual(['fail n2']);
  });
  it('names the data directory that the member has', () => {
    const at = (directory: string, host: Partial<HostFacts> = {}, more: Partial<ClusterFile> = {}) =>
      fits(
        { config_file: '/c' },
        {
          config: { 'data-dir': directory, 'enable-grpc-gateway': true, cors: 'https://c.example:443' },
          ...host,
        },
        more,
      );
    expect(at('/anywhere')).toEqual(['pass']);
    expect(at('n2', { working_directory: '/data' })).toEqual(['pass']);
    expect(at('n2', { working_directory: '/other' })).toEqual(['fail n2']);
    expect(at('n2', { working_directory: '/other', real_data_dir: '/other/n2' })).toEqual(['pass']);
    expect(at('n2')).toEqual(['fail n2']);
    expect(at('n2', {}, { driver: 'docker' })).toEqual(['pass']);
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    expect(at('n2', {}, { driver: 'ssh', ssh: { then: 'systemd' } })).toEqual(['pass']);
    expect(at('n2', {}, { driver: 'ssh' })).toEqual(['fail n2']);
  });
});

describe('a peer URL in the cluster file', () => {
  const listed = [
    { id: '1001', name: 'n1', peer_urls: ['http://h1:2380'], client_urls: [], is_learner: false },
  ];
  it.each([
    ['of the member list', 'http://h1:2380/', 'pass'],
    ['that the member list does not contain', 'http://old:2380', 'warn'],
  ])('%s: %s: %s', (_, peer_url, level) => {
    const cluster = clusterFile(1);
    const input: GuardInput = {
      observation: observed([seen('n1')], { listed }),
      cluster: { ...cluster, members: cluster.members.map((one) => ({ ...one, peer_url })) },
      ...{ options: planOptions(), from: '3.3', to: '3.4' },
    };
    expect(oneCluster.findings(input).map((one) => one.level)).toEqual([level]);
  });
});

describe('an alarm', () => {
  const alarm = (member_id: string, kind = 'NOSPACE', patch: Partial<Observation> = {}) =>
    findings(alarmsAreClear, { patch: { alarms: [{ member_id, alarm: kind }], ...patch } })[0];
  it('an alarm names the member that raised it, and the fix', () => {
    expect(said(alarmsAreClear)).toEqual(['pass']);
    expect(alarm('1002')).toMatchObject({ member: 'n2', message: 'alarm NOSPACE is raised by n2' });
    expect(alarm('1002')?.hint).toRead(/^opsctl kv recover-space/);
    expect(alarm('1002', 'CORRUPT')?.hint).toRead(/^opsctl kv replace-member n2/);
    expect(alarm('0')?.hint).toRead(/^opsctl kv alarm disarm/);
    expect(alarm('0', 'CORRUPT', { listed: [] })).toMatchObject({ member: 'unknown' });
  });
  it('an alarm of a removed member only has to be disarmed', () => {
    expect(alarm('10')).toMatchObject({
      ...{
        member: 'a',
        message: 'alarm NOSPACE of member a is still raised, although a is no longer a member',
      },
      hint: 'opsctl kv alarm disarm --alarm NOSPACE',
    });
    const [first] = observed().listed;
    const listed = [{ ...(first as NonNullable<typeof first>), id: '16', name: 'n9' }];
    expect(alarm('16', 'NOSPACE', { listed })).toMatchObject({ member: 'n9' });
    expect(alarm('16', 'NOSPACE', { listed: [] })).toMatchObject({ member: '10' });
  });
});

it('a shared disk has space for all members together', () => {
  const disk = { disk: 'sda', db_file_bytes: 10 * MiB };
  const members = (free_bytes: number, patch: Partial<HostFacts> = {}) =>
    ['n1', 'n2'].map((name) => seen(name, { host: { ...seen(name).host, ...disk, free_bytes, ...patch } }));
  const shared = (
    free: number,
    patch: Partial<HostFacts> = {},
    copy_data = false,
    operator?: Observation['operator'],
  ) =>
    findings(diskSpace, {
      members: members(free * MiB, patch),
      patch: operator === undefined ? {} : { operator },
      input: { options: planOptions({ copy_data }) },
    }).flatMap(({ level, message }) => (level === 'fail' ? [message] : []));
  // Two copies remain, and one member at a time needs 64 MiB and its database.
  expect(shared(94, { data_dir_bytes: 10 * MiB }, true)).toEqual([]);
  expect(shared(93.9, { data_dir_bytes: 10 * MiB }, true)).toEqual([
    naming('one', 'disk', 'n1', 'n2', 'copy'),
  ]);
  expect(shared(93.9, { data_dir_bytes: 10 * MiB, disk: undefined as never }, true)).toEqual([]);
  const place = (path: string) => ({ path, free_bytes: 99 * MiB, is_writable: true, disk: 'sda' });
  const operator = { snapshots: place('/backup'), run: place('/run') };
  expect(shared(80, {}, false, operator)).toEqual([]);
  expect(shared(74.01, {}, false, operator)).toEqual([naming('one', 'disk', 'snapshots', '/backup')]);
});

describe('the retention of a configuration', () => {
  const levels = (value: unknown, mode: string | undefined, to: '3.3' | '3.5' | '3.6') =>
    retentionFindings(
      { 'auto-compaction-retention': value, ...(mode === undefined ? {} : { 'auto-compaction-mode': mode }) },
      to,
    ).map(({ level }) => level);
  it(
    'a retention without a mode is a warning if the server starts',
    covers('spec/store#measured-configuration-2'),
    () => {
      expect(levels('24', undefined, '3.5')).toEqual(['warn']);
      expect(levels('24h', undefined, '3.5')).toEqual(['fail']);
      expect(levels('24h', undefined, '3.6')).toEqual(['warn']);
      expect(levels('24h', '', '3.6')).toEqual(['warn']);
      for (const none of [undefined, null, '0', '']) expect(levels(none, undefined, '3.5')).toEqual([]);
    },
  );
  it('a retention with a mode is a duration or a number', covers('spec/store#items-2'), () => {
    expect([levels('24h', 'periodic', '3.5'), levels('1000', 'revision', '3.5')]).toEqual([[], []]);
    expect([levels('soon', 'periodic', '3.5'), levels('soon', 'revision', '3.5')]).toEqual([
      ['fail'],
      ['fail'],
    ]);
    expect(levels('24h', 'revision', '3.5')).toEqual(['warn']);
    expect([levels(24, 'periodic', '3.3'), levels([1], 'periodic', '3.3')]).toEqual([['fail'], ['fail']]);
    expect([levels('soon', 'odd', '3.5'), modeFindings({ 'auto-compaction-mode': 'odd' }).length]).toEqual([
      [],
      1,
    ]);
    for (const fine of [undefined, null, '', 'periodic', 'revision', 7])
      expect(modeFindings({ 'auto-compaction-mode': fine })).toEqual([]);
  });
});
