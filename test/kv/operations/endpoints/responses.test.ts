/** What the commands of endpoints read from each member, and what they return for a member that is down. */
import { describe, expect, it } from 'vitest';
import {
  hashedAt,
  propose,
  queryHealth,
  queryStatus,
  queryVersions,
  revisionVerdict,
  revokeTargets,
  statusColumns,
} from '../../../../src/kv/operations/endpoints.ts';
import { openStore, type Store } from '../../../../src/kv/client/etcd-client.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

const scene = (...down: readonly string[]) => {
  const small = smallCluster('restart');
  for (const name of down) small.end(name);
  const endpoints = small.cluster.members.map(({ name, client_url }) => ({
    endpoint: name,
    store: small.access.store(client_url),
  }));
  return { small, endpoints };
};
const refused = expect.stringContaining('refused');

describe('the responses of endpoints', () => {
  it('a member that is down has an error without its address in every table', async () => {
    const { endpoints, small } = scene('n3');
    const row = { endpoint: 'n3', error: 'connection refused' };
    const n3 = endpoints[2] as (typeof endpoints)[number];
    expect((await hashedAt(endpoints, undefined))[2]).toEqual(row);
    expect(await queryStatus(n3)).toEqual(row);
    expect((await queryVersions(endpoints))[2]).toEqual(row);
    expect(await queryHealth(n3)).toEqual({ endpoint: 'n3', health: 'false', reason: 'connection refused' });
    expect(await propose(small.host, n3)).toMatchObject({ endpoint: 'n3', health: false, error: refused });
  });
  it('/version fails only if no member responds, and names each endpoint with its reason', async () => {
    const { endpoints } = scene('n1', 'n2');
    expect((await queryVersions(endpoints)).map(({ error }) => error === undefined)).toEqual([
      ...[false, false, true],
    ]);
    await expect(queryVersions(scene('n1', 'n2', 'n3').endpoints)).rejects.toMatchObject({
      category: 'network',
      message: expect.stringMatching(/n1: .*; n2: .*; n3: /),
    });
  });
  it(
    '/version reports the version of the server and of the cluster',
    covers('spec/store#interfaces-2'),
    async () => {
      const [endpoint] = scene().endpoints;
      expect(await queryVersions(endpoint === undefined ? [] : [endpoint])).toEqual([
        { endpoint: 'n1', kvserver: '3.5.30', kvcluster: '3.5.0' },
      ]);
    },
  );
  it('the hashes are of one revision: the lowest of the newest, or the requested revision', async () => {
    const { small, endpoints } = scene();
    const asked: string[] = [];
    small.state.replyOf = (name, call, body) => {
      if (call === '/maintenance/hashkv') asked.push(`${name} ${body['revision']}`);
      if (call !== '/maintenance/status' || name !== 'n2') return undefined;
      const header = { member_id: '1002', cluster_id: '77', revision: '6', raft_term: '2' };
      return {
        body: { header, version: '3.5.30', leader: '1001', raftIndex: '9', raftTerm: '2', dbSize: '1' },
      };
    };
    expect((await hashedAt(endpoints, undefined)).map((row) => 'revision' in row && row.revision)).toEqual([
      ...[6, 6, 6],
    ]);
    expect(asked).toEqual(['n1 6', 'n2 6', 'n3 6']);
    asked.length = 0;
    await hashedAt(endpoints, 4);
    expect(asked).toEqual(['n1 4', 'n2 4', 'n3 4']);
  });
  it('a member that does not return its version receives no request for a hash', async () => {
    const { endpoints, small } = scene();
    const asked: string[] = [];
    small.state.replyOf = (name, call) => {
      asked.push(`${name} ${call}`);
      return undefined;
    };
    const silent: Store = {
      ...(endpoints[1]?.store as Store),
      versions: () => Promise.reject(new Error('late')),
    };
    const rows = await hashedAt(
      endpoints.map((one) => (one.endpoint === 'n2' ? { ...one, store: silent } : one)),
      undefined,
    );
    expect(rows.map(({ endpoint }) => endpoint)).toEqual(['n1', 'n2', 'n3']);
    expect(rows[1]).toEqual({ endpoint: 'n2', error: 'late' });
    expect(asked.filter((one) => one.startsWith('n2 '))).toEqual([]);
    expect(rows.filter((row) => 'hash' in row)).toHaveLength(2);
  });
  it('only the first request to a member has the short limit', async () => {
    const { small, endpoints } = scene();
    const url = endpoints[0]?.store.connection.endpoint.url as string;
    await openStore(small.host, { url, timeoutMs: 30_000, contactMs: 5000 }).hashKv(0);
    expect(small.host.requests.map((request) => [new URL(request.url).pathname, request.timeoutMs])).toEqual([
      ['/version', 5000],
      [expect.stringContaining('hashkv'), 30_000],
    ]);
  });
  describe('revisions', () => {
    const at = (name: string, revision: number | undefined, cluster_id = '77', is_learner = false) => ({
      endpoint: name,
      store: partlyMade<Store>({
        status: async () => partlyMade({ cluster_id, is_learner }),
        range: async () =>
          revision === undefined ? Promise.reject(new Error('late')) : { kvs: [], revision },
      }),
    });
    const isSame = async (...endpoints: readonly ReturnType<typeof at>[]) =>
      (await revisionVerdict(endpoints)).isSame;
    it('differ only between members of one cluster', async () => {
      expect(await isSame(at('n1', 5), at('n2', 6))).toBe(false);
      expect(await isSame(at('n1', 5), at('n2', 5))).toBe(true);
      expect(await isSame(at('n1', 5), at('n2', 6, '78'))).toBe(true);
    });
    it('that were not read prove no equality, and their endpoint is named', async () => {
      const found = await revisionVerdict([at('n1', 5), at('n2', undefined), at('n3', 5)]);
      expect([found.isSame, found.warning?.includes('n2'), found.warning?.includes('n1')]).toEqual([
        ...[false, true, false],
      ]);
      expect(await isSame(at('n1', undefined))).toBe(true);
    });
    it('are not read from a learner', async () => {
      const learner = at('n3', undefined, '77', true);
      expect(await isSame(at('n1', 5), at('n2', 5), learner)).toBe(true);
      expect(await isSame(at('n1', 5), at('n2', 6), learner)).toBe(false);
    });
  });
  it('without a write since the compaction, the newest revision is hashed, but not instead of a requested one', async () => {
    const { small, endpoints } = scene();
    small.state.replyOf = (_, call, body) =>
      call !== '/maintenance/hashkv' || String(body['revision']) === '0'
        ? undefined
        : {
            status: 400,
            body: { code: 11, error: 'etcdserver: mvcc: required revision has been compacted' },
          };
    const errors = async (asked?: number) =>
      (await hashedAt(endpoints, asked)).filter((row) => 'error' in row).length;
    expect([await errors(), await errors(4)]).toEqual([0, 3]);
  });
  it('one member after the other is hashed, so at most one pauses', async () => {
    const { endpoints } = scene();
    const order: string[] = [];
    const names = ['n1', 'n2', 'n3'];
    const traced = endpoints.map((one, i) => ({
      ...one,
      store: {
        ...one.store,
        hashKv: async (revision: number) => {
          order.push(`${names[i]} begins`);
          const hash = await one.store.hashKv(revision);
          order.push(`${names[i]} ends`);
          return hash;
        },
      } as Store,
    }));
    await hashedAt(traced, 1);
    expect(order).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
  });
  it('the time of a proposal excludes the lookup of the version', async () => {
    const { small, endpoints } = scene();
    small.state.replyOf = (_, call) => {
      if (call === '/kv/range') small.host.advance(1500);
      return undefined;
    };
    const request = small.host.network.request.bind(small.host.network);
    Object.assign(small.host.network, {
      request: async (one: Parameters<typeof request>[0]) => {
        if (one.url.endsWith('/version')) small.host.advance(700);
        return request(one);
      },
    });
    const [first] = endpoints;
    expect(await propose(small.host, first as NonNullable<typeof first>)).toMatchObject({
      health: true,
      took: expect.stringMatching(/^1\.50\ds$/),
    });
  });
  it('a column without a value and an empty list of errors are omitted', () => {
    expect(statusColumns([{ endpoint: 'a', errors: [] }])).not.toContain('errors');
    expect(statusColumns([{ endpoint: 'a', errors: [] }, { errors: ['NOSPACE'] }])).toContain('errors');
    expect(statusColumns([{ endpoint: 'a' }, { endpoint: 'b', is_learner: true }])).toContain('is_learner');
  });
});

