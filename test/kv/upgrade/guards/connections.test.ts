/** Guards for connections and certificates, with their input. */
import { describe, expect, it } from 'vitest';
import { accessWith } from '../../../../src/kv/engine/access.ts';
import type {
  CertificateStatus,
  Finding,
  MemberStatus,
  Observation,
} from '../../../../src/kv/engine/model.ts';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import {
  certificateFiles,
  certificateIn,
  seeCertificates,
  seeUnreached,
} from '../../../../src/kv/upgrade/observe/see-connections.ts';
import { linksInLog } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { goInText } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { makeAuthority } from '../../../support/certificates.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile, idOf, observed, planOptions, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { covers } from '../../../support/covers.ts';
import { partlyMade } from '../../../support/context.ts';

const findings = (
  guard: string,
  members: readonly MemberStatus[],
  patch: Partial<Observation> = {},
  accept: readonly string[] = [],
  cluster = clusterFile(members.length),
): Finding[] =>
  findingsOf({
    observation: observed(members, patch),
    cluster,
    options: planOptions({ accept }),
    from: '3.3',
    to: '3.4',
  }).filter((one) => one.guard === guard);
const at = '2026-01-01T00:00:00.000Z';
const inHours = (hours: number): string => new Date(Date.parse(at) + hours * 3_600_000).toISOString();
const certificate = (patch: Partial<CertificateStatus> = {}): CertificateStatus => ({
  ...{ role: 'peer', source: 'https://n1:2380', subject: 'CN=n1', not_after: inHours(5000), has_names: true },
  ...patch,
});
const with2 = (patch: Partial<MemberStatus>): MemberStatus[] => [seen('n1'), seen('n2', patch), seen('n3')];

