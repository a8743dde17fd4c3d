import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  call,
  gatewayPut,
  hasBinaries,
  missingWrites,
  type RealCluster,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});

const status = async (url: string) =>
  JSON.parse((await call(`${url}/v3/maintenance/status`, {})).text) as Record<string, string>;
/** Writes versions of one key, whose space a compaction frees. */
const fill = async (url: string, count: number): Promise<void> => {
  const value = 'x'.repeat(64 * 1024);
  for (let n = 0; n < count; n += 1) await gatewayPut(url, 'big', value, '/v3');
  const { kvs } = JSON.parse((await call(`${url}/v3/kv/range`, { key: base64('big') })).text);
  await call(`${url}/v3/kv/compaction`, { revision: kvs[0].mod_revision, physical: true });
};

describe.runIf(hasBinaries('3.5'))('kv defrag on three real members of 3.5', () => {
  it('gives the space back under writes, the leader last and without its leadership', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const [first] = cluster.urls as [string];
    await fill(first, 200);
    const before = await Promise.all(cluster.urls.map(status));
    const leader =
      cluster.members[before.findIndex(({ header, leader: id }: any) => header.member_id === id)];
    const words = ['kv', 'defrag', '--cluster', cluster.file, '--yes', '-o', 'json'];
    const dry = (await opsctl([...words, '--dry-run'], { home })).json();
    expect(dry.steps.at(-2)).toMatchObject({ id: `${leader?.name}.defrag` });
    const writer = startWriter(cluster.urls, '/v3');
    const ran = await opsctl(words, { home });
    const wrote = await writer.stop();
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    const report = ran.json();
    expect(report).toMatchObject({ outcome: 'done', operation: 'defrag' });
    const order = report.steps.map(({ id }: { id: string }) => id);
    expect(order.slice(-3)).toEqual(
      ['move-leader', 'defrag', 'check'].map((kind) => `${leader?.name}.${kind}`),
    );
    for (const [i, url] of cluster.urls.entries()) {
      const size = Number((await status(url)).dbSize);
      expect(size).toBeLessThan(Number(before[i]?.dbSize) / 2);
    }
    const blocked = report.steps.filter(({ id }: { id: string }) => id.endsWith('.defrag'));
    expect(blocked).toHaveLength(3);
    for (const { detail } of blocked) {
      expect(detail.after_bytes).toBeLessThan(detail.before_bytes);
      expect(detail.blocked_ms).toBeGreaterThanOrEqual(0);
    }
    const after = await status(leader?.client_url as string);
    expect((after.header as any).member_id).not.toBe(after.leader);
    expect(wrote.failed).toBe(0);
    for (const url of cluster.urls) expect(await missingWrites(url, wrote.acknowledged, '/v3')).toEqual([]);
    // No opsctl keys remain in the store.
    const own = await call(`${first}/v3/kv/range`, { key: base64('opsctl/'), range_end: base64('opsctl0') });
    expect(JSON.parse(own.text).kvs).toBeUndefined();
  });

  it('defrag makes no changes when a member is down, and when it would take too long', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const words = ['kv', 'defrag', '--cluster', cluster.file, '--yes', '-o', 'json'];
    await fill(cluster.urls[0] as string, 20);
    const long = await opsctl([...words, '--max-blocked', '1ms'], { home });
    expect(long.code).toBe(10);
    expect(long.stderr).toContain('DEFRAG_IS_BOUNDED');
    const [member] = cluster.members;
    if (member === undefined) throw new Error('no member');
    cluster.kill(member, 'SIGKILL');
    await cluster.gone(member);
    const refused = await opsctl(words, { home });
    expect(refused.code).toBe(10);
    expect(refused.stderr).toContain('n1 does not respond');
  });
});
