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
  await home.close();
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
