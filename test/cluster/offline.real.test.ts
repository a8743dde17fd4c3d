import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { killedWhen } from '../support/killed-run.ts';
import { type RealCluster, call, gatewayPut, hasBinaries, pair, startCluster } from '../support/cluster.ts';

const { from, to, beyond } = pair;
let home: Program;
let cluster: RealCluster;
beforeEach(async () => {
  home = program();
  cluster = await startCluster({ size: 3, from, to, settings: {} });
  await gatewayPut(cluster.urls[0] as string, 'a', 'before');
});
afterEach(async () => {
  await cluster?.stop();
});
const stopAll = async (members = cluster.members): Promise<void> => {
  for (const member of members) cluster.kill(member, 'SIGTERM');
  await Promise.all(members.map((member) => cluster.gone(member)));
};
const offline = (...words: string[]) =>
  home.run(['kv', 'upgrade', '--offline', '--cluster', cluster.file, '--yes', '-o', 'json', ...words]);
const copies = (): string[] =>
  cluster.members.flatMap(({ data_dir }) =>
    readdirSync(dirname(data_dir))
      .filter((name) => name.includes('.before-offline-'))
      .map((name) => join(dirname(data_dir), name))
      .filter((path) => path.startsWith(data_dir)),
  );
const consent = '--accept-point-of-no-return';
const runs = async (url: string): Promise<string> =>
  JSON.parse((await call(`${url}/version`)).text).etcdcluster;
/** Breaks the new command of n1: the address belongs to no interface, so the server exits. */
const writeBroken = (): void => {
  const broken = cluster.members.map((member, i) => ({
    ...member,
    ...(i === 0
      ? { new_command: [...member.new_command, '--listen-peer-urls', 'http://203.0.113.1:1'] }
      : {}),
  }));
  cluster.write({ timeouts: { gate_seconds: 5 } }, broken);
};

describe.runIf(hasBinaries(from, to))('an upgrade of a stopped cluster', () => {
  it('refuses while a member runs, then copies all data, starts the new version and keeps the keys', async () => {
    for (const running of [cluster.members, cluster.members.slice(2)]) {
      const refused = await offline(consent);
      expect([refused.code, refused.stderr.includes('MEMBER_RUNS')]).toEqual([10, true]);
      expect(running.every((member) => cluster.isAlive(member))).toBe(true);
      if (running.length === 3) await stopAll(cluster.members.slice(0, 2));
    }
    await stopAll(cluster.members.slice(2));
    const unconfirmed = await offline();
    expect([unconfirmed.code, copies()]).toEqual([10, []]);
    const done = await offline(consent);
    expect(done.code, done.stderr).toBe(0);
    const report = JSON.parse(done.stdout);
    expect(report).toMatchObject({ outcome: 'done', operation: 'upgrade-offline' });
    expect(report.steps.at(-1).detail).toEqual({ cluster_version: `${to}.0` });
    for (const url of cluster.urls) expect(await runs(url)).toBe(`${to}.0`);
    const value = await home.json(['kv', 'get', 'a', '--cluster', cluster.file]);
    expect(value.value).toBe('before');
    expect(copies()).toHaveLength(3);
    for (const path of copies()) expect(existsSync(join(path, 'member', 'wal'))).toBe(true);
    const [row] = await home.json(['kv', 'history', '--cluster', cluster.file]);
    expect(row).toMatchObject({ action: 'upgrade-offline', outcome: 'done', from, to });
    // A second run finds running members, so no rolling upgrade is required.
    expect((await offline(consent)).stderr).toContain('MEMBER_RUNS');
  });
  it('names the copies and the log if a member does not start, and continues after the repair', async () => {
    await stopAll();
    writeBroken();
    const failed = await offline(consent);
    expect([failed.code, failed.stderr.includes('OFFLINE_UNFINISHED')]).toEqual([8, true]);
    expect(failed.stderr).toContain(`${cluster.members[0]?.data_dir}.before-offline-${from}`);
    expect(failed.stderr).toContain('cannot assign requested address');
    expect(copies()).toHaveLength(3);
    const status = await home.run(['kv', 'status', '--cluster', cluster.file]);
    expect(`${status.stdout}${status.stderr}`).toContain('(upgrade-offline) is unfinished');
    cluster.write({});
    const done = await offline(consent);
    expect(done.code, done.stderr).toBe(0);
    for (const url of cluster.urls) expect(await runs(url)).toBe(`${to}.0`);
    // The data from before the first start is not copied again.
    expect(copies()).toHaveLength(3);
  });
  it('makes new copies if every member was stopped after an interrupted upgrade', async () => {
    await stopAll();
    writeBroken();
    expect((await offline(consent)).code).toBe(8);
    await stopAll(cluster.members.slice(1));
    cluster.write({});
    const done = await offline(consent);
    expect(done.code, done.stderr).toBe(0);
    expect(copies()).toHaveLength(6);
  });
  it.each([
    ['the first start', /"kind":"begin"[^\n]*"step":"start"/],
    ['the first member that is healthy', /"kind":"end"[^\n]*"step":"n1.check"/],
  ])(
    'with a table of versions, a run that was killed at %s continues with the same programs',
    async (_, line) => {
      const [first] = cluster.members;
      const rows = cluster.members.map(({ old_command: _o, old_binary: _b, ...rest }) => ({
        ...rest,
        // The programs of the file belong to no version of this upgrade: only the table names them.
        new_binary: '/nonexistent/etcd',
        new_command: ['/nonexistent/etcd', ...rest.new_command.slice(1)],
      }));
      const table = (more: object = {}) => ({
        to: beyond,
        versions: { [from]: { binary: first?.old_binary }, [to]: { binary: first?.new_binary }, ...more },
      });
      cluster.write(table(), rows);
      await stopAll();
      const words = ['kv', 'upgrade', '--offline', '--cluster', cluster.file, '--to', to, '--yes', consent];
      const { wasKilled } = await killedWhen(home, words, (lines) => line.test(lines.join('\n')));
      expect(wasKilled).toBe(true);
      const before = copies();
      const resumed = await home.run([...words, '-o', 'json']);
      expect(resumed.code, resumed.stderr).toBe(0);
      expect(JSON.parse(resumed.stdout)).toMatchObject({ outcome: 'done', operation: 'upgrade-offline' });
      for (const url of cluster.urls) expect(await runs(url)).toBe(`${to}.0`);
      // If no member had been started yet, the data may have been used since, so it is copied again. No copy is removed.
      expect(copies()).toEqual(expect.arrayContaining(before));
      const value = await home.json(['kv', 'get', 'a', '--cluster', cluster.file]);
      expect(value.value).toBe('before');
    },
  );
  it('refuses a hold, and an old program that differs from the version in the database', async () => {
    expect((await home.run(['kv', 'hold', 'set', '--reason', 'audit', '--cluster', cluster.file])).code).toBe(
      0,
    );
    await stopAll();
    const held = await offline(consent);
    expect([held.code, held.stderr.includes('CLUSTER_HOLD'), copies()]).toEqual([10, true, []]);
    const wrong = cluster.members.map((member) => ({ ...member, old_command: member.new_command }));
    cluster.write({}, wrong);
    const other = await offline(consent);
    expect([other.code, copies()]).toEqual([10, []]);
    expect(other.stderr).toContain(`runs ${from}.0`);
  });
});
