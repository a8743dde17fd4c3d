/**
 * Real servers: a late 3.5 from packages and 3.6 from the environment (OPSCTL_KV_36). The test upgrades and
 * downgrades them under constant writes.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  hasBinaries,
  missingWrites,
  type RealCluster,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { consent } from '../support/consent.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster | undefined;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

const kv = (verb: string, ...words: string[]): Promise<Ran> =>
  opsctl(['kv', verb, '--cluster', cluster!.file, ...words, '-o', 'json'], { home });
/** Returns the server, cluster and storage version of each member. */
const versions = (): Promise<string[]> =>
  Promise.all(
    cluster!.urls.map(async (url) => {
      const { etcdserver, etcdcluster, storage } = JSON.parse((await call(`${url}/version`)).text);
      return [
        etcdserver.slice(0, 3),
        etcdcluster.slice(0, 3),
        ...(storage === undefined ? [] : [storage.slice(0, 3)]),
      ].join(' ');
    }),
  );
const all = (text: string): string[] => Array(cluster!.urls.length).fill(text);
const ended = ({ code, stderr }: Ran, wanted: number): void =>
  expect(code === wanted ? '' : `${code} ${stderr}`).toBe('');
const accepted = (size: number): string[] => (size === 1 ? ['--accept', 'quorum-survives'] : []);

describe.runIf(process.env['OPSCTL_KV_36'] !== undefined && hasBinaries('3.5-late', '3.6'))(
  '3.5 → 3.6 → 3.5',
  () => {
    it.each([1, 3, 5])(
      '%i members: up, down and up again, and no acknowledged write is lost',
      async (size) => {
        cluster = await startCluster({ size, from: '3.5-late', to: '3.6' });
        const writer = startWriter(cluster.urls, '/v3');
        ended(await kv('upgrade', ...consent('upgrade'), ...accepted(size)), 0);
        expect(await versions()).toEqual(all('3.6 3.6 3.6'));
        ended(await kv('downgrade', '--yes', ...accepted(size)), 0);
        expect(await versions()).toEqual(all('3.5 3.5'));
        const { acknowledged, failed } = await writer.stop();
        if (size > 1) expect(failed).toBe(0);
        expect(acknowledged.length).toBeGreaterThan(10);
        for (const url of cluster.urls) expect(await missingWrites(url, acknowledged, '/v3')).toEqual([]);
        // The downgrade flag was cleared automatically, so a new upgrade can start.
        ended(await kv('upgrade', ...consent('upgrade'), ...accepted(size)), 0);
        expect(await versions()).toEqual(all('3.6 3.6 3.6'));
      },
    );

    it('a downgrade that holds goes back to 3.6, and the store no longer takes 3.5 in', async () => {
      cluster = await startCluster({ size: 3, from: '3.5-late', to: '3.6' });
      ended(await kv('upgrade', ...consent('upgrade')), 0);
      ended(await kv('downgrade', '--yes', '--hold-after', '1'), 8);
      expect((await versions()).toSorted()).toEqual(['3.5 3.5', '3.6 3.5 3.5', '3.6 3.5 3.5']);
      ended(await kv('rollback', '--yes'), 12);
      expect(await versions()).toEqual(all('3.6 3.6 3.6'));
      const { text } = await call(`${cluster.urls[0]}/v3/maintenance/status`, {});
      expect(JSON.parse(text).downgradeInfo?.enabled ?? false).toBe(false);
    });

    it('an upgrade returns to 3.5 before its last member', async () => {
      cluster = await startCluster({ size: 3, from: '3.5-late', to: '3.6' });
      ended(await kv('upgrade', '--yes', '--hold-last'), 8);
      ended(await kv('rollback', '--yes'), 12);
      expect(await versions()).toEqual(all('3.5 3.5'));
    });

    it('members are restarted one after another, on 3.6 too', async () => {
      cluster = await startCluster({ size: 3, from: '3.5-late', to: '3.6' });
      const before = cluster.members.map((member) => cluster!.pid(member));
      const writer = startWriter(cluster.urls, '/v3');
      ended(await kv('restart', '--keep-program', '--yes'), 0);
      ended(await kv('upgrade', ...consent('upgrade')), 0);
      ended(await kv('restart', '--keep-program', '--yes'), 0);
      const { failed, acknowledged } = await writer.stop();
      expect(failed).toBe(0);
      for (const url of cluster.urls) expect(await missingWrites(url, acknowledged, '/v3')).toEqual([]);
      for (const [i, member] of cluster.members.entries()) expect(cluster.pid(member)).not.toBe(before[i]);
    });
  },
);

describe.runIf(process.env['OPSCTL_KV_36'] !== undefined && hasBinaries('3.5', '3.6'))(
  'a 3.5 that is too old',
  () => {
    it('a 3.5 that is too old is refused, and no flag accepts it', async () => {
      cluster = await startCluster({ size: 3, from: '3.5', to: '3.6' });
      const refused = await kv('upgrade', ...consent('upgrade'), '--accept', 'known-versions');
      ended(refused, 10);
      expect(refused.stderr).toContain('https://github.com/etcd-io/etcd/issues/20967');
      expect(await versions()).toEqual(all('3.5 3.5'));
    });
  },
);