describe('peer-links', () => {
  it(
    'fails for each member that does not reach another, and passes otherwise',
    covers('guard/peer-links'),
    () => {
      expect(findings('peer-links', with2({}))).toMatchObject([{ level: 'pass' }]);
      expect(findings('peer-links', with2({ unreached: ['n1', 'n3'] }))).toMatchObject([
        { level: 'fail', member: 'n2', message: expect.stringContaining('n1, n3') },
      ]);
      expect(findings('peer-links', with2({ unreached: ['n1'] }), {}, ['peer-links'])).toMatchObject([
        { level: 'warn' },
      ]);
    },
  );
  it('peer-links is unknown without metrics and logs', () => {
    const { unreached: _, ...blind } = seen('n2');
    expect(findings('peer-links', [seen('n1'), blind, seen('n3')])).toMatchObject([{ level: 'unknown' }]);
  });
  it('reads the metrics of every member, in both directions', async () => {
    const small = smallCluster();
    Object.assign(small.members('n2'), { reachesNot: ['n1', 'n3'] });
    Object.assign(small.members('n3'), { reachesNot: ['n2'] });
    const { members } = await small.observation();
    expect(members.map(({ unreached }) => unreached)).toEqual([[], ['n1', 'n3'], ['n2']]);
  });
  it.each([
    ['is no finding if it exists after some seconds', 3, [[], []]],
    ['is a finding if it is still missing after 5 seconds', 1000, [['n2'], []]],
  ])('a connection that is missing at first %s', async (_, reads, wanted) => {
    const host = fakeHost({ reply: () => ({ status: 404 }) });
    const hex = Number(idOf('n2')).toString(16);
    const error = `2026 W | rafthttp: health check for peer ${hex} could not connect: connection refused`;
    let count = 0;
    const logTail = async ({ name }: { name: string }) => {
      if (name !== 'n1') return [`2026 I | rafthttp: peer ${Number(idOf('n1')).toString(16)} became active`];
      count += 1;
      const inactive = [`2026 I | rafthttp: peer ${hex} became inactive`, error];
      return count > reads ? [...inactive, `2026 I | rafthttp: peer ${hex} became active`] : inactive;
    };
    const looking = {
      ...{ host, cluster: clusterFile(), access: accessWith(host, undefined, undefined) },
      driver: partlyMade<Driver>({ logTail }),
    };
    const bare = ['n1', 'n2'].map((name) => {
      const { unreached: _, ...member } = seen(name);
      return member;
    });
    const began = host.elapsed();
    const found = await seeUnreached(looking, bare);
    expect(found.map(({ unreached }) => unreached)).toEqual(wanted);
    expect(host.elapsed() - began).toBe(reads === 3 ? 750 : 5000);
  });
  /**
   * Members of a version without connection metrics, whose logs contain only responses to health requests. `opened`: the number
   * of peers to which each member has streams that it opened.
   */
  const heartbeats = async (
    opened: Readonly<Record<string, number>>,
    {
      log = ['2026 I | /health OK'],
      lateUntilMs = 0,
      late = 0,
      pausedUntilMs = 0,
      replyMs = 0,
      firstMs = 0,
      /** The members have received other messages, but no heartbeat yet. */
      isFresh = false,
    } = {},
  ) => {
    const names = Object.keys(opened);
    const cluster = clusterFile(names.length);
    const host = fakeHost({
      reply: async ({ url }) => {
        // The member counts when the request arrives, and its response is late.
        const countedAt = host.elapsed();
        const lateMs = countedAt === 0 ? Math.max(firstMs, replyMs) : replyMs;
        if (lateMs > 0 && url.startsWith(cluster.members[0]?.client_url ?? '')) await host.sleep(lateMs);
        const name = cluster.members.find(({ client_url }) => url.startsWith(client_url))?.name;
        const isLate = countedAt > 0 && countedAt < lateUntilMs;
        // A server that is paused again and again loses each fourth heartbeat.
        const lost = Math.floor(Math.min(countedAt, pausedUntilMs) / 4);
        const all = Math.floor(((countedAt - lost) * 3) / 5000) * 2 * (opened[name ?? ''] ?? 0);
        // `late` of each stream is late at every sample after the first.
        const streams = 2 * (opened[name ?? ''] ?? 0);
        const beats = isLate ? all - 3 : countedAt > 0 ? all - late * streams : all;
        const line = (from: string, bytes: number) =>
          `etcd_network_peer_received_bytes_total{From="${from}"} ${bytes}\n`;
        if (isFresh) return { body: line('a1', 512) + (beats === 0 ? '' : line('0', beats * 28)) };
        return { body: line('0', 4368 + beats * 28) };
      },
    });
    const driver = partlyMade<Driver>({ logTail: async () => log });
    const looking = { host, cluster, access: accessWith(host, undefined, undefined), driver };
    const bare = cluster.members.map(({ name, client_url }) => {
      const { unreached: _, ...member } = seen(name);
      return { ...member, client_url };
    });
    return { found: await seeUnreached(looking, bare), ms: host.elapsed() };
  };
  it.each([
    ['opened connections to all others', { n1: 2, n2: 2, n3: 2 }, [[], [], []]],
    ['opened no connection', { n1: 2, n2: 0, n3: 2 }, [[], ['among', 'n1', 'n3'], []]],
    ['opened one of two', { n1: 1, n2: 2, n3: 2 }, [['among', 'n2', 'n3'], [], []]],
    ['opened its only connection', { n1: 1, n2: 0 }, [[], ['n1']]],
    [
      'opened three of four',
      { n1: 4, n2: 3, n3: 4, n4: 4, n5: 4 },
      [[], ['among', 'n1', 'n3', 'n4', 'n5'], [], [], []],
    ],
  ])('counts the heartbeats on the streams of a member that %s', async (_, opened, wanted) => {
    const { found, ms } = await heartbeats(opened);
    expect(
      found.map(({ unreached, unreached_among: among }) =>
        among === undefined ? unreached : ['among', ...among],
      ),
    ).toEqual(wanted);
    // A missing heartbeat may be late, so a missing connection is a finding only after three windows.
    expect(ms).toBeLessThan(wanted.flat().length === 0 ? 6000 : 16_000);
    const failed = findings('peer-links', found).filter(({ level }) => level === 'fail');
    expect(failed.map(({ member }) => member)).toEqual(
      found.filter((_member, at) => (wanted[at]?.length ?? 0) > 0).map(({ name }) => name),
    );
  });
  it('waits for the first heartbeats of members that have just started', async () => {
    const { found } = await heartbeats({ n1: 2, n2: 2, n3: 2 }, { isFresh: true });
    expect(found.map(({ unreached }) => unreached)).toEqual([[], [], []]);
  });
  it.each([
    ['a second time if heartbeats are late on a busy machine', 2, 6000, [[], [], []], 11_000],
    ['twelve times at most if a stream opens and closes', 1.5, 0, [undefined, [], []], 61_000],
  ])('samples the heartbeats %s', async (_, n1, lateUntilMs, wanted, mostMs) => {
    const { found, ms } = await heartbeats({ n1, n2: 2, n3: 2 }, { lateUntilMs });
    expect(found.map(({ unreached }) => unreached)).toEqual(wanted);
    expect(ms).toBeLessThan(mostMs);
  });
  it.each([4, 5, 7])(
    'one late heartbeat of each stream is no missing connection of %i members',
    async (count) => {
      const opened = Object.fromEntries(clusterFile(count).members.map(({ name }) => [name, count - 1]));
      const { found } = await heartbeats(opened, { late: 1 });
      expect(findings('peer-links', found).filter(({ level }) => level === 'fail')).toEqual([]);
    },
  );
  const missingOf = ({ unreached, unreached_among: among }: MemberStatus) => among ?? unreached;
  it('a server that loses heartbeats for 20 s has no missing connection if a later window shows all', async () => {
    const { found, ms } = await heartbeats({ n1: 2, n2: 2, n3: 2 }, { pausedUntilMs: 20_000 });
    expect(found.map(missingOf)).toEqual([[], [], []]);
    expect(ms).toBeLessThan(31_000);
  });
  it.each([
    ['passes', 2, []],
    ['fails', 1, ['n2', 'n3']],
  ])('responses that need two seconds do not change the result: it %s', async (_, n1, wanted) => {
    const { found } = await heartbeats({ n1, n2: 2, n3: 2 }, { replyMs: 2000 });
    expect(found.map(missingOf)).toEqual([wanted, [], []]);
  });
  it.each([
    [5, 'each stream sends two heartbeats more', { late: -2 }],
    [7, 'each stream sends two heartbeats more', { late: -2 }],
    [5, 'the first response is five seconds late', { firstMs: 5000 }],
  ])('a missing connection of %i members is a finding if %s', async (count, _, busy) => {
    const all = clusterFile(count).members.map(({ name }) => [name, count - 1]);
    const { found } = await heartbeats(Object.fromEntries([...all, ['n1', count - 2]]), busy);
    expect(missingOf(found[0] as MemberStatus)).toHaveLength(count - 1);
  });
  it('a log without a line about the peers is unknown, not a pass', async () => {
    const host = fakeHost({ reply: () => ({ status: 404 }) });
    const driver = partlyMade<Driver>({
      logTail: async ({ name }: { name: string }) =>
        name === 'n1'
          ? [`2026 I | rafthttp: peer ${Number(idOf('n2')).toString(16)} became active`]
          : ['2026 I | /health OK'],
    });
    const looking = { host, cluster: clusterFile(), access: accessWith(host, undefined, undefined), driver };
    const bare = ['n1', 'n2', 'n3'].map((name) => {
      const { unreached: _, ...member } = seen(name);
      return member;
    });
    const found = await seeUnreached(looking, bare);
    expect(found.map(({ unreached }) => unreached)).toEqual([undefined, undefined, undefined]);
  });
  it('reads the log of a version that does not count its connections', async () => {
    const host = fakeHost({ reply: () => ({ status: 404 }) });
    const hex = (name: string): string => Number(idOf(name)).toString(16);
    const error = `2026 W | rafthttp: health check for peer ${hex('n3')} could not connect: x509: no SANs`;
    const driver = partlyMade<Driver>({
      logTail: async ({ name }: { name: string }) =>
        name === 'n1' ? [`2026 I | rafthttp: peer ${hex('n2')} became active`, error, error, error] : [],
    });
    const looking = { host, cluster: clusterFile(), access: accessWith(host, undefined, undefined), driver };
    const bare = ['n1', 'n2'].map((name) => {
      const { unreached: _, ...member } = seen(name);
      return member;
    });
    const found = await seeUnreached(looking, [...bare, seen('n3')]);
    expect(found.map(({ unreached }) => unreached)).toEqual([['n3'], undefined, []]);
    expect([...linksInLog([error, error, error, `peer ${hex('n3')} became active`])]).toEqual([
      [hex('n3'), true],
    ]);
  });
});

