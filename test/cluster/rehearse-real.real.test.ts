import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import {
  type RealCluster,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  pair,
  startCluster,
} from '../support/cluster.ts';

const { from, to } = pair;
let home: Program;
let cluster: RealCluster | undefined;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await cluster?.stop();
});
const ctlOf = (minor: string): string => {
  const found = binariesOf(minor);
  return 'missing' in found ? '' : found.ctl;
};

describe.runIf(hasBinaries(from, to) && ctlOf(from) !== '')('kv rehearse with real servers', () => {
  it('restores a snapshot into a private cluster of the real binaries and upgrades that one only', async () => {
    cluster = await startCluster({ size: 3, from, to, settings: { ctl_binary: ctlOf(from) } });
    for (let i = 0; i < 30; i += 1) await gatewayPut(cluster.urls[0] as string, `k${i}`, 'x'.repeat(i * 50));
    const pids = cluster.members.map((member) => cluster?.pid(member));
    const ended = await home.run([
      'kv',
      'rehearse',
      '--cluster',
      cluster.file,
      '--stable-for',
      '0',
      '--real',
      '-o',
      'json',
    ]);
    expect(ended.code, ended.stderr).toBe(0);
    const result = JSON.parse(ended.stdout);
    expect(result).toMatchObject({
      ok: true,
      mode: 'real servers',
      outcome: 'done',
      keys_before: 30,
      keys_after: 30,
    });
    expect(
      result.report.members.map(({ version_after }: { version_after: string }) => version_after.slice(0, 3)),
    ).toEqual([to, to, to]);
    expect(cluster.members.map((member) => cluster?.pid(member))).toEqual(pids);
    for (const url of cluster.urls)
      expect(JSON.parse((await call(`${url}/version`)).text).etcdcluster).toBe(`${from}.0`);
  });
  it('a real snapshot can be rehearsed on simulated servers, key by key', async () => {
    cluster = await startCluster({ size: 1, from, to, settings: {} });
    for (let i = 0; i < 300; i += 1) await gatewayPut(cluster.urls[0] as string, `k${i % 200}`, `value ${i}`);
    const ended = await home.run([
      'kv',
      'rehearse',
      '--cluster',
      cluster.file,
      '--stable-for',
      '0',
      '--simulated',
      '--accept',
      'quorum-survives',
      '-o',
      'json',
    ]);
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      ok: true,
      mode: 'simulated servers',
      keys_before: 200,
      keys_after: 200,
    });
  });
});

const later = ['3.3', '3.4', '3.5'] as const;
/** A cluster file that names the programs of every version. */
const table = () =>
  Object.fromEntries(
    later.slice(1).map((minor) => {
      const found = binariesOf(minor);
      return [minor, 'missing' in found ? {} : { binary: found.server, ctl_binary: found.ctl }];
    }),
  );
describe.runIf(hasBinaries(...later))('an upgrade over several versions of real servers', () => {
  const path = ['--to', '3.5', '--soak', '2s', '--stable-for', '0', '--stable-before-last', '0'];
  it('is rehearsed in one run, then upgrades, and a killed process is resumed in the soak time', async () => {
    cluster = await startCluster({
      size: 3,
      from: '3.3',
      to: '3.4',
      settings: { ctl_binary: ctlOf('3.3'), versions: table() },
    });
    const { file, urls } = cluster;
    for (let i = 0; i < 20; i += 1) await gatewayPut(urls[0] as string, `k${i}`, `v${i}`);
    const rehearsed = await home.run([
      ...['kv', 'rehearse', '--cluster', file, '--to', '3.5', '--stable-for', '0', '--real', '-o', 'json'],
    ]);
    expect(rehearsed.code, rehearsed.stderr).toBe(0);
    expect(JSON.parse(rehearsed.stdout)).toMatchObject({
      ok: true,
      mode: 'real servers',
      keys_before: 20,
      keys_after: 20,
      hops: [
        { from: '3.3', to: '3.4', outcome: 'done', failed_writes: 0 },
        { from: '3.4', to: '3.5', outcome: 'done', failed_writes: 0 },
      ],
    });
    const consent = ['--yes', '--accept-point-of-no-return'];
    const started = home.start(['kv', 'upgrade', '--cluster', file, ...path, ...consent]);
    await started.said(/the cluster runs 3\.4 for/);
    started.kill('SIGKILL');
    await started.ended;
    const status = await home.run(['kv', 'status', '--cluster', file, '-o', 'json']);
    expect(JSON.parse(status.stdout)).toMatchObject({ cluster_version: '3.4.0', path: { to: '3.5' } });
    const resumed = await home.run(['kv', 'resume', '--cluster', file, ...consent]);
    expect(resumed.code, resumed.stderr).toBe(0);
    for (const url of urls) expect(JSON.parse((await call(`${url}/version`)).text).etcdcluster).toBe('3.5.0');
    const again = await home.run(['kv', 'resume', '--cluster', file, '--yes']);
    expect(again.code).toBe(0);
  });
});
