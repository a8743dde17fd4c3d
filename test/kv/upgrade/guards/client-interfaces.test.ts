import { describe, expect, it } from 'vitest';
import type { ClientRequests, ClusterFile, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { connectedTo, connectionsFrom } from '../../../../src/kv/upgrade/cluster/listening-sockets.ts';
import { clientInterfaces } from '../../../../src/kv/upgrade/guards/versions.ts';
import { clientsIn } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { covers } from '../../../support/covers.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';

/** Lines that real members of 3.3.25, 3.4.23 and 3.5.16 print in the same form. */
const page = (...lines: string[]): string => ['etcd_server_has_leader 1', ...lines, ''].join('\n');
const own = 'etcd_debugging_store_reads_total{action="getRecursive"}';

describe('the metrics of a member', () => {
  it.each([
    // The server itself reads recursively at its start.
    { recursive: 1, missing: 0, GET: 0, HEAD: 0, clients: 0 },
    { recursive: 3, missing: 1, GET: 1, HEAD: 1, clients: 0 },
    { recursive: 9, missing: 4, GET: 4, HEAD: 4, clients: 0 },
    // opsctl was interrupted after its HEAD.
    { recursive: 4, missing: 2, GET: 1, HEAD: 2, clients: 0 },
    { recursive: 3, missing: 1, GET: 9, HEAD: 1, clients: 8 },
    // Recursive reads of clients: alone, and between scans of opsctl.
    { recursive: 9, missing: 0, GET: 8, HEAD: 0, clients: 8 },
    { recursive: 502, missing: 0, GET: 500, HEAD: 0, clients: 500 },
    { recursive: 11, missing: 2, GET: 8, HEAD: 2, clients: 6 },
    // Clients send HEAD for existing keys, and for missing keys without a recursive read.
    { recursive: 1, missing: 0, GET: 0, HEAD: 5, clients: 5 },
    { recursive: 0, missing: 5, GET: 5, HEAD: 5, clients: 10 },
  ])('count clients, but not scans of opsctl: $clients of $GET GET, $HEAD HEAD', (one) => {
    const lines = [
      `${own} ${one.recursive}`,
      'etcd_http_failed_total{code="404",method="GET"} 7',
      `etcd_http_failed_total{code="404",method="HEAD"} ${one.missing}`,
      `etcd_http_received_total{method="GET"} ${one.GET}`,
      `etcd_http_received_total{method="HEAD"} ${one.HEAD}`,
    ];
    expect(clientsIn(page(...lines))).toEqual({ v2_requests: one.clients, v2_watchers: 0 });
  });
  it('count requests that write and requests that wait', () => {
    expect(clientsIn(page(`${own} 1`))).toEqual({ v2_requests: 0, v2_watchers: 0 });
    expect(
      clientsIn(
        page(
          `${own} 5`,
          'etcd_http_failed_total{code="404",method="HEAD"} 2',
          'etcd_http_received_total{method="GET"} 2',
          'etcd_http_received_total{method="HEAD"} 2',
          'etcd_http_received_total{method="PUT"} 1',
          'etcd_http_received_total{method="DELETE"} 1e+06',
          'etcd_debugging_store_watchers 3',
        ),
      ),
    ).toEqual({ v2_requests: 1_000_001, v2_watchers: 3 });
  });
  it('count requests by the version of the client, and sum their kinds', () =>
    expect(
      clientsIn(
        page(
          'etcd_server_client_requests_total{client_api_version="3.5",type="unary"} 4',
          'etcd_server_client_requests_total{client_api_version="3.5",type="stream"} 2',
          'etcd_server_client_requests_total{client_api_version="unknown",type="unary"} 7',
        ),
      )?.versions,
    ).toEqual({ '3.5': 6, unknown: 7 }));
  it('are unknown if the page belongs to another program or is empty', () => {
    for (const text of ['', 'ok\n', 'go_goroutines 5\n', '# HELP etcd_server_has_leader x\n'])
      expect(clientsIn(text)).toBeUndefined();
  });
});

describe('connections of clients', () => {
  const table = (...rows: string[]): string => ['  sl  local_address rem_address   st', ...rows].join('\n');
  const host = (tcp: string, tcp6 = '') =>
    fakeHost({ files: { '/proc/7/net/tcp': tcp, '/proc/7/net/tcp6': tcp6 } });
  const url = 'http://10.0.0.1:2379';
  it('connections of other addresses to the client port are counted', () =>
    expect(
      connectedTo(
        host(
          table(
            '   0: 0100000A:094B 0500000A:C001 01 x',
            '   1: 0100000A:094B 0500000A:C002 01 x',
            // A closed connection, another port, the host itself, and a listening socket.
            '   2: 0100000A:094B 0600000A:C002 06 x',
            '   3: 0100000A:094C 0700000A:C002 01 x',
            '   4: 0100000A:094B 0100000A:C002 01 x',
            '   5: 00000000:094B 00000000:0000 0A x',
          ),
          table('   0: 0000000000000000FFFF00000100000A:094B 0000000000000000FFFF00000900000A:C001 01 x'),
        ),
        '/proc/7/net',
        url,
      ),
    ).toEqual({ '10.0.0.5': 2, '10.0.0.9': 1 }));
  it('a table that cannot be read is not an empty table', () => {
    expect(connectedTo(fakeHost({}), '/proc/7/net', url)).toBeUndefined();
    expect(connectedTo(host(table()), '/proc/7/net', url)).toEqual({});
    expect(connectedTo(host(table()), '/proc/7/net', 'not a URL')).toBeUndefined();
  });
  it('an IPv6 address is printed in brackets', () =>
    expect(Object.keys(connectionsFrom([['B80D0120000000000000000001000000', 1]]))).toEqual([
      '[2001:0db8:0000:0000:0000:0000:0000:0001]',
    ]));
});

const clients = (patch: Partial<ClientRequests> = {}): ClientRequests => ({
  v2_requests: 0,
  v2_watchers: 0,
  versions: { '3.3': 1 },
  ...patch,
});
type Case = {
  readonly from?: string;
  readonly to?: string;
  readonly member?: Partial<MemberStatus>;
  readonly cluster?: Partial<ClusterFile>;
  readonly kind?: 'downgrade' | 'restart';
};
const found = ({ member = {}, cluster = {}, kind, ...versions }: Case) =>
  clientInterfaces.findings({
    observation: observed([seen('n1', { clients: clients(), ...member })]),
    cluster: clusterFile(1, cluster),
    options: planOptions(),
    ...({ from: '3.3', to: '3.4', ...versions } as object),
    kind,
  });
const levels = (one: Case): string[] => found(one).map(({ level }) => level);
const v2: Partial<MemberStatus> = { clients: clients({ v2_requests: 2 }) };
const starting = (...words: string[]): Partial<ClusterFile> => ({
  members: [{ ...clusterFile(1).members[0]!, new_command: ['/bin/new', ...words] }],
});
const withVariable = (value: string, ...words: string[]): Partial<ClusterFile> => {
  const members = starting(...words).members?.map((member) => ({
    ...member,
    env: { ETCD_ENABLE_V2: value },
  }));
  return { members: members! };
};

describe('clients before an upgrade', () => {
  it.each([
    ['3.2 to 3.3 keeps the v2 interface', { from: '3.2', to: '3.3', member: v2 }, 'pass'],
    [
      '3.2 to 3.3 keeps every interface, so metrics are not needed',
      { from: '3.2', to: '3.3', member: { clients: undefined as never } },
      'pass',
    ],
    [
      '3.4 to 3.5 needs the metrics',
      { from: '3.4', to: '3.5', member: { clients: undefined as never } },
      'unknown',
    ],
    ['3.3 to 3.4 loses it', { member: v2 }, 'fail'],
    ['3.4 to 3.5 loses it without the setting', { from: '3.4', to: '3.5', member: v2 }, 'fail'],
    ['3.4 keeps it with the flag', { member: v2, cluster: starting('--enable-v2') }, 'warn'],
    ['a flag can switch it off', { member: v2, cluster: starting('--enable-v2=false') }, 'fail'],
    ...['1', 't', 'T', 'TRUE', 'true', 'True'].flatMap((word) => [
      [`a flag can be ${word}`, { member: v2, cluster: starting(`--enable-v2=${word}`) }, 'warn'],
      [`a variable can be ${word}`, { member: v2, cluster: withVariable(word) }, 'warn'],
    ]),
    ...['0', 'F', 'false', ''].map((word) => [
      `the variable "${word}" does not keep it`,
      { member: v2, cluster: withVariable(word) },
      'fail',
    ]),
    [
      'a flag overrides the variable',
      { member: v2, cluster: withVariable('true', '--enable-v2=false') },
      'fail',
    ],
    [
      '3.5 keeps it with the file',
      {
        ...{ from: '3.4', to: '3.5', member: { ...v2, host: { config: { 'enable-v2': true } } } },
        cluster: starting('--config-file=/etc/n2.yml'),
      },
      'warn',
    ],
    [
      'a file without the setting counts, not the flag',
      { member: { ...v2, host: { config: {} } }, cluster: starting('--enable-v2', '--config-file=/c') },
      'fail',
    ],
    [
      'a service keeps the variable of its running server',
      {
        member: { ...v2, host: { command: ['etcd'], environment: { ETCD_ENABLE_V2: 'true' } } },
        cluster: { driver: 'systemd', members: [{ name: 'n1', client_url: '' }] },
      },
      'warn',
    ],
    [
      'no setting brings it back in 3.6',
      { from: '3.5', to: '3.6', member: v2, cluster: starting('--enable-v2') },
      'fail',
    ],
    ['a waiting client is enough', { member: { clients: clients({ v2_watchers: 1 }) } }, 'fail'],
    ['a restart changes no interface', { to: '3.3', kind: 'restart', member: v2 }, 'pass'],
    ['a downgrade adds interfaces', { from: '3.6', to: '3.5', kind: 'downgrade', member: v2 }, 'pass'],
  ] as [string, Case, string][])('%s', (_, one, level) => expect(levels(one)).toEqual([level]));
  it('requests of the gateway are unknown only if the next version drops a path', () => {
    const gateway: Partial<MemberStatus> = { clients: clients({ versions: { '3.3': 4, unknown: 1 } }) };
    const uncounted: Partial<MemberStatus> = { clients: { v2_requests: 0, v2_watchers: 0 } };
    for (const member of [gateway, uncounted]) expect(levels({ member })).toEqual(['unknown']);
    const [{ message = '' } = {}] = found({ member: uncounted });
    expect(message).toMatch(/clients of n1 .*\/v3alpha.*requests of opsctl/);
    // A member counts the requests of opsctl too, so the finding must not state that clients sent some.
    expect(message).not.toMatch(/received|clients sent/);
    for (const [from, to] of [
      ['3.2', '3.3'],
      ['3.4', '3.5'],
      ['3.5', '3.6'],
    ])
      expect(levels({ from: from!, to: to!, member: gateway })).toEqual(['pass']);
  });
  it('metrics that cannot be read are unknown, never a pass', covers('guard/client-interfaces'), () => {
    expect(levels({ member: { clients: undefined as never } })).toEqual(['unknown']);
    const unread = found({ from: undefined as never, to: '3.3', member: { clients: undefined as never } });
    expect(unread.map(({ level }) => level)).toEqual(['unknown']);
    const observation = observed([seen('n1'), away('n2')]);
    const input = { observation, cluster: clusterFile(2), options: planOptions() };
    expect(clientInterfaces.findings({ ...input, from: '3.3', to: '3.4' }).map(({ level }) => level)).toEqual(
      ['unknown'],
    );
  });
  it('a finding names requests, waiting clients and their addresses, the busiest first', () => {
    const connected = Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`10.0.0.${n}`, n]));
    const member = { clients: clients({ v2_requests: 1, v2_watchers: 2 }), host: { connected } };
    const [{ message = '' } = {}] = found({ member });
    expect(message).toMatch(
      /1 request .* 2 requests wait .*any API.*opsctl.*10\.0\.0\.6 \(6 connections\), .*10\.0\.0\.2 .* 1 more$/,
    );
    expect(message).not.toContain('10.0.0.1 ');
  });
  it.each([
    [{ v2_watchers: 1 }, /^n1: 1 request waits for changes through the v2 API now; 3\.4 /],
    [{ v2_watchers: 2 }, /^n1: 2 requests wait for changes through the v2 API now; 3\.4 /],
    [{ v2_requests: 2 }, /^n1: clients sent 2 requests through the v2 API since its start; 3\.4 /],
  ])('a finding about %j names only counts above zero', (counts, said) => {
    const [{ message = '' } = {}] = found({ member: { clients: clients(counts) } });
    expect(message).toMatch(said);
  });
  it('a pass lists the versions of the clients', () =>
    expect(found({ member: { clients: clients({ versions: { '3.10': 1, '3.5': 2 } }) } })[0]).toMatchObject({
      level: 'pass',
      message: expect.stringContaining('3.5 (2 requests), 3.10 (1 request)'),
    }));
});
