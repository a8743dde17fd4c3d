import { consent } from '../support/consent.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  gatewayPut,
  hasBinaries,
  missingWrites,
  pair,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { from, to, prefix } = pair;
/** The longer half of the suite. The other half keeps `npm test` short. */
const isSoak = process.env['OPSCTL_SOAK'] === '1';
const itWhenSoaking: (title: string, test: () => Promise<void>) => void = isSoak ? it : () => {};
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});

const kv = (...words: string[]): Promise<Ran> =>
  opsctl(['kv', ...words, '--cluster', cluster.file, ...consent(words[0]), '-o', 'json'], { home });
/** A setting that prevents the start of the new version, and its rewritten form. */
const [unreadable, readable] =
  to === '3.3'
    ? ['auto-compaction-retention: 24', 'auto-compaction-retention: "24"']
    : ['log-output: stderr', 'log-outputs: [ stderr ]'];
const error = (ran: Ran): { code: string; message: string; hint: string } => errorOf(ran);
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );

const leaderNow = async (): Promise<string | undefined> => {
  const answers = await Promise.all(
    cluster.members.map(async ({ name, client_url }) => {
      const { leader, header } = JSON.parse(
        (await call(`${client_url}${prefix}/maintenance/status`, {})).text,
      );
      return { name, isLeader: leader === header.member_id };
    }),
  );
  return answers.find(({ isLeader }) => isLeader)?.name;
};
/** Moves the leadership. 3.2 has no call for it, but a stopping leader transfers its leadership. */
const lead = async (wanted: string): Promise<void> => {
  if (from !== '3.2') return expect((await kv('move-leader', wanted)).code).toBe(0);
  for (let now = await leaderNow(); now !== wanted; now = await leaderNow()) {
    const member = cluster.members.find(({ name }) => name === now) as RealMember;
    cluster.kill(member, 'SIGTERM');
    await cluster.gone(member);
    cluster.start(member);
    await cluster.healthy();
  }
};

describe.runIf(hasBinaries(from, to))('rollback', () => {
  it('--hold-last leaves one old member; a rollback brings all back', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    const held = await kv('upgrade', '--hold-last');
    expect(held.code).toBe(8);
    expect(held.json().outcome).toBe('held');
    expect((await versions()).sort()).toEqual([from, to, to]);
    expect((await kv('status')).json()).toMatchObject({
      last_run: { outcome: 'held' },
      cluster_version: `${from}.0`,
    });
    const back = await kv('rollback');
    expect(back.code).toBe(12);
    expect(await versions()).toEqual([from, from, from]);
    expect((await kv('status')).json().last_run.outcome).toBe('rolled-back');
    if (isSoak) {
      const again = await kv('upgrade');
      expect(again.code === 0 ? '' : again.stderr).toBe('');
      expect(await versions()).toEqual([to, to, to]);
    }
    const { acknowledged, failed } = await writer.stop();
    expect(failed).toBe(0);
    for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
  });

  itWhenSoaking('a held run goes on with resume; aborted, it leaves the members as they are', async () => {
    cluster = await startCluster({ size: 3, from, to });
    await kv('upgrade', '--hold-last');
    const aborted = await kv('abort');
    expect(aborted.code).toBe(0);
    expect(aborted.json().upgraded).toHaveLength(2);
    expect((await kv('resume')).code).toBe(6);
    const rest = await kv('upgrade', '--hold-last');
    expect(rest.code).toBe(8);
    const resumed = await kv('resume');
    expect(resumed.code).toBe(0);
    expect(await versions()).toEqual([to, to, to]);
  });

  it('a plan file is refused when the cluster no longer matches (and applied when it does)', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const plan = join(home, 'plan.json');
    const made = await kv('plan', '--out', plan);
    expect(made.code).toBe(0);
    expect(JSON.parse(readFileSync(plan, 'utf8')).digest).toBe(made.json().digest);
    const leader = made.json().order.at(-1) as string;
    const target = cluster.members.find(({ name }) => name !== leader)?.name as string;
    await lead(target);
    const refused = await kv('upgrade', '--plan', plan);
    expect(refused.code).toBe(10);
    expect(error(refused)).toMatchObject({ code: 'PLAN_OUTDATED' });
    if (!isSoak) return;
    await lead(leader);
    const done = await kv('upgrade', '--plan', plan);
    expect(done.code).toBe(0);
    expect(done.json().plan_digest).toBe(made.json().digest);
  });

  it(
    'a configuration that the new version would not read is rewritten between stop and start, comments kept, and comes back with a rollback',
    covers('defect/U-14', 'spec/store#measured-configuration-1'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const before = `# kept\n${unreadable} # as ever\n`;
      const members = cluster.members.map((member) => {
        const config_file = join(cluster.directory, `${member.name}.yaml`);
        writeFileSync(config_file, before);
        return { ...member, config_file };
      });
      cluster.write({}, members);
      const plan = await kv('plan');
      expect(plan.json().steps.filter(({ kind }: { kind: string }) => kind === 'configure')).toHaveLength(3);
      expect((await kv('upgrade', '--hold-last')).code).toBe(8);
      const rewritten = members.filter(({ config_file }) =>
        readFileSync(config_file, 'utf8').includes(readable),
      );
      expect(rewritten).toHaveLength(2);
      expect(readFileSync(rewritten[0]?.config_file as string, 'utf8')).toContain('# kept');
      // The file of the last member becomes invalid during the hold. A resume runs every guard again and stops
      // no member.
      const last = members.find((member) => !rewritten.includes(member)) as (typeof members)[number];
      writeFileSync(last.config_file, 'auto-compaction-mode: bogus\nauto-compaction-retention: "7d"\n');
      const refused = await kv('resume');
      expect(refused.code).toBe(8);
      expect(error(refused)).toMatchObject({ code: 'GUARD', message: expect.stringContaining(last.name) });
      expect(errorOf(refused).data).toMatchObject({
        members: members.map(({ name }) => ({ name, state: 'up' })),
        next: ['resume', 'rollback'].map(
          (name) => `opsctl kv ${name} --cluster ${join(cluster.directory, 'cluster.yaml')}`,
        ),
      });
      expect((await versions()).sort()).toEqual([from, to, to]);
      writeFileSync(last.config_file, before);
      expect((await kv('rollback')).code).toBe(12);
      for (const { config_file } of members) expect(readFileSync(config_file, 'utf8')).toBe(before);
    },
  );

  itWhenSoaking('a snapshot of the run holds what was written before it', async () => {
    cluster = await startCluster({ size: 1, from, to });
    for (let i = 0; i < 20; i += 1) await gatewayPut(cluster.urls[0] as string, `k/${i}`, 'v');
    const done = await kv('upgrade', '--copy-data');
    const [member] = done.json().members;
    const content = await opsctl(['kv', 'snapshot', 'status', member.snapshot.path, '-o', 'json'], { home });
    expect(content.json().revision).toBeGreaterThanOrEqual(21);
    expect(member.data_copy).toContain(`n1.data.before-${to}`);
  });
});
