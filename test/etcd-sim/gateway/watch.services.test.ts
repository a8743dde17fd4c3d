import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/kv/client/etcd-client.ts';
import { type WatchMessage, watchMessages, type WatchOptions } from '../../../src/kv/client/watch.ts';
import { realHost, type RealHost } from '../../support/real-host.ts';
import { type TestCluster, type TestMember, b64, testCluster } from '../members.ts';

describe('watch and the size of the file on a simulated member', () => {
  let cluster: TestCluster;
  let member: TestMember;
  let real: RealHost;
  beforeAll(async () => {
    real = await realHost();
    cluster = await testCluster(['3.5.16']);
    member = cluster.member('n1');
  });
  const put = (key: string, value: string) =>
    member
      .post('/v3/kv/put', { key: b64(key), value: b64(value) })
      .then(({ json }) => Number(json.header.revision));
  /** Returns the messages until `count` events have arrived or the watch has ended. */
  const watched = async (options: WatchOptions, count: number): Promise<WatchMessage[]> => {
    const store = openStore(real.host, { url: member.url, timeoutMs: 20_000 });
    const messages: WatchMessage[] = [];
    for await (const message of watchMessages(store.connection, options)) {
      messages.push(message);
      if (messages.flatMap(({ events }) => events).length >= count) break;
    }
    return messages;
  };

  it('gives history and what happens, with what was before', async () => {
    const first = await put('w/a', '1');
    await put('w/a', '2');
    const later = new Promise((done) => setTimeout(done, 50)).then(() =>
      member.post('/v3/kv/deleterange', { key: b64('w/a') }),
    );
    const options = { key: 'w/', rangeEnd: 'w0', startRevision: first, withPrevious: true };
    const events = (await watched(options, 3)).flatMap((message) => message.events);
    await later;
    expect(events.map(({ type, kv, prev_kv }) => [type, kv.value, prev_kv?.value])).toEqual([
      ['PUT', '1', undefined],
      ['PUT', '2', '1'],
      ['DELETE', '', '2'],
    ]);
    const only = await watched({ ...options, filters: ['NOPUT'] }, 1);
    expect(only.flatMap((message) => message.events)).toMatchObject([{ type: 'DELETE' }]);
  });
  it('a compaction cancels old watches and frees space inside the file; a defragmentation shrinks it', async () => {
    for (let n = 0; n < 20; n += 1) await put('big', 'x'.repeat(20_000));
    const revision = await put('big', 'y');
    const sizes = async (): Promise<[number, number]> => {
      const { json } = await member.post('/v3/maintenance/status', {});
      return [Number(json.dbSize), Number(json.dbSizeInUse)];
    };
    const before = await sizes();
    await member.post('/v3/kv/compaction', { revision: String(revision), physical: true });
    const [file, inUse] = await sizes();
    expect([file, inUse < before[1]]).toEqual([before[0], true]);
    await member.post('/v3/maintenance/defragment', {});
    expect((await sizes())[0]).toBe(inUse);
    const messages = await watched({ key: 'big', startRevision: 2 }, 1);
    expect(messages.at(-1)).toMatchObject({ is_canceled: true, compact_revision: revision });
  });
});
