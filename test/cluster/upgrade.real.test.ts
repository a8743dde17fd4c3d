import { readFileSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Report } from '../../src/kv/engine/model.ts';
import {
  call,
  hasBinaries,
  missingWrites,
  type RealCluster,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { slice } from '../support/slice.ts';
import { makeDirectory } from '../support/directory.ts';

const prefixOf = (minor: string): string => (minor === '3.2' ? '/v3alpha' : '/v3beta');

let cluster: RealCluster | undefined;
const homes: string[] = [];
const home = (): string => {
  homes.push(makeDirectory());
  return homes.at(-1) as string;
};
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
  for (const directory of homes.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const versionOf = async (url: string): Promise<{ server: string; cluster: string }> => {
  const body = JSON.parse((await call(`${url}/version`)).text);
  return { server: body.etcdserver ?? body.kvserver, cluster: body.etcdcluster ?? body.kvcluster };
};

/** Returns the maximum number of members that were down at the same time, from the events of the run. */
const mostDown = (events: readonly { event: string; member: string }[]): number => {
  let [down, most] = [0, 0];
  for (const { event } of events) {
    if (event === 'member-down') down += 1;
    if (event === 'member-up') down -= 1;
    most = Math.max(most, down);
  }
  return most;
};

/** The only expected warnings are the known problems of Debian's versions. */
/** Debian's versions have known problems, and the cluster file has neither origins nor a ctl program. */
const expected = [
  /^warning: n\d: its new version is 3\.\d+\.\d+: /,
  /^warning: n1.*: cors is not set/,
  /^warning: .*the cluster file has no ctl_binary/,
];
const unexpected = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => line !== '' && !expected.some((warning) => warning.test(line)));

const ways = [
  ['3.2', '3.3'],
  ['3.3', '3.4'],
  ['3.4', '3.5'],
].filter(([from, to]) => hasBinaries(from as string, to as string));
const runs = [3, 1, 5].flatMap((size) =>
  ways.map(([from, to]) => [size, from, to] as [number, string, string]),
);

describe('a whole upgrade of real servers under a constant writer', () => {
  it.each(slice(runs, 2))('%i members, %s to %s', async (size, from, to) => {
    cluster = await startCluster({ size, from, to });
    const writer = startWriter(cluster.urls, prefixOf(from));
    const ran = await opsctl(
      ['kv', 'upgrade', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'ndjson'],
      {
        home: home(),
      },
    );
    const { acknowledged, failed, longestGapMs } = await writer.stop();
    expect(size === 1 ? [] : unexpected(ran.stderr)).toEqual([]);
    expect(ran.code).toBe(0);
    const events = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const report = events.at(-1).report as Report;
    expect(report.outcome).toBe('done');
    for (const url of cluster.urls) {
      expect((await versionOf(url)).server.startsWith(`${to}.`)).toBe(true);
      expect((await versionOf(url)).cluster).toBe(`${to}.0`);
      expect(await missingWrites(url, acknowledged, prefixOf(from))).toEqual([]);
    }
    // An idle machine makes hundreds of writes. This minimum covers each stop.
    expect(acknowledged.length).toBeGreaterThan(30);
    expect(mostDown(events)).toBe(1);
    expect(report.snapshots.map(({ member }) => member).sort()).toEqual(
      cluster.members.map(({ name }) => name).sort(),
    );
    process.stdout.write(
      `${size} members ${from} → ${to}: ${report.duration_ms} ms, ${acknowledged.length} writes, ${failed} failed, longest gap ${longestGapMs.toFixed(0)} ms, down ${report.members.map(({ down_ms }) => down_ms).join(' ')} ms\n`,
    );
    if (size > 1) expect(failed).toBe(0);
    // The leader is the last member of the order.
    const order = events[0].plan.order as string[];
    expect(report.members.find(({ was_leader }) => was_leader)?.name).toBe(order.at(-1));
  });

  it.runIf(hasBinaries('3.3', '3.4'))(
    'snapshots are verified files that the commands accept, and the journal describes the run',
    async () => {
      cluster = await startCluster({ size: 1, from: '3.3', to: '3.4' });
      const directory = home();
      const ran = await opsctl(
        ['kv', 'upgrade', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'],
        {
          home: directory,
        },
      );
      const report = ran.json() as Report;
      const path = report.snapshots[0]?.path as string;
      const verified = await opsctl(['kv', 'snapshot', 'verify', path], { home: directory });
      expect(verified.json()).toMatchObject({ ok: true, file_sha256: report.snapshots[0]?.file_sha256 });
      const lines = readFileSync(report.journal, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines[0].kind).toBe('opened');
      expect(lines.at(-1)).toMatchObject({ kind: 'closed', outcome: 'done' });
      const kinds = lines
        .filter(({ kind }) => kind === 'begin' || kind === 'end' || kind === 'crossing-confirmed')
        .map(({ kind, step, note = {} }) => [kind, step, ...Object.keys(note)].filter(Boolean).join(' '));
      expect(kinds.slice(0, 9)).toEqual([
        'crossing-confirmed',
        'begin n1.snapshot',
        'end n1.snapshot',
        'begin n1.stop',
        // Which connections it rejects, so that the health check can require the same from the new version.
        'begin n1.stop access',
        // The term of its data: a single member has no peer that would show another directory.
        'begin n1.stop raft_term',
        'end n1.stop',
        'begin n1.start',
        'end n1.start',
      ]);
      const pidsNow = () => cluster?.members.map((member) => cluster?.pid(member));
      const pids = pidsNow();
      const again = await opsctl(
        ['kv', 'upgrade', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'],
        {
          home: directory,
        },
      );
      expect(again.code).toBe(0);
      expect(again.json()).toMatchObject({ ok: true, outcome: 'done', cluster_version: '3.4.0' });
      expect(pidsNow()).toEqual(pids);
    },
  );
});