describe('certificates', () => {
  it.each([
    [24 * 31, []],
    [24 * 29, ['warn']],
    [22, ['warn']],
    [6, ['fail']],
    [-1, ['fail']],
  ])('certificates that expire in %i hours: %j', covers('guard/certificates'), (hours, levels) => {
    for (const role of ['server', 'peer', 'client'] as const) {
      const found = findings(
        'certificates',
        with2({ certificates: [certificate({ role, not_after: inHours(hours) })] }),
        {
          taken_at: at,
        },
      );
      expect(found.map(({ level }) => level)).toEqual(levels.length === 0 ? ['pass'] : levels);
    }
    const own = {
      taken_at: at,
      client_certificate: certificate({ role: 'client', not_after: inHours(hours) }),
    };
    expect(findings('certificates', with2({}), own).map(({ level }) => level)).toEqual(
      levels.length === 0 ? ['pass'] : levels,
    );
  });
  it.each([
    ['peer', '1.15', 'fail'],
    ['peer', '1.22.11', 'fail'],
    ['server', '1.19.8', 'warn'],
    ['peer', '1.14.9', 'pass'],
    ['peer', undefined, 'pass'],
    ['client', '1.19.8', 'pass'],
  ] as const)(
    'certificates without names, of a %s, and a new binary of Go %s: %s',
    (role, new_binary_go, level) => {
      const host = { ...seen('n2').host, ...(new_binary_go === undefined ? {} : { new_binary_go }) };
      const certificates = [
        certificate({ role, has_names: false }),
        certificate({ role, has_names: false, source: '/file' }),
      ];
      expect(
        findings('certificates', with2({ host, certificates }), { taken_at: at }).map((one) => one.level),
      ).toEqual([level]);
    },
  );
  it.each([
    ['with client-cert-auth', ['--peer-client-cert-auth'], [{ is_server_only: true }], 'fail'],
    [
      'with a trusted CA, which 3.4 verifies',
      ['--peer-trusted-ca-file=/ca'],
      [{ is_server_only: true }],
      'fail',
    ],
    ['without client-cert-auth', [], [{ is_server_only: true }], 'pass'],
    [
      'with a generated certificate, which replaces client-cert-auth',
      ['--peer-auto-tls', '--peer-client-cert-auth', '--peer-trusted-ca-file=/ca'],
      [{ is_server_only: true }],
      'pass',
    ],
    [
      'with auto-tls and an own certificate',
      ['--peer-auto-tls', '--peer-client-cert-auth', '--peer-cert-file=/c'],
      [{ is_server_only: true }],
      'fail',
    ],
    [
      'with auto-tls only for clients',
      ['--auto-tls', '--peer-client-cert-auth'],
      [{ is_server_only: true }],
      'fail',
    ],
    ['for clients too', ['--peer-client-cert-auth'], [{}], 'pass'],
    ['and a second one for clients', ['--peer-client-cert-auth'], [{ is_server_only: true }, {}], 'pass'],
  ] as const)('a peer certificate only for servers, %s: %j', (_, words, patches, level) => {
    const certificates = patches.map((patch) => certificate(patch));
    const members = with2({ certificates });
    const base = clusterFile(3);
    const cluster = {
      ...base,
      members: base.members.map((one) => ({ ...one, new_command: ['etcd', ...words] })),
    };
    const found = findings('certificates', members, { taken_at: at }, [], cluster);
    expect(found.map((one) => [one.level, one.member])).toEqual([
      [level, level === 'fail' ? 'n2' : undefined],
    ]);
  });
  it('unread certificates are unknown', () => {
    const members = with2({ client_url: 'https://n2:2379' });
    expect(findings('certificates', members, { taken_at: at })).toMatchObject([
      { level: 'unknown', member: 'n2' },
    ]);
  });
  it('come from the handshake with both ports and from the files of the next start', async () => {
    const made = makeAuthority();
    const named = made.issue({ common: 'n1', hosts: ['n1'], uses: ['server'] }).cert;
    const bare = made.issue({ common: 'n1', uses: ['server'] }).cert;
    const host = fakeHost({ probe: (url) => ({ certificate: url.includes('2380') ? bare : named }) });
    const driver = {
      readFile: async (_: unknown, path: string) => (path === '/pki/s.pem' ? named : undefined),
    } as Driver;
    const spec = {
      name: 'n1',
      client_url: 'https://n1:2379',
      peer_url: 'https://n1:2380',
      old_command: ['etcd'],
    };
    const looking = {
      host,
      cluster: { name: 'c', members: [spec] },
      access: accessWith(host, undefined, undefined),
      driver,
    };
    const command = ['etcd', '--cert-file', '/pki/s.pem', '--peer-cert-file=/pki/gone.pem'];
    const [member] = await seeCertificates(looking, [
      seen('n1', { client_url: spec.client_url, host: { ...seen('n1').host, command } }),
    ]);
    expect(member?.certificates?.map(({ role, source, has_names }) => [role, source, has_names])).toEqual([
      ['server', 'https://n1:2379', true],
      ['peer', 'https://n1:2380', false],
      ['server', '/pki/s.pem', true],
    ]);
    const isServerOnly = (...uses: ('server' | 'client')[]): boolean | undefined =>
      certificateIn('peer', 'x', made.issue(uses.length === 0 ? {} : { uses }).cert)?.is_server_only;
    expect([isServerOnly('server'), isServerOnly('server', 'client')]).toEqual([true, undefined]);
    expect(certificateIn('peer', 'x', 'no certificate')).toBeUndefined();
    const config = { 'peer-transport-security': { 'cert-file': '/a.pem' } };
    const env = { ETCD_CERT_FILE: '/b.pem' };
    expect(certificateFiles({ ...spec, env }, {})).toEqual([['server', '/b.pem']]);
    // With a configuration file, the servers ignore flags and variables.
    const withFile = [...command, '--config-file=/c.yml'];
    expect(certificateFiles(spec, { host: { command: withFile, config } })).toEqual([['peer', '/a.pem']]);
    expect(certificateFiles(spec, { host: { command, environment: {}, config } })).toEqual(
      certificateFiles(spec, { host: { command } }),
    );
    // A command or an environment that was not read may name the file.
    for (const host of [{ command, config }, { environment: {}, config }, { config }])
      expect(certificateFiles(spec, { host })).toEqual([['peer', '/a.pem']]);
  });
});

it('the Go release is read from what a program prints about itself', () => {
  expect(goInText('etcd Version: 3.4.23\nGit SHA: x\nGo Version: go1.19.8\nGo OS/Arch: linux/amd64')).toBe(
    '1.19.8',
  );
  expect(goInText('etcd Version: 3.4.23 Git SHA: x Go Version: go1.15 Go OS')).toBe('1.15');
  expect(goInText('etcd Version: 3.2.32')).toBeUndefined();
});
