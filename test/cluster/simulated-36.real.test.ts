/**
 * Upgrades from 3.5 to 3.6, downgrades and restarts of simulated members with the built program, SIGKILL and
 * failures.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { consent } from '../support/consent.ts';
import { killedWhen, newestJournal } from '../support/killed-run.ts';
import { slice, testInTurn } from '../support/slice.ts';
import { type Simulated, complaint, lostAt, simulated, startWriting } from '../support/simulated.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';

let home: Program;
const clusters: Simulated[] = [];
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.stop()));
});
const prefix = '/v3';
const start = async (version: string, newVersion: string, ...flags: string[]): Promise<Simulated> => {
  const versions = ['--version', version, '--new-version', newVersion];
  const cluster = await simulated(home, '--monitor-ms', '200', ...versions, ...flags);
  clusters.push(cluster);
  return cluster;
};
const up = (...flags: string[]) => start('3.5.33', '3.6.14', ...flags);
/** A 3.6 cluster with 3.5 as its previous version. */
const at36 = async (count = 3): Promise<Simulated> => {
  const cluster = await up('--members', String(count));
  const ended = await cluster.kv('upgrade', '--stable-for', '0', ...accepted(count));
  expect(ended.code, ended.stderr).toBe(0);
  return cluster;
};
const accepted = (count: number): string[] => (count === 1 ? ['--accept', 'quorum-survives'] : []);
const all = (cluster: Simulated, version: string): string[] => Array(cluster.urls.length).fill(version);

describe('a cluster file with a table of versions', () => {
  testInTurn(0, 3)(
    'restart, replace-member, downgrade and restore use the rows of the running versions',
    async () => {
      const cluster = await start('3.4.23', '3.5.33', '--later-version', '3.6.14', '--members', '3');
      const done = async (...words: [string, ...string[]]) => {
        const ended = await cluster.kv(...words);
        expect(ended.code === 0 ? '' : ended.stderr).toBe('');
      };
      await done('upgrade', '--stable-for', '0', '--to', '3.6', '--soak', '0s');
      expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.6.0'));
      // The programs outside of the table are those of 3.4 and 3.5.
      await done('restart', '--stable-for', '0');
      await done('restart', '--stable-for', '0', '--keep-program');
      await done('replace-member', 'n2');
      expect(await cluster.versions()).toEqual(all(cluster, '3.6.14'));
      await done('downgrade', '--stable-for', '0');
      expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
      await done('replace-member', 'n3');
      await done('restart', '--stable-for', '0');
      const snapshot = `${cluster.dir}/saved.db`;
      expect((await home.run(['kv', 'snapshot', 'save', snapshot, '--cluster', cluster.file])).code).toBe(0);
      await done('restore', '--snapshot', snapshot, '--to', '3.5');
      expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    },
  );
});

describe('the step from 3.6 to 3.7', () => {
  testInTurn(2, 3)('upgrades, and a downgrade returns to 3.6; an early 3.6 is refused', async () => {
    const early = await start('3.6.10', '3.7.1', '--members', '1');
    const refused = await early.kv('upgrade', '--stable-for', '0', ...accepted(1));
    expect([refused.code, refused.stderr]).toEqual([10, naming('3.6.11')]);
    const cluster = await start('3.6.14', '3.7.1', '--members', '1');
    const upgraded = await cluster.kv('upgrade', '--stable-for', '0', ...accepted(1));
    expect(upgraded.code, upgraded.stderr).toBe(0);
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.7.0'));
    const returned = await cluster.kv('downgrade', '--stable-for', '0', ...accepted(1));
    expect(returned.code, returned.stderr).toBe(0);
    expect(await cluster.versions()).toEqual(all(cluster, '3.6.14'));
  });
});

describe('a rehearsal over two hops', () => {
  testInTurn(1, 3)('upgrades the simulated copy to the last version, and the cluster stays', async () => {
    const cluster = await start('3.4.23', '3.5.33', '--later-version', '3.6.14', '--members', '3');
    const ended = await cluster.kv('rehearse', '--to', '3.6', '--stable-for', '0');
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      ...{ ok: true, mode: 'simulated servers', outcome: 'done' },
      hops: [
        { from: '3.4', to: '3.5', outcome: 'done' },
        { from: '3.5', to: '3.6', outcome: 'done' },
      ],
    });
    expect(await cluster.versions()).toEqual(all(cluster, '3.4.23'));
  });
});