describe('the members that may receive a lease revoke', () => {
  const target = (endpoint: string, server: string | undefined, cluster: string) => ({
    ...{ endpoint, target: endpoint },
    store: partlyMade<Store>({
      versions: async () => {
        if (server === undefined) throw new Error('down');
        return { server, cluster };
      },
    }),
  });
  const asked = async (isAuthOn: boolean | undefined, ...targets: ReturnType<typeof target>[]) => {
    const questions: string[] = [];
    const found = await revokeTargets(targets, async (one) => {
      questions.push(one);
      return isAuthOn;
    }).catch((error: unknown) => error);
    return { found, questions };
  };
  it('spec/store#limits-4: a member of the new version is left out while authentication is on or unknown', async () => {
    for (const isAuthOn of [true, undefined])
      expect(await asked(isAuthOn, target('new', '3.5.9', '3.4.0'), target('old', '3.4.9', '3.4.0'))).toEqual(
        { found: ['old'], questions: ['new'] },
      );
  });
  it('every member may receive it if authentication is off, or no version is newer than the cluster', async () => {
    const old = target('old', '3.4.9', '3.4.0');
    expect((await asked(false, target('new', '3.5.9', '3.4.0'), old)).found).toEqual(['new', 'old']);
    expect(await asked(true, target('a', '3.5.0', '3.5.0'), target('down', undefined, ''))).toEqual({
      found: ['a', 'down'],
      questions: [],
    });
  });
  it('a member whose cluster has no version yet counts as newer', async () => {
    expect(
      (await asked(true, target('new', '3.5.9', 'not_decided'), target('old', '3.4.9', '3.4.0'))).found,
    ).toEqual(['old']);
  });
  it('the revoke is refused if only members of the new version respond', async () => {
    expect(
      (await asked(true, target('new', '3.5.9', '3.4.0'), target('down', undefined, ''))).found,
    ).toMatchObject({
      detail: { code: 'MIXED_REVOKE' },
      message: expect.stringContaining('new (3.5.9)'),
    });
  });
});
