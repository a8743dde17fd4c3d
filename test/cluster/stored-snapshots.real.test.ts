import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { consent } from '../support/consent.ts';
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
import { opsctl } from '../support/program.ts';
import { type S3Server, startS3 } from '../support/s3-server.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { from, to, prefix } = pair;
const hasCtl = hasBinaries(from, to) && (binariesOf(from) as Binaries).ctl !== '';
const error = (ran: { stderr: string }) => errorOf(ran);

describe.runIf(hasCtl)('stored snapshots of real servers', () => {
  let cluster: RealCluster;
  let s3: S3Server;
  let home: string;
  beforeAll(async () => {
    home = makeDirectory();
    [s3, cluster] = await Promise.all([startS3(), startCluster({ size: 3, from, to })]);
    for (let i = 0; i < 20; i += 1) await gatewayPut(cluster.urls[0] as string, `k/${i % 15}`, `v${i}`);
    await call(`${cluster.urls[0]}${prefix}/kv/deleterange`, { key: base64('k/3') });
  });
  afterAll(async () => {
    await Promise.all([cluster?.stop(), s3?.close()]);
  });
  const run = (words: readonly string[], options: { signal?: AbortSignal } = {}) =>
    opsctl(['kv', ...words, '-o', 'json'], {
      home,
      env: { ...s3.env, AWS_ENDPOINT_URL_S3: s3.url },
      ...options,
    });
  const once = async (destination: string, ...more: string[]) => {
    const ran = await run([
      'snapshot',
      'schedule',
      destination,
      '--once',
      '--cluster',
      cluster.file,
      ...more,
    ]);
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    return ran.json();
  };
  const leader = async (): Promise<string> => {
    const rows = (await run(['status', '--cluster', cluster.file])).json();
    return rows.members.find((member: { is_leader: boolean }) => member.is_leader).name;
  };

  it('one snapshot run stores a verified snapshot of a follower in a directory, with the report of the store', async () => {
    const directory = join(home, 'kept');
    const row = await once(directory);
    expect(row.member).not.toBe(await leader());
    expect(row).toMatchObject({ revision: 22, verified_by: 'checksum', pruned: [] });
    // The directory contains two files and no temporary files.
    expect(readdirSync(directory).sort()).toEqual([row.name, `${row.name}.json`]);
    const { hash_hex, total_key } = (await run(['snapshot', 'status', row.place])).json();
    expect([row.hash, row.total_key]).toEqual([hash_hex, total_key]);
  });

  it('retention prunes after each run; a bucket is a destination like a directory', async () => {
    for (let i = 0; i < 3; i += 1) {
      await gatewayPut(cluster.urls[0] as string, 'again', String(i));
      await once('s3://backups/prod', '--keep-last', '2');
    }
    const rows = (await run(['snapshot', 'list', 's3://backups/prod'])).json();
    expect(rows).toHaveLength(2);
    expect(rows[1].revision - rows[0].revision).toBe(1);
    // No local copy of the upload remains.
    expect(
      existsSync(join(home, 'state', 'snapshots')) ? readdirSync(join(home, 'state', 'snapshots')) : [],
    ).toEqual([]);
  });

  it('a trial restore has the revision, keys and hash of the cluster, and leaves no files', async () => {
    const row = await once('s3://backups/trial');
    const old = binariesOf(from) as Binaries;
    // Programs of other tests use the common temporary directory at the same time.
    const temporary = makeDirectory('tmp-', home);
    vi.stubEnv('TMPDIR', temporary);
    const words = ['snapshot', 'verify', row.place, '--restore', '--cluster', cluster.file, '--ctl', old.ctl];
    const ran = await run(words);
    vi.unstubAllEnvs();
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    const { comparisons, ok } = ran.json();
    expect(ok).toBe(true);
    expect(
      comparisons.map(({ check, ok: same }: { check: string; ok: boolean | null }) => [check, same]),
    ).toEqual([
      ['revision', true],
      ['keys', true],
      ['hash', from === '3.2' ? null : true],
    ]);
    const [listed] = (await run(['snapshot', 'list', 's3://backups/trial'])).json();
    expect(listed.verified_by).toBe('trial restore');
    expect(readdirSync(temporary).filter((name) => /^opsctl-(trial|verify)-/.test(name))).toEqual([]);
    const wrong = await run([...words, '--server', '/bin/false']);
    expect([wrong.code, error(wrong).code]).toEqual([20, 'TRIAL_RESTORE_FAILED']);
  });

  it('an upgrade puts its snapshots into a bucket, and a restore reads them from there', async () => {
    const old = binariesOf(from) as Binaries;
    cluster.write({ snapshot_dir: 's3://nobody/upgrade', ctl_binary: old.ctl });
    const words = (command: string) => [command, '--cluster', cluster.file, ...consent(command)];
    const refused = await run(words('upgrade'));
    expect([refused.code, error(refused).message]).toEqual([
      8,
      expect.stringContaining('cannot store its snapshot: bucket not found: nobody'),
    ]);
    expect((await run(['abort', '--cluster', cluster.file, '--yes'])).code).toBe(0);
    cluster.write({ snapshot_dir: 's3://backups/upgrade', ctl_binary: old.ctl });
    const done = await run(words('upgrade'));
    expect(done.code === 0 ? '' : done.stderr).toBe('');
    const paths: string[] = done.json().snapshots.map(({ path }: { path: string }) => path);
    expect(paths).toHaveLength(3);
    const listed = (await run(['snapshot', 'list', 's3://backups/upgrade'])).json();
    expect(paths.toSorted()).toEqual(listed.map(({ place }: { place: string }) => place).toSorted());
    const back = await run(words('restore'));
    expect(back.code === 0 ? '' : back.stderr).toBe('');
    for (const url of cluster.urls) {
      expect(JSON.parse((await call(`${url}/version`)).text).etcdserver).toBe(old.version);
      const { kvs } = JSON.parse((await call(`${url}${prefix}/kv/range`, { key: base64('k/4') })).text);
      expect(Buffer.from(kvs[0].value, 'base64').toString()).toBe('v19');
    }
  });

  it('the scheduler input names this program and its arguments', async () => {
    const directory = join(home, 'from timer');
    const words = ['kv', 'snapshot', 'schedule', directory, '--cluster', cluster.file, '--emit', 'cron'];
    const { stdout } = await opsctl(words, { home });
    const [, line = ''] = stdout.split('\n');
    writeFileSync(join(home, 'crontab'), stdout);
    expect(line).toMatch(/^\d+ \*\/6 \* \* \* root /);
    const shown = /schedule (.*)$/.exec(line)?.[1] ?? '';
    expect(shown).toBe(`'${directory}' --once --cluster ${cluster.file}`);
    expect(readFileSync(join(home, 'crontab'), 'utf8')).toContain('/etc/cron.d/opsctl-snapshot-test');
  });
});
