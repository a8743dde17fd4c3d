import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { consent } from '../support/consent.ts';
import {
  type Binaries,
  binariesOf,
  call,
  hasBinaries,
  missingWrites,
  pair,
  type RealCluster,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl, type ProgramOptions } from '../support/program.ts';
import { type Alerting, startPrometheus } from '../support/prometheus.ts';
import { realPrometheus } from '../real/services.mjs';
import { whenJournal } from '../support/when-journal.ts';
import { makeDirectory } from '../support/directory.ts';

const { from, to } = pair;
const prometheus = realPrometheus();
const isPossible = hasBinaries(from, to) && !('missing' in prometheus);
let cluster: RealCluster;
let alerting: Alerting;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await Promise.all([cluster?.stop(), alerting?.close()]);
});
/** Shortens each wait of 15 s to 0.2 s. */
const impatient: ProgramOptions['host'] = (host) => ({
  ...host,
  sleep: (ms, signal) => host.sleep(Math.min(ms, 200), signal),
});
const kv = (words: readonly string[], options: Partial<ProgramOptions> = {}) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home, ...options });
const versions = (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );
const kinds = (ran: { json(): { journal: string } }): string[] =>
  readFileSync(ran.json().journal, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).kind);

describe.runIf(isPossible)('an unattended run', () => {
  it('pauses while a real Prometheus alert fires, goes on when it does not, and no acknowledged write is lost', async () => {
    [cluster, alerting] = await Promise.all([
      startCluster({ size: 3, from, to }),
      startPrometheus(join(home, 'prometheus')),
    ]);
    const posted: { event: string; text: string }[] = [];
    const hook = createServer((request, reply) => {
      let body = '';
      request
        .on('data', (part) => (body += part))
        .on('end', () => {
          posted.push(JSON.parse(body));
          reply.end();
        });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    const notify = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/T0/s3cr3t-path`;
    const writer = startWriter(cluster.urls);
    const seen: Promise<string[]>[] = [];
    // The hook after the first member returns when the alert fires. The alert ends when the journal contains
    // the pause.
    let count = 0;
    const gated = createServer((_, reply) => {
      count += 1;
      void (count === 1 ? alerting.affect(true) : Promise.resolve()).then(() => reply.end());
    });
    await new Promise<void>((resolve) => gated.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(gated.address() as AddressInfo).port}`;
    const asks = 'fetch(process.argv[1]).then(({ ok }) => process.exit(ok ? 0 : 1))';
    cluster.write({ hooks: { after_member: [process.execPath, '-e', asks, address] } });
    const ends = whenJournal(/"kind":"paused"/, async () => {
      seen.push(versions());
      await alerting.affect(false);
    });
    const metrics = join(home, 'opsctl.prom');
    const ran = await kv(
      [
        'upgrade',
        ...consent('upgrade'),
        '--pause-while-query',
        'ALERTS{alertstate="firing"}',
        '--prometheus',
        alerting.url,
        '--metrics-file',
        metrics,
      ],
      {
        host: (host) => ends(impatient(host)),
        env: { OPSCTL_NOTIFY_URL: notify, OPSCTL_NOTIFY_SECRET: 'geheim-genug' },
      },
    );
    const written = await writer.stop();
    hook.close();
    gated.close();
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    expect(ran.stderr).toContain('users are affected (a sample: UsersAffected)');
    expect(ran.stderr + ran.stdout).not.toMatch(/s3cr3t-path|geheim-genug/);
    expect(kinds(ran)).toEqual(expect.arrayContaining(['paused', 'continued']));
    // During the pause, one member ran the new version and two ran the old version.
    expect((await seen[0])?.toSorted()).toEqual([from, from, to]);
    expect(await versions()).toEqual([to, to, to]);
    expect(await missingWrites(cluster.urls[0] as string, written.acknowledged)).toEqual([]);
    expect(posted.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['run-started', 'member-upgraded', 'note', 'run-finished']),
    );
    const text = readFileSync(metrics, 'utf8');
    expect(text).toContain(`opsctl_kv_run_members{cluster="test",version="${to}"} 3\n`);
    expect(text).toContain('outcome="done"} 1\n');
    const checked = spawnSync((prometheus as { promtool: string }).promtool, ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect([checked.status, checked.stderr]).toEqual([0, '']);
    const [row] = (await kv(['history'])).json();
    expect(row).toMatchObject({
      outcome: 'done',
      from,
      to,
      resumes: 0,
      members_upgraded: expect.arrayContaining(['n1', 'n2', 'n3']),
    });
    expect(row.paused_ms).toBeGreaterThan(0);
  });

  it('the run starts no member without time in the window; the next window continues, and the plan keeps its own hold', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const soon = new Date(Date.now() + 20_000).toISOString();
    const held = await kv(['upgrade', '--yes', '--hold-last', '--until', soon]);
    expect([held.code, held.json().outcome]).toEqual([8, 'held']);
    expect(held.json().message).toMatch(/continue with opsctl kv resume --cluster \S+ --until /);
    expect(await versions()).toEqual([from, from, from]);
    const late = new Date(Date.now() + 3_600_000).toISOString();
    // A repeated command must not pass a hold, but the next window may.
    expect((await kv(['resume', '--yes'])).code).toBe(8);
    const more = await kv(['resume', '--yes', '--until', late]);
    expect([more.code, more.json().outcome, more.json().message]).toEqual([
      8,
      'held',
      expect.stringContaining('the last member of'),
    ]);
    expect((await versions()).toSorted()).toEqual([from, to, to]);
    const row = (await kv(['history'])).json()[0];
    expect([row.resumes, row.outcome]).toEqual([1, 'held']);
  });

  it('invalid flags are reported before any plan or change', async () => {
    cluster = await startCluster({ size: 1, from, to });
    const cases = [
      [['--until', '25:00'], '--until'],
      [['--pause-while-query', 'up'], '--prometheus'],
      [['--pause-at-most', 'long'], '--pause-at-most'],
      [['--confirm-each'], '--confirm-each'],
    ] as const;
    for (const [words, flag] of cases) {
      const ran = await kv(['upgrade', '--yes', '--accept', 'quorum-survives', ...words]);
      expect([ran.code, ran.stderr.includes(flag)], ran.stderr).toEqual([2, true]);
    }
    expect((await kv(['history'])).json()).toEqual([]);
    expect((binariesOf(from) as Binaries).version.startsWith(from)).toBe(true);
  });
});