describe('3.5 → 3.6 → 3.5', () => {
  it.each(slice([1, 3, 5], 1))('a downgrade of %i members loses no acknowledged data', async (count) => {
    const cluster = await up('--members', String(count));
    const writer = startWriting(cluster.urls, {}, prefix);
    const upgraded = await cluster.kv('upgrade', '--stable-for', '0', ...accepted(count));
    expect(upgraded.code, upgraded.stderr).toBe(0);
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.6.0'));
    const back = await cluster.kv('downgrade', '--stable-for', '0', ...accepted(count));
    expect(back.code, back.stderr).toBe(0);
    const history = await writer.stop();
    expect(JSON.parse(back.stdout)).toMatchObject({ outcome: 'done', from: '3.6', to: '3.5' });
    expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.5.0'));
    if (count > 1) expect(history.failed).toBe(0);
    for (const url of cluster.urls) expect(await lostAt(url, history, prefix)).toEqual([]);
  });

  testInTurn(2, 3)(
    'a stopped cluster starts again and a member is replaced, after an upgrade and a downgrade',
    async () => {
      const cluster = await at36();
      const again = async () => {
        expect((await cluster.mock('stop')).code).toBe(0);
        expect((await cluster.mock('start', '--again')).code).toBe(0);
        return cluster.versions();
      };
      expect(await again()).toEqual(all(cluster, '3.6.14'));
      const back = await cluster.kv('downgrade', '--stable-for', '0');
      expect(back.code, back.stderr).toBe(0);
      expect(await again()).toEqual(all(cluster, '3.5.33'));
      // The new member replays a history that includes the time at cluster version 3.6.
      const replaced = await cluster.kv('replace-member', 'n2');
      expect(replaced.code, replaced.stderr).toBe(0);
      expect(await again()).toEqual(all(cluster, '3.5.33'));
    },
  );

  testInTurn(0, 3)('half-way up it goes back, and half-way down too', async () => {
    const cluster = await up();
    expect((await cluster.kv('upgrade', '--stable-for', '0', '--hold-last')).code).toBe(8);
    expect((await cluster.kv('rollback')).code).toBe(12);
    expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    expect((await cluster.kv('upgrade', '--stable-for', '0')).code).toBe(0);
    expect((await cluster.kv('downgrade', '--stable-for', '0', '--hold-after', '1')).code).toBe(8);
    const ended = await cluster.kv('rollback');
    expect(ended.code, ended.stderr).toBe(12);
    expect(await cluster.versions()).toEqual(all(cluster, '3.6.14'));
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.6.0'));
  });

  testInTurn(1, 3)('a 3.6 that does not start on a member gets 3.5 back, and the rest stays', async () => {
    const cluster = await up();
    expect(
      (await cluster.mock('fault', 'crash-at-start', '--member', 'n2', '--only-version', '3.6')).code,
    ).toBe(0);
    const ended = await cluster.kv('upgrade', '--stable-for', '0');
    expect(ended.code, ended.stderr).toBe(12);
    expect((await cluster.versions())[1]).toBe('3.5.33');
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.5.0'));
  });

  it(
    '3.6 does not start on v2 data: the first member gets 3.5 back',
    covers('spec/store#measured-later-4'),
    async () => {
      const cluster = await up('--v2-size', '4096');
      const ended = await cluster.kv('upgrade', '--stable-for', '0');
      expect(ended.code, ended.stderr).toBe(12);
      expect(complaint(ended).message).toContain('illegal v2store content');
      expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    },
  );

  testInTurn(2, 3)('a 3.5 that does not start during a downgrade gets 3.6 back', async () => {
    const cluster = await at36();
    await cluster.mock('fault', 'crash-at-start', '--only-version', '3.5');
    const ended = await cluster.kv('downgrade', '--stable-for', '0');
    expect(ended.code, ended.stderr).toBe(12);
    expect(await cluster.versions()).toEqual(all(cluster, '3.6.14'));
    await cluster.mock('fault', 'clear');
    const cancelled = await cluster.kv('rollback');
    expect(cancelled.code, cancelled.stderr).toBe(12);
    expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.6.0'));
  });

  testInTurn(1, 3)(
    'a downgrade is canceled before its first member; a cluster of 3.5 has no downgrade',
    async () => {
      const cluster = await at36();
      const [url] = cluster.urls as [string];
      const enable = { method: 'POST', body: JSON.stringify({ action: 'ENABLE', version: '3.5' }) };
      expect((await fetch(`${url}/v3/maintenance/downgrade`, enable)).status).toBe(200);
      const cancelled = await cluster.kv('downgrade', '--cancel');
      expect(cancelled.code, cancelled.stderr).toBe(0);
      expect(await cluster.clusterVersions()).toEqual(all(cluster, '3.6.0'));
      const old = await start('3.5.33', '3.6.14', '--members', '3', '--field-words', 'etcd');
      const refused = await old.kv('downgrade');
      expect([refused.code, complaint(refused).code]).toEqual([10, 'VERSION_PATH']);
    },
  );
});

