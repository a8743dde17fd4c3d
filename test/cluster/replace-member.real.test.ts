import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  gatewayPut,
  hasBinaries,
  missingWrites,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '--yes', '-o', 'json'], { home });
const member = (at: number): RealMember => cluster.members[at] as RealMember;
const listed = async (): Promise<{ name: string; id: string; is_learner: boolean }[]> =>
  (await kv('member', 'list')).json();
const lose = async (one: RealMember): Promise<void> => {
  cluster.kill(one, 'SIGKILL');
  await cluster.gone(one);
  rmSync(one.data_dir, { recursive: true, force: true });
};
/** Verifies that three voting members have every acknowledged write. */
const isWhole = async (acknowledged: readonly string[]): Promise<void> => {
  expect((await listed()).map(({ name, is_learner }) => [name, is_learner]).sort()).toEqual([
    ['n1', false],
    ['n2', false],
    ['n3', false],
  ]);
  for (const url of cluster.urls) {
    expect((await call(`${url}/readyz`)).status).toBe(200);
    expect(await missingWrites(url, acknowledged, '/v3')).toEqual([]);
  }
};

describe.runIf(hasBinaries('3.5'))('kv replace-member on three real members of 3.5', () => {
  it('a member whose data directory was deleted under writes is back, and no acknowledged write is lost', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const writer = startWriter(cluster.urls, '/v3');
    const before = (await listed()).find(({ name }) => name === 'n2')?.id;
    await lose(member(1));
    const dry = (await kv('replace-member', 'n2', '--dry-run')).json();
    expect(dry.steps.map(({ kind }: { kind: string }) => kind)).toEqual([
      ...['stop', 'remove', 'set-aside', 'add', 'start', 'catch-up', 'promote', 'check'],
    ]);
    const ran = await kv('replace-member', 'n2');
    const wrote = await writer.stop();
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    expect(ran.json()).toMatchObject({ outcome: 'done', operation: 'replace-member' });
    expect(wrote.failed).toBe(0);
    expect(wrote.acknowledged.length).toBeGreaterThan(20);
    await isWhole(wrote.acknowledged);
    expect((await listed()).find(({ name }) => name === 'n2')?.id).not.toBe(before);
    // A restart with the original command, whose cluster state is `new`, finds the existing data.
    cluster.kill(member(1), 'SIGTERM');
    await cluster.gone(member(1));
    cluster.start(member(1));
    await cluster.healthy();
    await isWhole(wrote.acknowledged);
  });

  it(
    'a leader that works is replaced too, and what it had is kept aside',
    covers('spec/store#procedure-2'),
    async () => {
      cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
      await gatewayPut(cluster.urls[0] as string, 'w/1', '1', '/v3');
      const status = (await kv('status')).json();
      const leader: string = status.leader;
      const ran = await kv('replace-member', leader);
      expect(ran.code === 0 ? '' : ran.stderr).toBe('');
      const steps = ran.json().steps;
      expect(steps[0].id).toBe(`${leader}.move-leader`);
      const aside = steps.find(({ id }: { id: string }) => id.endsWith('set-aside')).detail.kept;
      expect(existsSync(join(aside[0], 'member', 'wal'))).toBe(true);
      await isWhole(['w/1']);
    },
  );

  it('replace-member refuses when another member is unhealthy, and rewrites two lines of a configuration file', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const [n1, n2] = [member(0), member(1)];
    cluster.kill(n1, 'SIGKILL');
    await cluster.gone(n1);
    const refused = await kv('replace-member', 'n2');
    expect(refused.code).toBe(10);
    expect(refused.stderr).toContain('two members would be down');
    expect(cluster.isAlive(n2)).toBe(true);
    cluster.start(n1);
    await cluster.healthy();
    const config = join(cluster.directory, 'n2.yaml');
    const initial = cluster.members.map(({ name, peer_url }) => `${name}=${peer_url}`).join(',');
    writeFileSync(
      config,
      [
        '# kept',
        `name: n2`,
        `data-dir: ${n2.data_dir}`,
        `listen-client-urls: ${n2.client_url}`,
        `advertise-client-urls: ${n2.client_url}`,
        `listen-peer-urls: ${n2.peer_url}`,
        `initial-advertise-peer-urls: ${n2.peer_url}`,
        `initial-cluster: ${initial}`,
        'initial-cluster-token: test',
        'initial-cluster-state: new',
        'enable-grpc-gateway: true',
        '',
      ].join('\n'),
    );
    const byFile = { ...n2, config_file: config, old_command: [n2.old_binary, '--config-file', config] };
    cluster.write({}, [n1, { ...byFile, new_command: [n2.new_binary, '--config-file', config] }, member(2)]);
    await lose(n2);
    const ran = await kv('replace-member', 'n2');
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    await isWhole([]);
    expect(readdirSync(cluster.directory)).toContain('n2.data');
  });
});
