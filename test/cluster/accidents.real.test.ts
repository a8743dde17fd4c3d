/** Accidents that operators reported, repeated on real servers: each command knows what the others know. */
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { type ChildProcess, spawn } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import { type Program, program } from '../support/built-program.ts';
import {
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { consent } from '../support/consent.ts';
import { naming } from '../support/facts.ts';

let cluster: RealCluster;
let home: Program;
let fourth: ChildProcess | undefined;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  fourth?.kill('SIGKILL');
  fourth = undefined;
  await cluster?.stop();
});
const kv = (line: string, ...more: string[]) =>
  home.run(['kv', ...line.split(' '), '--cluster', cluster.file, ...more]);
const exitCodes = async (...lines: string[]): Promise<(number | null)[]> => {
  const codes = [];
  for (const line of lines) codes.push((await kv(line)).code);
  return codes;
};
const start = (size: number): Promise<RealCluster> =>
  startCluster({
    ...{ size, from: '3.4', to: '3.5' },
    settings: { ctl_binary: (binariesOf('3.4') as Binaries).ctl },
  });
const pids = () => cluster.members.map((member) => cluster.pid(member));

/** Adds a voter that the cluster file does not contain, and returns its addresses. */
const addVoter = async (): Promise<readonly [client: string, peer: string]> => {
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`) as [string, string];
  const add = () => call(`${cluster.urls[0]}/v3/cluster/member/add`, { peerURLs: [peer] });
  // The servers reject a change while they do not know that all members are connected.
  await expect.poll(async () => (await add()).status).toBe(200);
  return [client, peer];
};
const startVoter = async (client: string, peer: string): Promise<void> => {
  const [first] = cluster.members as [RealMember];
  const initial = first.old_command[first.old_command.indexOf('--initial-cluster') + 1];
  const words = [
    ...['--name', 'n4', '--data-dir', join(cluster.directory, 'n4.data'), '--listen-peer-urls', peer],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--initial-advertise-peer-urls', peer, '--initial-cluster', `${initial},n4=${peer}`],
    ...['--initial-cluster-state', 'existing', '--initial-cluster-token', 'test'],
  ];
  fourth = spawn(first.old_binary, words, { stdio: 'ignore' });
  const health = () => call(`${client}/health`).then(({ status }) => status);
  await expect.poll(() => health().catch(() => 0)).toBe(200);
};

describe.runIf(hasBinaries('3.4', '3.5'))('accidents on real servers', () => {
  it('after an upgrade, the command that it prints makes the cluster file fit for a restart', async () => {
    cluster = await start(3);
    const upgraded = await kv('upgrade', ...consent('upgrade'));
    expect([upgraded.code, upgraded.stdout]).toEqual([0, naming('kv advance', cluster.file)]);
    const early = await kv('restart --yes');
    expect([early.code, early.stderr]).toEqual([10, naming('kv advance', cluster.file)]);
    expect(await exitCodes('check', 'advance', 'restart --yes')).toEqual([0, 0, 0]);
    expect(readFileSync(cluster.file, 'utf8')).toContain(
      `ctl_binary: ${dirname((binariesOf('3.5') as Binaries).ctl)}/`,
    );
  });

  it('a member that was never started, and a voter outside the cluster file, are named by every command', async () => {
    cluster = await start(3);
    const snapshot = join(cluster.directory, 'whole.db');
    expect((await kv(`snapshot save ${snapshot}`)).code).toBe(0);
    const [client, peer] = await addVoter();
    const endpoint = cluster.urls[0] as string;
    const init = await home.run(['kv', 'init', '--endpoints', endpoint, '--out', 'new.yaml']);
    expect([init.code, init.stderr]).toEqual([10, naming(peer, 'never started')]);
    expect(() => readFileSync(join(home.home, 'new.yaml'))).toThrow('ENOENT');
    await startVoter(client, peer);
    const before = pids();
    const [check, upgrade] = [await kv('check'), await kv('upgrade --yes')];
    expect([check.code, check.stdout]).toEqual([20, naming('n4')]);
    expect([upgrade.code, upgrade.stderr]).toEqual([10, naming('n4')]);
    const restore = await kv(`restore --snapshot ${snapshot} --to 3.4`, ...consent('restore'));
    expect([restore.code, restore.stderr]).toEqual([10, naming('n4', peer)]);
    expect(pids()).toEqual(before);
  });

  it('a start that would remove the other members from the cluster is refused by every command', async () => {
    cluster = await start(3);
    const snapshot = join(cluster.directory, 'whole.db');
    expect((await kv(`snapshot save ${snapshot}`)).code).toBe(0);
    const [first, ...others] = cluster.members as [RealMember, ...RealMember[]];
    cluster.write({ ctl_binary: (binariesOf('3.4') as Binaries).ctl }, [
      { ...first, new_command: [...first.new_command, '--force-new-cluster'] },
      ...others,
    ]);
    const before = pids();
    expect(await exitCodes('check', 'upgrade --yes --accept configuration-fits')).toEqual([20, 10]);
    const restore = await kv(`restore --snapshot ${snapshot} --to 3.4`, ...consent('restore'));
    expect([restore.code, restore.stderr]).toEqual([10, naming('force-new-cluster', 'n1')]);
    expect(pids()).toEqual(before);
  });

  it('a restore starts members whose start was not read only if the operator accepts it', async () => {
    cluster = await start(3);
    const snapshot = join(cluster.directory, 'whole.db');
    expect((await kv(`snapshot save ${snapshot}`)).code).toBe(0);
    const members = cluster.members.map((member) => {
      const script = join(cluster.directory, `${member.name}.sh`);
      writeFileSync(script, `#!/bin/sh\nexec ${member.old_command.join(' ')}\n`, { mode: 0o755 });
      return { ...member, old_command: [script] };
    });
    cluster.write({ ctl_binary: (binariesOf('3.4') as Binaries).ctl }, members);
    const restore = `restore --snapshot ${snapshot} --to 3.4`;
    const before = pids();
    const refused = await kv(restore, ...consent('restore'));
    expect([refused.code, refused.stderr]).toEqual([
      10,
      naming('force-new-cluster', 'n1.sh', '--accept one-cluster'),
    ]);
    expect((await kv(restore, ...consent('restore'), '--accept', 'quota')).code).toBe(2);
    expect(pids()).toEqual(before);
    const done = await kv(restore, ...consent('restore'), '--accept', 'one-cluster');
    expect([done.code, done.code === 0 ? '' : done.stderr]).toEqual([0, '']);
  });

  it('a copied, a cut and a compressed database are identified, and only the name accepts the copy', async () => {
    cluster = await start(1);
    await gatewayPut(cluster.urls[0] as string, 'before', 'kept', '/v3');
    const [member] = cluster.members as [RealMember];
    cluster.kill(member, 'SIGTERM');
    await cluster.gone(member);
    const [copy, half, packed] = ['copy.db', 'half.db', 'copy.db.gz'].map((name) =>
      join(cluster.directory, name),
    ) as [string, string, string];
    const database = join(member.data_dir, 'member', 'snap', 'db');
    for (const path of [copy, half]) copyFileSync(database, path);
    truncateSync(half, 10_000);
    writeFileSync(packed, gzipSync(readFileSync(database)));
    for (const [path, cause] of [
      [copy, 'no checksum'],
      [half, 'truncated'],
      [packed, 'gzip'],
    ] as const)
      for (const line of [`snapshot verify ${path}`, `snapshot status ${path}`]) {
        const { code, stderr } = await home.run(['kv', ...line.split(' ')]);
        expect([line, code, stderr]).toEqual([line, 20, naming(path, cause)]);
      }
    const restore = `restore --snapshot ${copy} --skip-hash-check --to 3.4`;
    expect((await kv(restore, ...consent('restore'))).code).toBe(10);
    const accepted = await kv(restore, ...consent('restore'), '--accept-unverified', 'copy.db');
    expect([accepted.code, accepted.code === 0 ? '' : accepted.stderr]).toEqual([0, '']);
    const key = Buffer.from('before').toString('base64');
    const { text } = await call(`${cluster.urls[0]}/v3/kv/range`, { key });
    expect(Buffer.from(JSON.parse(text).kvs[0].value, 'base64').toString()).toBe('kept');
  });

  it('certificates that expire within a day are reported with their members', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5', tls: { until: 22 } });
    const { findings } = JSON.parse((await kv('check -o json')).stdout);
    const found = findings.filter(({ guard }: { guard: string }) => guard === 'certificates');
    expect(
      found.map(({ level, member }: { level: string; member?: string }) => [level, member]),
    ).toContainEqual(['warn', 'n1']);
    expect(JSON.stringify(found)).not.toContain('"pass"');
  });
});