/** Kills the run after `more` additional journal lines. Returns true if the run had not finished. */
const killedAt = async (cluster: Simulated, verb: string, more: number): Promise<boolean> => {
  const before = newestJournal(home.home);
  const isNew = verb !== 'resume';
  const until = more + (isNew ? 0 : before.length);
  const words = ['kv', verb, '--cluster', cluster.file, ...consent(verb), '-o', 'json'];
  const { wasKilled } = await killedWhen(
    home,
    [...words, ...(isNew ? ['--stable-for', '0'] : [])],
    (lines) => (!isNew || lines[0] !== before[0]) && lines.length >= until,
  );
  return wasKilled;
};

describe('a downgrade that is killed', () => {
  testInTurn(2, 3)('a downgrade that is killed repeatedly is completed by resumes', async () => {
    const cluster = await at36();
    const writer = startWriting(cluster.urls, {}, prefix);
    let kills = 0;
    while (await killedAt(cluster, kills === 0 ? 'downgrade' : 'resume', kills + 1)) kills += 1;
    const done = await cluster.kv('resume');
    expect(done.code, done.stderr).toBe(0);
    const history = await writer.stop();
    // The number of lines before a kill depends on the speed of the machine.
    expect(kills).toBeGreaterThan(1);
    expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    for (const url of cluster.urls) expect(await lostAt(url, history, prefix)).toEqual([]);
  });
});

describe('a restart', () => {
  testInTurn(0, 3)('replaces every process, one after another, with another patch', async () => {
    const cluster = await start('3.5.32', '3.5.33');
    const writer = startWriting(cluster.urls, {}, prefix);
    const ended = await cluster.kv('restart', '--stable-for', '0');
    const history = await writer.stop();
    expect(ended.code, ended.stderr).toBe(0);
    expect(await cluster.versions()).toEqual(all(cluster, '3.5.33'));
    expect(history.failed).toBe(0);
    for (const url of cluster.urls) expect(await lostAt(url, history, prefix)).toEqual([]);
  });
  testInTurn(1, 3)('a held restart can go back to the previous patch', async () => {
    const cluster = await start('3.5.32', '3.5.33');
    expect((await cluster.kv('restart', '--stable-for', '0', '--hold-after', '1')).code).toBe(8);
    expect((await cluster.versions()).filter((version) => version === '3.5.33')).toHaveLength(1);
    const back = await cluster.kv('rollback');
    expect(back.code, back.stderr).toBe(12);
    expect(await cluster.versions()).toEqual(all(cluster, '3.5.32'));
  });
  testInTurn(0, 3)('a held restart that another machine finished refuses nothing here', async () => {
    const cluster = await start('3.5.32', '3.5.33');
    expect((await cluster.kv('restart', '--stable-for', '0', '--hold-after', '1')).code).toBe(8);
    expect((await cluster.kv('defrag')).code).toBe(10);
    const other = program();
    const words = ['resume', '--cluster', cluster.file, ...consent('resume'), '-o', 'json'];
    const resumed = await other.run(['kv', ...words]);
    expect(resumed.code, resumed.stderr).toBe(0);
    const defragmented = await cluster.kv('defrag');
    expect(defragmented.code, defragmented.stderr).toBe(0);
    const again = await cluster.kv('restart', '--stable-for', '0', '--dry-run');
    expect(again.code, again.stderr).toBe(0);
  });
});
