import { consent } from '../support/consent.ts';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  base64,
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  pair,
  type RealCluster,
  startCluster,
} from '../support/cluster.ts';
import type { Host } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { whenJournal } from '../support/when-journal.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { from, to, prefix } = pair;
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
/** A setting that prevents the start of the new version. */
const unreadable = to === '3.3' ? 'auto-compaction-retention: 24' : 'log-output: stderr';
const value = async (url: string, key: string): Promise<string | undefined> => {
  const kvs = JSON.parse((await call(`${url}${prefix}/kv/range`, { key: base64(key) })).text).kvs ?? [];
  return kvs[0] === undefined ? undefined : Buffer.from(kvs[0].value, 'base64').toString();
};

/** The ctl program of the old version rebuilds the directories. */
const hasCtl = hasBinaries(from, to) && (binariesOf(from) as Binaries).ctl !== '';
describe.runIf(hasCtl)('restore after the point of no return', () => {
  it(
    'restore lists the losses, rejects an incorrect ctl, and rebuilds the cluster on the old version',
    covers('defect/U-33', 'spec/store#procedure-2', 'spec/store#versions-6'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const [old, fresh] = [binariesOf(from) as Binaries, binariesOf(to) as Binaries];
      await gatewayPut(cluster.urls[0] as string, 'before', 'kept');
      const before = `# kept\n${unreadable}\n`;
      const members = cluster.members.map((member) => ({
        ...member,
        config_file: join(cluster.directory, `${member.name}.yaml`),
      }));
      for (const { config_file } of members) writeFileSync(config_file, before);
      cluster.write({}, members);
      const words = (...more: string[]) => [
        'kv',
        ...more,
        '--cluster',
        cluster.file,
        ...consent(more[0]),
        '-o',
        'json',
      ];
      expect((await opsctl(words('upgrade'), { home })).code).toBe(0);
      await gatewayPut(cluster.urls[0] as string, 'after', 'lost');
      cluster.write({ ctl_binary: fresh.ctl }, members);
      const wrong = await opsctl(words('restore'), { home });
      expect(wrong.code).toBe(10);
      expect(wrong.stderr).toContain(`the ctl program is ${to}.`);
      cluster.write({ ctl_binary: old.ctl }, members);
      const dry = (await opsctl([...words('restore'), '--dry-run'], { home })).json();
      expect(dry.lost_revisions).toBeGreaterThan(0);
      expect(dry.members).toHaveLength(3);
      expect(await value(cluster.urls[0] as string, 'after')).toBe('lost');
      // The restore is interrupted after the first swapped directory. `status` reports this, and the same
      // command continues from there.
      const breaksOff = whenJournal(/"kind":"swapped"/, () => {
        throw new Error('power cut');
      });
      expect((await opsctl(words('restore'), { home, host: breaksOff })).code).not.toBe(0);
      const asked = await opsctl(['kv', 'status', '--cluster', cluster.file, '-o', 'table'], { home });
      expect(asked.stdout).toContain(
        `the restore to ${from} was interrupted with the members stopped, 1 of 3 data directories swapped`,
      );
      const done = await opsctl(words('restore'), { home });
      expect(done.stderr).not.toContain('new data directory built');
      expect(done.code === 0 ? '' : done.stderr).toBe('');
      for (const url of cluster.urls) {
        expect(JSON.parse((await call(`${url}/version`)).text).etcdserver).toBe(old.version);
        expect(await value(url, 'before')).toBe('kept');
        expect(await value(url, 'after')).toBeUndefined();
      }
      // The configuration of the new version would prevent the start of the old version.
      for (const { config_file } of members) expect(readFileSync(config_file, 'utf8')).toBe(before);
      for (const { kept_data } of done.json().members) expect(existsSync(kept_data)).toBe(true);
      expect(
        (await opsctl(['kv', 'status', '--cluster', cluster.file, '-o', 'table'], { home })).stdout,
      ).toContain(`restored to ${from} at revision`);
      // The later writes are also kept, and a second rebuild overwrites no kept data.
      const again = await opsctl(words('restore'), { home });
      expect(again.code === 0 ? '' : again.stderr).toBe('');
      const kept: string[] = [...done.json().members, ...again.json().members].map(
        ({ kept_data }) => kept_data,
      );
      expect(new Set(kept).size).toBe(6);
      expect(kept.filter((directory) => existsSync(`${directory}/member/snap/db`))).toEqual(kept);
    },
  );
});

