import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/kv/client/etcd-client.ts';
import { fakeHost, type ScriptedReply } from '../../support/fake-host.ts';
import { covers } from '../../support/covers.ts';

const grpc = { 'content-type': 'application/grpc' };
/** A put response: a header with revision 7. */
const put = Buffer.from('0000000004' + '0a02' + '1807', 'hex');
/** A member that serves /version and no gateway path. */
const member = (past: () => ScriptedReply) => {
  const asked: string[] = [];
  const reply = ({
    url,
    transport,
  }: {
    readonly url: string;
    readonly transport?: string;
  }): ScriptedReply => {
    if (url.endsWith('/version')) return { body: { etcdserver: '3.4.23', etcdcluster: '3.3.0' } };
    asked.push(transport === 'http2' ? 'past' : 'gateway');
    return transport === 'http2' ? past() : { status: 404, body: '404 page not found\n' };
  };
  return { store: openStore(fakeHost({ reply }), { url: 'http://10.0.0.1:2379' }), asked };
};

describe('a member whose gateway is switched off', () => {
  it(
    'the client uses gRPC after the first rejection of the gateway',
    covers('spec/store#choices-3'),
    async () => {
      const { store, asked } = member(() => ({ headers: grpc, body: put }));
      expect(await store.put('a', 'b')).toEqual({ revision: 7 });
      asked.length = 0;
      expect(await store.put('a', 'b')).toEqual({ revision: 7 });
      expect(asked).toEqual(['past']);
    },
  );
  it("whose store refuses: that is the store's word", async () => {
    const { store } = member(() => ({
      headers: { ...grpc, 'grpc-status': '3', 'grpc-message': 'etcdserver: key is not provided' },
    }));
    await expect(store.put('a', 'b')).rejects.toMatchObject({
      category: 'refused',
      message: '10.0.0.1:2379: etcdserver: key is not provided',
    });
  });
  it('a member without both interfaces is not a store: the first rejection is reported, and the gateway is retried', async () => {
    const { store, asked } = member(() => ({ status: 404, body: 'nothing here' }));
    await expect(store.put('a', 'b')).rejects.toMatchObject({ detail: { code: 'NO_GATEWAY' } });
    asked.length = 0;
    await expect(store.put('a', 'b')).rejects.toMatchObject({ detail: { code: 'NO_GATEWAY' } });
    expect(asked[0]).toBe('gateway');
  });
});
