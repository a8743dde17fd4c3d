import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  call,
  gatewayPut,
  hasBinaries,
  pair,
  type RealCluster,
  startCluster,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

const { from, to, prefix } = pair;
let cluster: RealCluster;
/** Two operator machines with separate state. */
let [first, second]: string[] = [];
beforeEach(() => {
  [first, second] = [1, 2].map(() => makeDirectory());
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (home: string | undefined, verb: string, ...more: string[]): Promise<Ran> =>
  opsctl(['kv', verb, '--cluster', cluster.file, '-o', 'json', ...more], { home: home as string });
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );
const progress = async (): Promise<string | undefined> => {
  const { text } = await call(`${cluster.urls[0]}${prefix}/kv/range`, {
    key: base64('opsctl/upgrade-progress'),
  });
  const value = (JSON.parse(text).kvs ?? [])[0]?.value;
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
};

describe.runIf(hasBinaries(from, to))('a run whose machine is gone', () => {
  it(
    'a run of a lost machine is found, resumed and rolled back from another one, and its small progress is removed',
    covers('defect/U-39'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      cluster.write({ snapshot_dir: join(cluster.directory, 'snapshots') });
      expect((await kv(first, 'upgrade', '--yes', '--hold-after', '1')).json().outcome).toBe('held');
      const text = (await progress()) ?? '';
      expect(text.length).toBeLessThan(50_000);
      expect(JSON.parse(text)).toMatchObject({ format: 1, cluster: 'test' });
      // The progress contains no command line, because that may contain a secret.
      expect(text).not.toContain('--initial-cluster');
      expect(
        readFileSync(join(cluster.directory, 'snapshots', 'test.upgrade-progress.json'), 'utf8'),
      ).toContain('"format":1');
      // The first machine is lost.
      rmSync(first as string, { recursive: true, force: true });
      const status = await opsctl(['kv', 'status', '--cluster', cluster.file, '-o', 'table'], {
        home: second as string,
      });
      expect(status.stdout).toMatch(/held after 1 of 3[\s\S]*its journal is on/);
      const again = await kv(second, 'upgrade', '--yes', '--dry-run');
      expect([0, 10]).toContain(again.code);
      const held = await kv(second, 'resume', '--yes', '--past-hold');
      expect(held.json()).toMatchObject({ outcome: 'held' });
      expect((await versions()).sort()).toEqual([from, to, to]);
      const back = await kv(second, 'rollback', '--yes');
      expect(back.code).toBe(12);
      expect(await versions()).toEqual([from, from, from]);
      expect(await progress()).toBeUndefined();
    },
  );
  it('a run that is active on another machine is not adopted', async () => {
    cluster = await startCluster({ size: 3, from, to });
    expect((await kv(first, 'upgrade', '--yes', '--hold-after', '1')).code).toBe(8);
    const owner = { user: 'ada', host: 'elsewhere', pid: 7 };
    const lock = JSON.stringify({ run: 'other', owner, since: '2026-01-01T00:00:00.000Z' });
    await gatewayPut(cluster.urls[0] as string, 'opsctl/upgrade-lock', lock);
    const ran = await kv(second, 'resume', '--yes', '--past-hold');
    expect(ran.code).toBe(10);
    expect(ran.stderr).toContain('ada on elsewhere');
  });
});
