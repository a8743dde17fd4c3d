import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import {
  base64,
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  type RealCluster,
  startCluster,
} from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
let joined: ChildProcess | undefined;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  joined?.kill('SIGKILL');
  joined = undefined;
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '--yes', '-o', 'json'], { home });
const done = async (...words: string[]) => {
  const ran = await kv(...words);
  expect(ran.code === 0 ? '' : ran.stderr).toBe('');
  return ran.json();
};
const listed = async () =>
  (await done('member', 'list')) as { name: string; is_learner: boolean; id: string }[];

describe.runIf(hasBinaries('3.5'))('members of a real 3.5 cluster', () => {
  it(
    'a learner is added, refused twice, started, promoted, moved and removed',
    covers('defect/U-38'),
    async () => {
      cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
      const [client, peer, other] = (await freePorts(3)).map((port) => `http://127.0.0.1:${port}`) as [
        string,
        string,
        string,
      ];
      const added = await done('member', 'add', 'n4', '--peer-urls', peer, '--learner');
      const start = added.steps[0].detail.start_with;
      expect(start).toMatchObject({ ETCD_NAME: 'n4', ETCD_INITIAL_CLUSTER_STATE: 'existing' });
      expect(start.ETCD_INITIAL_CLUSTER).toContain(`n4=${peer}`);
      expect((await kv('member', 'add', 'n5', '--peer-urls', other, '--learner')).stderr).toContain(
        'ONE_CLUSTER',
      );
      const early = await kv('member', 'promote', added.steps[0].detail.member_id);
      expect(early.code).toBe(10);
      expect(early.stderr).toContain('has not started');
      const words = [
        '--listen-peer-urls',
        peer,
        '--listen-client-urls',
        client,
        '--advertise-client-urls',
        client,
      ];
      joined = spawn(
        (binariesOf('3.5') as Binaries).server,
        [...words, '--data-dir', join(cluster.directory, 'n4.data')],
        {
          env: { ...process.env, ...start },
          stdio: 'ignore',
        },
      );
      const until = async (what: () => Promise<boolean>): Promise<void> => {
        await expect.poll(() => what().catch(() => false)).toBe(true);
      };
      await until(async () => (await listed()).some(({ name }) => name === 'n4'));
      await done('member', 'promote', 'n4');
      expect((await listed()).find(({ name }) => name === 'n4')?.is_learner).toBe(false);
      expect(await done('member', 'promote', 'n4')).toMatchObject({ steps: [] });
      await until(async () => (await call(`${client}/health`)).status === 200);
      await done('member', 'update', 'n4', '--peer-urls', other);
      const taken = await kv('member', 'update', 'n4', '--peer-urls', cluster.members[0]?.peer_url as string);
      expect(taken.stderr).toContain('PEER_URL_IS_NEW');
      await done('member', 'remove', 'n4');
      expect((await listed()).map(({ name }) => name).sort()).toEqual(['n1', 'n2', 'n3']);
    },
  );

  it('a member is not removed or added if the result would have no majority', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const [n1, n2] = cluster.members;
    if (n1 === undefined || n2 === undefined) throw new Error('no members');
    cluster.kill(n1, 'SIGKILL');
    await cluster.gone(n1);
    const refused = await kv('member', 'remove', 'n2');
    expect(refused.code).toBe(10);
    expect(refused.stderr).toContain(
      'the quorum would be lost: without n2 1 of 2 members would be healthy, and 2 are needed',
    );
    const wrong = await kv('member', 'add', 'n4', '--peer-urls', '10.0.0.4:2380');
    expect(wrong.code).toBe(2);
    expect((await kv('member', 'add', 'n4', '--peer-urls', 'http://10.0.0.4:2380')).code).toBe(10);
    // The stopped member can be removed.
    await done('member', 'remove', 'n1');
    expect(await listed()).toHaveLength(2);
  });

  it('compaction shows the removed data, waits for its delay, and has no work the second time', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const [url] = cluster.urls as [string];
    const value = 'x'.repeat(64 * 1024);
    for (let n = 0; n < 50; n += 1) await gatewayPut(url, 'big', value, '/v3');
    const plan = await done('compact', '--keep-last', '5', '--dry-run');
    expect(plan.steps[0].title).toMatch(/^remove the history of revisions 1 to 4\d/);
    expect(plan.notes[0]).toMatch(/kept: 5 of \d+ revisions/);
    const { detail } = (await done('compact', '--keep-last', '5')).steps[0];
    expect(detail.in_use_after.n1).toBeLessThan(detail.in_use_before.n1 / 2);
    const old = await call(`${url}/v3/kv/range`, {
      key: base64('big'),
      revision: String(detail.revision - 1),
    });
    expect(old.text).toContain('has been compacted');
    expect(
      (await call(`${url}/v3/kv/range`, { key: base64('big'), revision: String(detail.revision) })).status,
    ).toBe(200);
    expect(await done('compact', String(detail.revision))).toMatchObject({ steps: [] });
    const future = await kv('compact', '999999');
    expect(future.code).toBe(10);
    expect(future.stderr).toContain('does not exist yet');
    expect((await kv('compact')).code).toBe(2);
    expect((await kv('compact', '3', '--keep-last', '2')).code).toBe(2);
  });
});