/** A machine whose processes are the main processes of units `kv-PID.service`. */
const underSystemd = (host: Host): Host => ({
  ...host,
  files: {
    ...host.files,
    readNow: (path) => {
      const pid = /^\/proc\/(\d+)\/cgroup$/.exec(path)?.[1];
      return pid === undefined ? host.files.readNow(path) : `0::/system.slice/kv-${pid}.service\n`;
    },
  },
  processes: {
    ...host.processes,
    run: async (command, args, options) =>
      command === 'systemctl'
        ? {
            code: 0,
            signal: null,
            stdout: `${/(\d+)\.service$/.exec(args.at(-1) ?? '')?.[1]}\n`,
            stderr: '',
            timedOut: false,
          }
        : host.processes.run(command, args, options),
  },
});

describe.runIf(hasBinaries(from, to))('kv init', () => {
  it(
    'writes a cluster file from a running cluster with which it can be planned',
    covers('defect/U-25'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const file = join(home, 'mine.yaml');
      const fresh = binariesOf(to) as Binaries;
      const made = await opsctl(
        [
          'kv',
          'init',
          '--endpoints',
          cluster.urls[0] as string,
          '--new-binary',
          fresh.server,
          '--out',
          file,
          '-o',
          'json',
        ],
        {
          home,
        },
      );
      expect(made.code === 0 ? '' : made.stderr).toBe('');
      expect(made.json().to_fill_in).toEqual([]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const content = parse(readFileSync(file, 'utf8'));
      expect(content.name).toBe('mine');
      const beside = join(dirname((binariesOf(from) as Binaries).server), 'etcdctl');
      expect(content.ctl_binary).toBe(existsSync(beside) ? beside : undefined);
      for (const { name, pid_file, log_file } of cluster.members)
        expect(content.members.find((one: { name: string }) => one.name === name)).toMatchObject({
          pid_file,
          log_file,
        });
      expect(content.members.map(({ client_url }: { client_url: string }) => client_url).sort()).toEqual(
        [...cluster.urls].sort(),
      );
      expect(content.members.find(({ name }: { name: string }) => name === 'n1').data_dir).toBe(
        cluster.members[0]?.data_dir,
      );
      const units = join(home, 'units.yaml');
      const words = [
        'kv',
        'init',
        '--endpoints',
        cluster.urls[0] as string,
        '--new-binary',
        fresh.server,
        '--out',
        units,
      ];
      expect((await opsctl(words, { home, host: underSystemd })).code).toBe(0);
      const { driver, members } = parse(readFileSync(units, 'utf8'));
      expect(driver).toBe('systemd');
      for (const member of cluster.members)
        expect(members.find(({ name }: { name: string }) => name === member.name)).toMatchObject({
          ...{
            unit: `kv-${cluster.pid(member)}.service`,
            binary_path: member.old_binary,
            data_dir: member.data_dir,
          },
        });
      const plan = await opsctl(['kv', 'plan', '--cluster', file, '-o', 'json'], { home });
      expect(plan.code === 0 ? '' : plan.stderr).toBe('');
      // 3.2 has no call for a leader transfer, so its plan has one step less.
      expect(plan.json().steps.length).toBe(from === '3.2' ? 13 : 14);
    },
  );
});

/** etcdctl of 3.5 can raise the revisions. */
describe.runIf(hasBinaries('3.5'))('a restore of real 3.5 members', () => {
  it('raises the revisions and cancels watches from before', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    cluster.write({ ctl_binary: (binariesOf('3.5') as Binaries).ctl }, cluster.members);
    const kv = (...words: string[]) =>
      opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });
    await kv('put', 'a', '1');
    const file = join(home, 'saved.db');
    expect((await kv('snapshot', 'save', file)).code).toBe(0);
    const before = (await kv('put', 'a', '2')).json().revision;
    const done = await kv('restore', '--snapshot', file, '--to', '3.5', '--yes');
    expect(done.code === 0 ? '' : done.stderr).toBe('');
    expect(done.json().revision).toBeGreaterThan(1_000_000_000);
    expect((await kv('get', 'a')).json().value).toBe('1');
    const watch = await kv('watch', 'a', '--rev', String(before));
    expect([watch.code, errorOf(watch).code]).toEqual([5, 'COMPACTED']);
  });
});
