import { beforeAll, describe, expect, it } from 'vitest';
import { type TestCluster, type TestMember, b64, testCluster } from '../members.ts';

/** Responses of a real 3.3 member. */
describe('transactions and options of a put', () => {
  let cluster: TestCluster;
  let member: TestMember;
  beforeAll(async () => {
    cluster = await testCluster(['3.3.27']);
    member = cluster.member('n1');
    await member.post('/v3beta/kv/put', { key: b64('a'), value: b64('1') });
    await member.post('/v3beta/kv/put', { key: b64('b'), value: b64('2') });
  });
  const txn = (body: unknown) => member.post('/v3beta/kv/txn', body);
  const put = (key: string, more: object = {}) => ({
    request_put: { key: b64(key), value: b64('x'), ...more },
  });

  it.each([
    [
      'the same key twice',
      { success: [put('d'), put('d')] },
      400,
      3,
      'etcdserver: duplicate key given in txn request',
    ],
    [
      'a key that is put and deleted',
      { success: [put('b'), { request_delete_range: { key: b64('a'), range_end: b64('z') } }] },
      400,
      3,
      'etcdserver: duplicate key given in txn request',
    ],
    [
      'a key twice, once inside',
      { success: [put('d'), { request_txn: { failure: [put('d')] } }] },
      400,
      3,
      'etcdserver: duplicate key given in txn request',
    ],
    ['no operation in an operation', { success: [{}] }, 400, 3, 'etcdserver: key not found'],
    ['a put without a key', { success: [{ request_put: {} }] }, 400, 3, 'etcdserver: key is not provided'],
    [
      'an unknown target',
      { compare: [{ target: 'FOO', key: b64('a') }] },
      400,
      3,
      'unknown value "FOO" for enum etcdserverpb.Compare_CompareTarget',
    ],
    [
      'more than 128 operations',
      { success: Array.from({ length: 129 }, (_, i) => put(`m${i}`)) },
      400,
      3,
      'etcdserver: too many operations in txn request',
    ],
    [
      'a lease that is none',
      { success: [put('e', { lease: '77' })] },
      404,
      5,
      'etcdserver: requested lease not found',
    ],
  ])('refuses %s', async (_, body, status, code, message) => {
    const answer = await txn(body);
    expect([answer.status, answer.text]).toEqual([status, JSON.stringify({ error: message, code })]);
  });
  it('a transaction with a rejected operation makes no changes', async () => {
    const answer = await txn({
      success: [put('half'), { request_range: { key: b64('a'), revision: '9999' } }],
    });
    expect(answer.text).toContain('required revision is a future revision');
    expect((await member.post('/v3beta/kv/range', { key: b64('half') })).json.count).toBeUndefined();
  });
  it('a nested transaction runs on the state before both', async () => {
    const inner = {
      compare: [{ target: 'VERSION', key: b64('f'), version: '0' }],
      success: [put('g')],
      failure: [put('h')],
    };
    const { json } = await txn({ success: [put('f'), { requestTxn: inner }] });
    expect(json.responses[1].response_txn).toMatchObject({
      header: {},
      succeeded: true,
      responses: [{ response_put: {} }],
    });
    expect((await member.post('/v3beta/kv/range', { key: b64('g') })).json.count).toBe('1');
  });
  it('a put returns the previous value only on request', async () => {
    const { json } = await txn({ success: [put('a'), { request_delete_range: { key: b64('b') } }] });
    expect(json.responses.map((one: object) => Object.keys(Object.values(one)[0]))).toEqual([
      ['header'],
      ['header', 'deleted'],
    ]);
    const asked = await txn({ success: [put('a', { prev_kv: true })] });
    expect(asked.json.responses[0].response_put.prev_kv.value).toBe(b64('x'));
  });
  it.each([
    [{ target: 'LEASE', key: b64('a'), lease: '0' }, true],
    [{ target: 'VERSION', key: b64('a'), range_end: b64('z'), result: 'GREATER', version: '0' }, true],
    [{ target: 'VERSION', key: b64('a'), range_end: b64('z'), result: 'GREATER', version: '900' }, undefined],
    [{ target: 'VALUE', key: b64('none'), value: b64('x') }, undefined],
  ])('compares %j', async (compare, succeeded) => {
    expect((await txn({ compare: [compare] })).json.succeeded).toBe(succeeded);
  });
  it.each([
    [{ key: b64('a'), value: b64('x'), ignore_value: true }, 400, 'etcdserver: value is provided'],
    [{ key: b64('nothing'), ignore_value: true }, 400, 'etcdserver: key not found'],
    [{ key: b64('a'), lease: 5, ignore_lease: true }, 400, 'etcdserver: lease is provided'],
    [{ key: b64('a'), prev_kv: 'true' }, 400, 'json: cannot unmarshal string into Go value of type bool'],
  ])('put %j is refused', async (body, status, message) => {
    const answer = await member.post('/v3beta/kv/put', body);
    expect([answer.status, answer.json.error]).toEqual([status, message]);
  });
  it('keeps the value that ignore_value names', async () => {
    await member.post('/v3beta/kv/put', { key: b64('kept'), value: b64('v') });
    await member.post('/v3beta/kv/put', { key: b64('kept'), ignore_value: true });
    expect((await member.post('/v3beta/kv/range', { key: b64('kept') })).json.kvs[0]).toMatchObject({
      value: b64('v'),
      version: '2',
    });
  });
  it('keeps an id of 64 bits that comes as a number', async () => {
    const answer = await member.post('/v3beta/lease/grant', '{"ID":7587821338341212345,"TTL":60}');
    expect(answer.json.ID).toBe('7587821338341212345');
  });
  it('a rehearsal reports unsupported calls', async () => {
    for (const path of ['/v3beta/auth/role/add', '/v3beta/auth/user/delete']) {
      const answer = await member.post(path, {});
      expect([answer.status, answer.json.error]).toEqual([
        501,
        expect.stringContaining(path.replace('/v3beta', '')),
      ]);
    }
  });
  it.each(['/health', '/version'])('%s is only read', async (path) => {
    expect((await member.post(path, {})).status).toBe(405);
  });
});
