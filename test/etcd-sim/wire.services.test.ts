import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestCluster, type TestMember, b64, testCluster } from './members.ts';
import { clientsIn } from '../../src/kv/upgrade/observe/see-member.ts';
import { covers } from '../support/covers.ts';

/** Bodies of real servers (spec/store#measured-versions and spec/store#measured-answers), as literals. */
describe.each([
  { version: '3.2.32', prefix: '/v3alpha', health: '{"health": "true"}' },
  { version: '3.3.27', prefix: '/v3beta', health: '{"health":"true"}' },
  { version: '3.4.23', prefix: '/v3', health: '{"health":"true"}' },
  { version: '3.5.16', prefix: '/v3', health: '{"health":"true","reason":""}' },
])('a member of $version', ({ version, prefix, health }) => {
  let cluster: TestCluster;
  let member: TestMember;
  const minor = version.slice(0, 3);
  beforeAll(async () => {
    cluster = await testCluster([version]);
    member = cluster.member('n1');
  });
  const post = (path: string, body: unknown = {}) => member.post(`${prefix}${path}`, body);

  it(
    'a member returns the exact body of /health',
    covers('spec/store#items-6', 'spec/store#measured-versions-1'),
    async () => {
      const answer = await member.get('/health');
      expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
        200,
        health,
        'text/plain; charset=utf-8',
      ]);
    },
  );
  it(
    'a member returns server and cluster version in string fields',
    covers('spec/store#items-6'),
    async () => {
      expect((await member.get('/version')).text).toBe(`{"kvserver":"${version}","kvcluster":"${minor}.0"}`);
    },
  );
  it('a member reports that it is a rehearsal', async () => {
    expect((await member.get('/')).text).toContain('not a database');
    expect((await member.get('/health')).headers.get('x-simulated')).toBe('a rehearsal, not a database');
    expect(member.log.join('\n')).toContain('a rehearsal, not a database');
  });
  it('puts, and every number of 64 bits is text', covers('spec/store#measured-answers-2'), async () => {
    const before = Number((await post('/kv/range', { key: b64('a') })).json.header.revision);
    const { status, json } = await post('/kv/put', { key: b64('a'), value: b64('1') });
    expect(status).toBe(200);
    expect(json).toEqual({
      header: {
        cluster_id: expect.stringMatching(/^\d+$/),
        member_id: BigInt(`0x${member.id}`).toString(),
        revision: String(before + 1),
        raft_term: expect.stringMatching(/^\d+$/),
      },
    });
  });
  it(
    'reads what was put; a missing key has neither kvs nor count',
    covers('spec/store#measured-versions-4'),
    async () => {
      await post('/kv/put', { key: b64('read'), value: b64('x') });
      const { kvs, count } = (await post('/kv/range', { key: b64('read') })).json;
      expect([kvs[0].key, kvs[0].value, kvs[0].version, count]).toEqual([b64('read'), b64('x'), '1', '1']);
      expect(Object.keys((await post('/kv/range', { key: b64('none') })).json)).toEqual(['header']);
    },
  );
  it('a request larger than its transport takes is refused before it is read, with the code of the transport', async () => {
    const most = 2 * (1.5 + 0.5) * 1024 * 1024;
    const padded = (bytes: number): string => `{"key":"${b64('big')}"}`.padEnd(bytes);
    const asked = async (body: string) =>
      (await fetch(`${member.url}${prefix}/kv/range`, { method: 'POST', body })).text();
    expect(await asked(padded(most))).toContain('"header"');
    expect(await asked(padded(most + 1))).toContain('larger than max');
  });
  it('an invalid JSON message of a peer is 400', async () => {
    const reply = await fetch(`${member.peerUrl}/raft`, { method: 'POST', body: '{' });
    expect([reply.status, await reply.text()]).toEqual([400, 'the body is not JSON\n']);
  });
  it.each([
    [
      'text that is not base64',
      '/kv/put',
      { key: '!!', value: 'YQ==' },
      400,
      3,
      'illegal base64 data at input byte 0',
    ],
    ['a put without a key', '/kv/put', { value: 'YQ==' }, 400, 3, 'etcdserver: key is not provided'],
    ['a range without a key', '/kv/range', {}, 400, 3, 'etcdserver: key is not provided'],
    [
      'a revision that is to come',
      '/kv/range',
      { key: b64('a'), revision: '9999' },
      400,
      11,
      'etcdserver: mvcc: required revision is a future revision',
    ],
    [
      'a lease that is none',
      '/kv/lease/revoke',
      { ID: '7' },
      404,
      5,
      'etcdserver: requested lease not found',
    ],
    [
      'a put on a lease that is none',
      '/kv/put',
      { key: b64('a'), value: '', lease: 7 },
      404,
      5,
      'etcdserver: requested lease not found',
    ],
    [
      'a token where auth is off',
      '/auth/authenticate',
      { name: 'root', password: 'x' },
      minor === '3.5' ? 400 : 412,
      9,
      'etcdserver: authentication is not enabled',
    ],
    [
      'text that is not JSON',
      '/kv/put',
      'nonsense',
      400,
      3,
      "invalid character 'n' looking for beginning of value",
    ],
  ])(
    'refuses %s',
    covers('spec/store#measured-versions-4', 'spec/store#measured-answers-2'),
    async (_, path, body, status, code, message) => {
      const answer = await post(path, body);
      expect(answer.status).toBe(status);
      if (minor === '3.2' || minor === '3.3')
        expect(answer.text).toBe(JSON.stringify({ error: message, code }));
      else if (minor === '3.4') expect(answer.text).toBe(JSON.stringify({ error: message, message, code }));
      else expect(answer.text).toBe(`{"code":${code}, "message":${JSON.stringify(message)}}`);
    },
  );
  it('a member ignores unknown fields and accepts both spellings', async () => {
    expect((await post('/kv/put', { key: b64('u'), value: b64('1'), unheard_of: true })).status).toBe(200);
    const { json } = await post('/kv/range', { key: b64('a'), rangeEnd: b64('z'), countOnly: true });
    expect(Number(json.count)).toBeGreaterThan(0);
    expect(json.kvs).toBeUndefined();
  });
  it(
    'a member accepts requests up to 1.5 MiB and reports the limit; the transport ends at 2 MiB',
    covers(
      'spec/store#items-3',
      'spec/store#errors-1',
      'spec/store#limits-1',
      'spec/store#measured-answers-2',
    ),
    async () => {
      const value = (bytes: number): string => Buffer.alloc(bytes, 1).toString('base64');
      expect((await post('/kv/put', { key: b64('big'), value: value(1_500_000) })).status).toBe(200);
      const tooLarge = await post('/kv/put', { key: b64('big'), value: value(1.5 * 1024 * 1024) });
      expect([tooLarge.status, tooLarge.text]).toEqual([
        400,
        expect.stringContaining('etcdserver: request is too large'),
      ]);
      const farTooLarge = await post('/kv/put', { key: b64('big'), value: value(2_100_000) });
      expect([farTooLarge.status, farTooLarge.text]).toEqual([
        403,
        expect.stringMatching(/grpc: received message larger than max \(\d+ vs\. 2097152\)/),
      ]);
    },
  );
  it('deletes, compacts and compares', async () => {
    await post('/kv/put', { key: b64('t'), value: b64('1') });
    const txn = await post('/kv/txn', {
      compare: [{ key: b64('t'), target: 'VALUE', result: 'EQUAL', value: b64('1') }],
      success: [{ request_put: { key: b64('t'), value: b64('2') } }],
      failure: [{ request_range: { key: b64('t') } }],
    });
    expect(txn.json.succeeded).toBe(true);
    expect((await post('/kv/deleterange', { key: b64('t') })).json.deleted).toBe('1');
    const { revision } = (await post('/kv/range', { key: b64('t') })).json.header;
    expect((await post('/kv/compaction', { revision })).status).toBe(200);
    expect((await post('/kv/range', { key: b64('t'), revision: '2' })).text).toContain(
      'required revision has been compacted',
    );
  });
  it('a member grants a lease and returns its TTL; an unknown lease has TTL -1', async () => {
    const { ID } = (await post('/lease/grant', { TTL: '60' })).json;
    await post('/kv/put', { key: b64('leased'), value: b64('1'), lease: ID });
    const seen = (await post('/kv/lease/timetolive', { ID, keys: true })).json;
    expect([seen.ID, seen.grantedTTL, seen.keys]).toEqual([ID, '60', [b64('leased')]]);
    expect(Number(seen.TTL)).toBeGreaterThan(0);
    expect((await post('/kv/lease/timetolive', { ID: '7' })).json.TTL).toBe('-1');
    expect((await post('/kv/lease/revoke', { ID })).status).toBe(200);
    expect((await post('/kv/range', { key: b64('leased') })).json.count).toBeUndefined();
  });
  it('a member lists members, returns its status and has no alarm', async () => {
    const { members } = (await post('/cluster/member/list')).json;
    expect(members).toEqual([
      {
        ID: BigInt(`0x${member.id}`).toString(),
        name: 'n1',
        peerURLs: [member.peerUrl],
        clientURLs: [member.url],
      },
    ]);
    const status = (await post('/maintenance/status')).json;
    expect([status.version, status.leader]).toEqual([version, BigInt(`0x${member.id}`).toString()]);
    expect('raftAppliedIndex' in status).toBe(minor >= '3.4');
    const alarms = await post('/maintenance/alarm', { action: 'GET' });
    expect(alarms.text.startsWith('{"header"')).toBe(minor === '3.5');
    if (minor !== '3.5') expect(alarms.text).toBe('{}');
  });
  it('streams a snapshot that verifies', covers('spec/store#measured-snapshots-1'), async () => {
    const { text } = await post('/maintenance/snapshot');
    expect(text.includes('}\n{')).toBe(minor !== '3.2');
    const parts = [...text.matchAll(/\{"result":\{.*?\}\}/g)].map(([one]) => JSON.parse(one).result);
    expect(parts.at(-1)).toEqual({ blob: expect.any(String) });
    const file = Buffer.concat(parts.map(({ blob }) => Buffer.from(blob, 'base64')));
    expect(file.length % 512).toBe(32);
    expect(createHash('sha256').update(file.subarray(0, -32)).digest('hex')).toBe(
      file.subarray(-32).toString('hex'),
    );
    expect(Number(parts[0].remaining_bytes)).toBe(file.length - Buffer.from(parts[0].blob, 'base64').length);
  });
  it.each([
    ['/v3alpha', { '3.2': 200, '3.3': 308, '3.4': 404, '3.5': 404 }],
    ['/v3beta', { '3.2': 404, '3.3': 200, '3.4': 200, '3.5': 200 }],
    ['/v3', { '3.2': 404, '3.3': 404, '3.4': 200, '3.5': 200 }],
  ] as const)('knows %s', covers('spec/program#choices-10'), async (asked, expected) => {
    const answer = await member.post(`${asked}/kv/range`, { key: b64('a') });
    expect(answer.status).toBe(expected[minor as '3.2']);
    if (answer.status === 308) expect(answer.headers.get('location')).toBe('/v3beta/kv/range');
  });
  it('its metrics count requests of the v2 interface and of clients without a version', async () => {
    const read = async () => clientsIn((await member.get('/metrics')).text)!;
    const before = await read();
    await member.get('/v2/keys/a');
    await member.get('/v2/keys/?recursive=true');
    await post('/kv/range', { key: b64('a') });
    const now = await read();
    expect(now.v2_requests - before.v2_requests).toBe(minor < '3.4' ? 2 : 0);
    const unknown = ({ versions }: typeof now): number => versions?.['unknown'] ?? 0;
    expect(unknown(now) - unknown(before)).toBe(minor === '3.2' ? 0 : 1);
  });
  it('a member accepts only POST below the gateway', async () => {
    const answer = await member.get(`${prefix}/kv/put`);
    expect([answer.status, answer.text]).toEqual([405, 'Method Not Allowed\n']);
  });
  it.each([
    ['/readyz', minor === '3.5'],
    ['/v2/keys', minor === '3.2' || minor === '3.3'],
    ['/v2/stats/self', minor === '3.2' || minor === '3.3'],
    ['/metrics', true],
    ['/nothing', false],
  ])('a member has %s: %s', async (path, isThere) => {
    expect((await member.get(path)).status).toBe(isThere ? 200 : 404);
  });
  it.each([
    ['/kv/lease/leases', minor >= '3.3'],
    ['/lease/leases', minor >= '3.4'],
    ['/maintenance/transfer-leadership', minor >= '3.3'],
    ['/maintenance/hash', true],
    ['/maintenance/hashkv', minor >= '3.5'],
    ['/auth/status', minor >= '3.5'],
  ])('a member has the call %s: %s', covers('spec/store#measured-versions-3'), async (path, isThere) => {
    expect((await post(path)).status === 404).toBe(!isThere);
  });
});
