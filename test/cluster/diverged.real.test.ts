/**
 * A member whose data has diverged although it applies every new entry: its database claims to contain fewer
 * entries of its log than it does, so it applied the last entries twice. Old keys have the same hash on all
 * members; only the revisions differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { makeDirectory } from '../support/directory.ts';
import { opsctl } from '../support/program.ts';
import { slice } from '../support/slice.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: readonly string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });

const index = 'consistent_index';
/** Lowers the number of applied entries in the database of a stopped member. Returns the count of changed copies. */
const lowerIndex = ({ data_dir }: RealMember, by: bigint): number => {
  const path = join(data_dir, 'member', 'snap', 'db');
  const bytes = readFileSync(path);
  let changed = 0;
  for (let at = bytes.indexOf(index); at >= 0; at = bytes.indexOf(index, at + 1)) {
    const now = bytes.readBigUInt64BE(at + index.length);
    if (now <= by) continue;
    bytes.writeBigUInt64BE(now - by, at + index.length);
    changed += 1;
  }
  writeFileSync(path, bytes);
  return changed;
};
/** Every member has applied all entries, so the restarted member applies no entry for the first time. */
const everyMemberIsUpToDate = async (): Promise<void> => {
  for (const url of cluster.urls) await call(`${url}/v3beta/kv/range`, { key: base64('k') });
};
const diverge = async (member: RealMember): Promise<void> => {
  for (let i = 0; i < 30; i += 1)
    await gatewayPut(cluster.urls[0] as string, `k${i % 7}`, `v${i}`, '/v3beta');
  await everyMemberIsUpToDate();
  cluster.kill(member, 'SIGTERM');
  await cluster.gone(member);
  expect(lowerIndex(member, 8n)).toBeGreaterThan(0);
  cluster.start(member);
  await cluster.healthy();
};
const ways = [
  ['3.3', '3.4'],
  ['3.4', '3.5'],
].filter(([older, newer]) => hasBinaries(older as string, newer as string)) as [string, string][];

describe.each(slice(ways, 1))('a member of %s that applied entries twice', (from, to) => {
  it('is named by every command, no member is stopped, and replace-member repairs it', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const member = cluster.members[1] as RealMember;
    await diverge(member);
    const before = cluster.members.map((one) => cluster.pid(one));
    const checked = await kv('check');
    const found = checked
      .json()
      .findings.filter(({ guard }: { readonly guard: string }) => guard === 'data-agrees');
    expect([checked.code, found]).toMatchObject([20, [{ level: 'fail', member: member.name }]]);
    const status = await kv('status');
    const { revisions } = status.json();
    expect([status.code, revisions[1].after - revisions[0].after]).toEqual([20, 8]);
    const hashes = await kv('endpoint', 'hashkv');
    expect([hashes.code, hashes.stderr]).toEqual([20, expect.stringContaining('different data')]);
    for (const words of [['plan'], ['upgrade', '--yes', '--accept-point-of-no-return']])
      expect(await kv(...words)).toMatchObject({
        code: 10,
        stderr: expect.stringContaining('"code":"DATA_AGREES"'),
      });
    // Only one of the two healthy members would remain as a source of the data.
    for (const words of [
      ['replace-member', 'n1', '--yes'],
      ['member', 'remove', 'n1', '--yes'],
    ])
      expect(await kv(...words)).toMatchObject({ code: 10, stderr: expect.stringContaining(member.name) });
    expect(cluster.members.map((one) => cluster.pid(one))).toEqual(before);

    const replaced = await kv('replace-member', member.name, '--yes');
    expect([replaced.code, replaced.code === 0 ? '' : replaced.stderr]).toEqual([0, '']);
    const again = await kv('endpoint', 'hashkv');
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect((await kv('plan')).code).toBe(0);
  });
});

describe.each(slice(ways, 1))('two members of %s with different data', (from, to) => {
  it('no command decides which member is right until the operator does', async () => {
    const settings = { ctl_binary: (binariesOf(from) as Binaries).ctl };
    cluster = await startCluster({ size: 2, from, to, settings });
    const [kept, other] = cluster.members as [RealMember, RealMember];
    await diverge(other);
    const before = cluster.members.map((one) => cluster.pid(one));
    for (const [words, code] of [
      [['check'], 20],
      [['status'], 20],
      [['endpoint', 'hashkv'], 20],
      [['plan'], 10],
      [['upgrade', '--yes', '--accept', 'quorum-survives'], 10],
      [['replace-member', kept.name, '--yes'], 10],
      [['replace-member', other.name, '--yes'], 10],
    ] as const) {
      const ran = await kv(...words);
      expect([words, ran.code]).toEqual([words, code]);
    }
    expect(cluster.members.map((one) => cluster.pid(one))).toEqual(before);
    // One of two members is no majority, so no member can be removed: a restore keeps the data of one.
    const replaced = await kv('replace-member', other.name, '--yes', '--accept', 'others-agree-on-data');
    expect([replaced.code, replaced.stderr]).toEqual([10, expect.stringContaining('OTHERS_ARE_MAJORITY')]);
    expect(cluster.members.map((one) => cluster.pid(one))).toEqual(before);
    const snapshot = join(home, 'kept.db');
    expect((await kv('snapshot', 'save', snapshot, '--member', kept.name)).code).toBe(0);
    const restored = await kv('restore', '--snapshot', snapshot, '--to', from, '--yes');
    expect([restored.code, restored.code === 0 ? '' : restored.stderr]).toEqual([0, '']);
    expect((await kv('endpoint', 'hashkv')).code).toBe(0);
  });
});

describe.each(slice(ways, 1))(
  'a healthy cluster of %s that was compacted at its newest revision',
  (from, to) => {
    it('passes kv check and kv endpoint hashkv', async () => {
      cluster = await startCluster({ size: 3, from, to });
      const [url] = cluster.urls as [string];
      for (let i = 0; i < 5; i += 1) await gatewayPut(url, 'k', `v${i}`, '/v3beta');
      const { header } = JSON.parse((await call(`${url}/v3beta/kv/range`, { key: base64('k') })).text);
      await call(`${url}/v3beta/kv/compaction`, { revision: header.revision, physical: true });
      const { findings } = (await kv('check')).json();
      expect(findings.find(({ guard }: { readonly guard: string }) => guard === 'data-agrees')).toMatchObject(
        { level: 'pass' },
      );
      expect((await kv('endpoint', 'hashkv')).code).toBe(0);
    });
  },
);
