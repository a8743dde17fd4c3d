import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { linesOfRollback, linesOfRun, newestJournal } from '../support/killed-run.ts';
import { slice, testInTurn } from '../support/slice.ts';
import {
  type Simulated,
  complaint,
  lostAt,
  post,
  simulated,
  startWriting,
  text64,
} from '../support/simulated.ts';
import { covers } from '../support/covers.ts';

let home: Program;
const clusters: Simulated[] = [];
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.stop()));
});
const start = async (...flags: string[]): Promise<Simulated> => {
  const cluster = await simulated(home, '--monitor-ms', '500', ...flags);
  clusters.push(cluster);
  return cluster;
};

describe('3.2 → 3.3 on simulated members', () => {
  it.each(slice([1, 3, 5], 1))(
    'an upgrade of %i members loses no acknowledged data, has verified snapshots and a new cluster version',
    covers('spec/store#procedure-5', 'spec/store#procedure-6'),
    async (count) => {
      const cluster = await start('--members', String(count));
      const writer = startWriting(cluster.urls);
      const accept = count === 1 ? ['--accept', 'quorum-survives'] : [];
      const ended = await cluster.kv('upgrade', '--stable-for', '0', ...accept);
      const history = await writer.stop();
      expect(ended.code, ended.stderr).toBe(0);
      const report = JSON.parse(ended.stdout);
      expect(report).toMatchObject({
        outcome: 'done',
        from: '3.2',
        to: '3.3',
        cluster_version_after: '3.3.0',
      });
      expect(report.unexpected_log_lines).toEqual([]);
      expect(ended.stderr).not.toContain('unknown:');
      expect(await cluster.versions()).toEqual(Array(count).fill('3.3.27'));
      expect(await cluster.clusterVersions()).toEqual(Array(count).fill('3.3.0'));
      expect(new Set(report.snapshots.map(({ member }: { member: string }) => member)).size).toBe(count);
      if (count > 1) {
        expect(history.failed).toBe(0);
        // The snapshot of the next member runs during the soak time of the previous member.
        const { order } = JSON.parse(readFileSync(report.journal, 'utf8').split('\n')[0] as string).plan;
        const lines = readFileSync(report.journal, 'utf8').split('\n');
        const lineOf = (kind: string, step: string) =>
          lines.findIndex((line) => line.includes(`"kind":"${kind}","step":"${step}"`));
        expect(lineOf('begin', `${order[1]}.snapshot`)).toBeGreaterThan(lineOf('begin', `${order[0]}.gate`));
        expect(lineOf('end', `${order[1]}.snapshot`)).toBeLessThan(lineOf('end', `${order[0]}.gate`));
      }
      expect(history.acknowledged.length).toBeGreaterThan(10);
      for (const url of cluster.urls) expect(await lostAt(url, history)).toEqual([]);
    },
  );

  testInTurn(1, 3)('the report is there as Markdown, JSON and a page', async () => {
    const cluster = await start();
    expect((await cluster.kv('upgrade', '--stable-for', '0')).code).toBe(0);
    const journal = newestJournal(home.home);
    expect(journal).toHaveLength(linesOfRun(journal));
    const as = async (...args: string[]) =>
      (await home.run(['kv', 'report', '--cluster', cluster.file, ...args])).stdout;
    expect(await as('--as', 'markdown')).toMatch(/^# Upgrade of cluster-\w+ from 3\.2 to 3\.3: done/);
    expect(JSON.parse(await as('-o', 'json')).outcome).toBe('done');
    const file = join(home.home, 'page.html');
    await as('--out', file);
    const page = readFileSync(file, 'utf8');
    expect(page).toContain('<svg class="timeline"');
    expect(page).toMatch(/n\d led for/);
    expect(page).not.toContain('<script');
    const attached = await home.run([
      'kv',
      'report',
      '--cluster',
      cluster.file,
      '--out',
      file,
      '--attach',
      '107',
    ]);
    expect(attached.code, attached.stderr).toBe(0);
    const { files } = JSON.parse((await home.run(['tracker', 'stories', 'get', '107'])).stdout);
    expect(files).toMatchObject([{ name: 'page.html', size: Buffer.byteLength(page) }]);
    const next = join(dirname(file), 'next.html');
    const words = ['--out', next, '--attach', '107', '--dry-run', '-o', 'json'];
    const { curl } = JSON.parse(await as(...words));
    expect(curl).toContain(`-F 'file0=@"${next}";type=text/html'`);
    expect(existsSync(next)).toBe(false);
    const whole = JSON.parse(await as('-o', 'json'));
    for (const name of ['report.json', 'events.ndjson']) rmSync(join(dirname(whole.journal), name));
    const rebuilt = await home.run(['kv', 'report', '--cluster', cluster.file, '-o', 'json']);
    expect(rebuilt.stderr).toContain('created this report from its journal');
    const { outcome, run, steps, snapshots } = JSON.parse(rebuilt.stdout);
    expect({ outcome, run, snapshots }).toEqual({
      outcome: 'done',
      run: whole.run,
      snapshots: whole.snapshots,
    });
    expect(steps.map(({ outcome: how }: { outcome: string }) => how)).toEqual(
      whole.steps.map(({ outcome: how }: { outcome: string }) => how),
    );
    expect(await as('--as', 'html')).toContain('<svg class="timeline"');
    const missing = await home.run(['kv', 'report', 'nothing', '--cluster', cluster.file, '-o', 'json']);
    expect([missing.code, complaint(missing).code]).toEqual([6, 'NO_RUN']);
  });

  testInTurn(2, 3)(
    'auth on, with configuration files: they are rewritten for 3.3, comments kept; the user of the cluster file is used, and the password is nowhere in the output',
    async () => {
      const cluster = await start('--auth', '--config-files');
      const password = readFileSync(join(cluster.dir, 'password'), 'utf8').trim();
      const ended = await cluster.kv('upgrade', '--stable-for', '0', '-v');
      expect(ended.code, ended.stderr).toBe(0);
      expect(ended.stdout + ended.stderr).not.toContain(password);
      expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
      const text = readFileSync(join(cluster.dir, 'n1.conf.yaml'), 'utf8');
      expect(text).toMatch(/auto-compaction-mode: ["']?periodic/);
      expect(text).toMatch(/auto-compaction-retention: ["']24h?["']/);
      expect(text).toContain('# hours of history that are kept');
    },
  );
});

describe('failures of an upgrade', () => {
  it.each(
    slice<[string, string[]]>(
      [
        ['crash-at-start', []],
        ['exit-after', ['--ms', '300']],
        ['never-healthy', []],
      ],
      1,
    ),
  )(
    '%s of a new binary: that member is reverted, no data is lost, exit code 12',
    covers('exit/rolled-back'),
    async (kind, more) => {
      const cluster = await start();
      cluster.timeouts({ gate_seconds: 4 });
      for (const name of cluster.names)
        await cluster.mock('fault', kind, '--member', name, '--only-version', '3.3', ...more);
      const writer = startWriting(cluster.urls);
      const ended = await cluster.kv('upgrade', '--stable-for', '1');
      const history = await writer.stop();
      expect(ended.code, ended.stderr).toBe(12);
      expect(ended.stderr).toMatch(/n\d/);
      expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
      expect(history.failed).toBe(0);
      for (const url of cluster.urls) expect(await lostAt(url, history)).toEqual([]);
    },
  );

  it.each(
    slice(
      [
        ['links-out', '3.2.32', '3.3.27'],
        ['links-in', '3.2.32', '3.3.27'],
        ['links-out', '3.3.27', '3.4.23'],
        ['links-in', '3.3.27', '3.4.23'],
      ] as const,
      1,
    ),
  )(
    'the upgrade rolls the first member back when its new version has the fault %s (%s to %s)',
    async (kind, old, next) => {
      const cluster = await start('--version', old, '--new-version', next);
      cluster.timeouts({ gate_seconds: 8 });
      const pids = async (): Promise<Record<string, number>> =>
        Object.fromEntries(
          JSON.parse((await cluster.mock('status')).stdout).map((one: { name: string; pid: number }) => [
            one.name,
            one.pid,
          ]),
        );
      const before = await pids();
      const only = next.split('.').slice(0, 2).join('.');
      for (const name of cluster.names)
        await cluster.mock('fault', kind, '--member', name, '--only-version', only);
      const ended = await cluster.kv('upgrade', '--stable-for', '0');
      expect(ended.code, ended.stderr).toBe(12);
      expect(complaint(ended).message).toContain('peer-links');
      expect(await cluster.versions()).toEqual([old, old, old]);
      const after = await pids();
      expect(cluster.names.filter((name) => after[name] !== before[name])).toHaveLength(1);
    },
  );

  testInTurn(0, 3)(
    'an alarm, a stopped member, and a binary one minor too far are refused without changes',
    async () => {
      const cluster = await start();
      const pids = async () =>
        JSON.parse((await cluster.mock('status')).stdout).map(({ pid }: { pid: number }) => pid);
      const before = await pids();
      await cluster.mock('fault', 'nospace', '--member', 'n2');
      const alarmed = await cluster.kv('upgrade');
      expect([alarmed.code, complaint(alarmed).code]).toEqual([10, 'NO_ALARMS']);
      await cluster.mock('fault', 'clear', '--member', 'n2');
      const tooFar = await start('--new-version', '3.4.23');
      const far = await tooFar.kv('upgrade', '--to', '3.3');
      expect([far.code, complaint(far).message]).toEqual([10, expect.stringMatching(/3\.4\.23/)]);
      expect(await pids()).toEqual(before);
      await cluster.mock('stop', '--member', 'n3', '--kill');
      const down = await cluster.kv('upgrade');
      expect([down.code, complaint(down).message]).toEqual([10, expect.stringContaining('n3')]);
      expect((await pids()).slice(0, 2)).toEqual(before.slice(0, 2));
    },
  );

  testInTurn(1, 3)('a member that is down is upgraded first if the operator accepts it', async () => {
    const cluster = await start();
    await cluster.mock('stop', '--member', 'n2', '--kill');
    const held = await cluster.kv(
      'upgrade',
      '--accept',
      'all-members-healthy',
      '--hold-after',
      '1',
      '--stable-for',
      '0',
    );
    expect([held.code, await cluster.versions()]).toEqual([8, ['3.2.32', '3.3.27', '3.2.32']]);
    expect((await cluster.kv('resume')).code).toBe(0);
    expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
  });

  testInTurn(2, 3)('a member that ignores the stop is not killed: the run stops and reports it', async () => {
    const cluster = await start();
    cluster.timeouts({ stop_seconds: 1 });
    for (const name of cluster.names) await cluster.mock('fault', 'ignore-sigterm', '--member', name);
    const ended = await cluster.kv('upgrade', '--stable-for', '0');
    expect(ended.code).toBe(8);
    expect(complaint(ended).message).toMatch(/n\d/);
    expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
    for (const name of cluster.names) await cluster.mock('fault', 'clear', '--member', name);
    // Without the fault, a member on a busy machine may need more than a second for its exit.
    cluster.timeouts({});
    expect((await cluster.kv('resume')).code).toBe(0);
    expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
  });

  testInTurn(0, 3)(
    'a run held before the last member can be rolled back; after the last member it cannot',
    async () => {
      const cluster = await start();
      const held = await cluster.kv('upgrade', '--hold-last', '--stable-for', '0');
      expect(held.code).toBe(8);
      expect((await cluster.versions()).toSorted()).toEqual(['3.2.32', '3.3.27', '3.3.27']);
      expect(await cluster.clusterVersions()).toEqual(['3.2.0', '3.2.0', '3.2.0']);
      const before = newestJournal(home.home).length;
      expect((await cluster.kv('rollback')).code).toBe(12);
      expect(newestJournal(home.home).length - before).toBe(linesOfRollback);
      expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
      // A resume does not continue a rolled back run. That requires a new upgrade.
      expect((await cluster.kv('resume')).code).toBe(12);
      expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
      expect((await cluster.kv('upgrade', '--stable-for', '0')).code).toBe(0);
      const late = await cluster.kv('rollback');
      expect(late.code).toBe(10);
      expect(JSON.stringify(complaint(late))).toContain('opsctl kv restore');
      await cluster.mock('stop', '--member', 'n1');
      await cluster.mock('start', '--member', 'n1', '--binary', 'old', '--no-wait');
      await expect
        .poll(() => cluster.log('n1'))
        .toContain(
          'cluster cannot be downgraded (current version: 3.2.32 is lower than determined cluster version: 3.3).',
        );
    },
  );
});

describe('a run that was planned to hold', () => {
  testInTurn(1, 3)(
    'still holds when it goes on after a stop, with its own members only; after the hold it goes to the end',
    async () => {
      const cluster = await start();
      const text = readFileSync(cluster.file, 'utf8');
      writeFileSync(cluster.file, `${text}\nhooks: { after_member: ['false'] }\n`);
      const stopped = await cluster.kv('upgrade', '--hold-last', '--stable-for', '0');
      expect(complaint(stopped)).toMatchObject({ code: 'HOOK_FAILED', exit_code: 8 });
      // Another cluster with the same name.
      writeFileSync(cluster.file, text.replaceAll(cluster.urls[2] as string, 'http://127.0.0.1:1'));
      expect(complaint(await cluster.kv('resume'))).toMatchObject({ code: 'OTHER_CLUSTER', exit_code: 10 });
      writeFileSync(cluster.file, text);
      expect((await cluster.kv('resume')).code).toBe(8);
      expect((await cluster.versions()).toSorted()).toEqual(['3.2.32', '3.3.27', '3.3.27']);
      expect((await cluster.kv('resume')).code).toBe(0);
      expect(await cluster.versions()).toEqual(['3.3.27', '3.3.27', '3.3.27']);
    },
  );
});

describe('kv rehearse', () => {
  it('runs the same plan on simulated servers with the same keys; the cluster is not touched', async () => {
    const cluster = await start();
    for (let i = 0; i < 20; i += 1)
      await post(cluster.urls[0] as string, '/kv/put', {
        key: text64(`k${i}`),
        value: text64('x'.repeat(i * 100)),
      });
    await post(cluster.urls[0] as string, '/kv/deleterange', { key: text64('k7') });
    const before = JSON.parse((await cluster.mock('status')).stdout).map(({ pid }: { pid: number }) => pid);
    const ended = await cluster.kv('rehearse', '--stable-for', '0');
    expect(ended.code, ended.stderr).toBe(0);
    const result = JSON.parse(ended.stdout);
    expect(result).toMatchObject({
      ok: true,
      mode: 'simulated servers',
      outcome: 'done',
      keys_before: 19,
      keys_after: 19,
    });
    expect(existsSync(join(result.directory, 'report.html'))).toBe(true);
    expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
    expect(JSON.parse((await cluster.mock('status')).stdout).map(({ pid }: { pid: number }) => pid)).toEqual(
      before,
    );
  });
  it('refuses --real where it is not possible', async () => {
    const cluster = await start('--members', '1');
    const ended = await cluster.kv('rehearse', '--real', '--accept', 'quorum-survives');
    expect([ended.code, complaint(ended).message]).toEqual([2, expect.stringContaining('invalid arguments')]);
  });
});

describe('kv fleet', () => {
  const fleetOf = async (count: number): Promise<{ file: string; all: Simulated[] }> => {
    const all: Simulated[] = [];
    for (let i = 0; i < count; i += 1) {
      const cluster = await start('--members', '3', '--quota', String(1_000_000_000 + i));
      all.push(cluster);
    }
    const file = join(home.home, 'fleet.yaml');
    writeFileSync(
      file,
      `name: shops\ncanary: ${all[1]?.file}\nat_once: 2\nclusters:\n${all.map((one) => `  - ${one.file}\n`).join('')}`,
    );
    return { file, all };
  };
  it('kv fleet upgrades the canary first, then the others; a second run has no work', async () => {
    const { file, all } = await fleetOf(2);
    const rows = await home.json(['kv', 'fleet', file, '--yes', '--accept-point-of-no-return']);
    expect(rows.map(({ file: path, outcome }: { file: string; outcome: string }) => [path, outcome])).toEqual(
      [
        [all[1]?.file, 'done'],
        [all[0]?.file, 'done'],
      ],
    );
    for (const cluster of all) expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
    expect(
      (await home.json(['kv', 'fleet', file, '--yes', '--accept-point-of-no-return'])).map(
        ({ message }: { message: string }) => message,
      ),
    ).toEqual([expect.stringContaining('already'), expect.stringContaining('already')]);
  });
  testInTurn(2, 3)('stops at the first failure: the others are not touched', async () => {
    const { file, all } = await fleetOf(2);
    for (const name of ['n1', 'n2', 'n3'])
      await all[1]?.mock('fault', 'crash-at-start', '--member', name, '--only-version', '3.3');
    const ended = await home.run(['kv', 'fleet', file, '--yes', '--accept-point-of-no-return', '-o', 'json']);
    expect(ended.code).toBe(9);
    expect(
      JSON.parse(ended.stdout).map(({ outcome, exit_code }: { outcome: string; exit_code: number }) => [
        outcome,
        exit_code,
      ]),
    ).toEqual([
      ['failed', 12],
      ['not started', null],
    ]);
    expect(await all[0]?.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
  });
  testInTurn(0, 3)('kv fleet checks every cluster first: one that is not ready refuses all', async () => {
    const { file, all } = await fleetOf(2);
    await all[0]?.mock('stop', '--member', 'n1', '--kill');
    const ended = await home.run(['kv', 'fleet', file, '--yes', '--accept-point-of-no-return', '-o', 'json']);
    expect([ended.code, complaint(ended).code]).toEqual([10, 'FLEET_NOT_READY']);
    expect(complaint(ended).problems.map(({ message }) => message)).toEqual([expect.stringContaining('n1')]);
    expect(await all[1]?.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
  });
});
