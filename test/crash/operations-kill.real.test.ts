import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import {
  call,
  hasBinaries,
  missingWrites,
  pause,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { killedWhen, newestJournal } from '../support/killed-run.ts';
import { testSeed } from '../support/seeded.ts';

let home: Program | undefined;
let cluster: RealCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
});

/** Runs the operation and kills the program as soon as the journal has this number of lines. */
const killedAfter = async (words: readonly string[], lines: number): Promise<boolean> => {
  const { wasKilled } = await killedWhen(home as Program, words, (journal) => journal.length >= lines);
  return wasKilled;
};

/** Returns all lines in a soak test. Otherwise returns a few lines, which differ in each run of the suite. */
const chosen = (all: number): number[] => {
  if (process.env['OPSCTL_SOAK'] === '1') return Array.from({ length: all }, (_, i) => i + 1);
  const seed = testSeed;
  return [0, 1].map((half) => 1 + ((seed + half * Math.floor(all / 2)) % all));
};
const lineOf = (verb: readonly string[]): string[] => [
  ...['kv', ...verb, '--cluster', (cluster as RealCluster).file],
  ...['--yes', '--no-canary', '-o', 'json'],
];
/** Verifies that the operation was resumed in the same journal, that the outcome is `done`, and that each step ended once. */
const isDone = (): void => {
  const entries = newestJournal((home as Program).home).map((line) => JSON.parse(line));
  expect(entries.at(-1), JSON.stringify(entries.at(-1))).toMatchObject({ kind: 'closed', outcome: 'done' });
  const ended = entries.flatMap(({ kind, step }) => (kind === 'end' ? [step] : []));
  expect(new Set(ended).size).toBe(ended.length);
  expect(ended).toEqual(entries[0].plan.steps.map(({ id }: { id: string }) => id));
};

describe.runIf(hasBinaries('3.4', '3.5'))('kill -9 of opsctl during an operation on real members', () => {
  // Lines: opened, two for each step, closed.
  it.each(chosen(18))('replace-member resumes after a crash at line %i without data loss', async (lines) => {
    home = program();
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const writer = startWriter(cluster.urls, '/v3');
    const lost = cluster.members[1] as RealMember;
    cluster.kill(lost, 'SIGKILL');
    await cluster.gone(lost);
    rmSync(lost.data_dir, { recursive: true, force: true });
    const words = lineOf(['replace-member', lost.name]);
    const wasKilled = await killedAfter(words, lines);
    for (const { name, client_url } of cluster.members)
      if (name !== lost.name) expect((await call(`${client_url}/health`)).status).toBe(200);
    if (wasKilled && newestJournal(home.home).at(-1)?.includes('"kind":"closed"') !== true) {
      const again = await home.run(words);
      expect(again.code === 0 ? '' : again.stderr).toBe('');
    }
    const wrote = await writer.stop();
    expect(wrote.failed).toBe(0);
    isDone();
    for (const url of cluster.urls) expect(await missingWrites(url, wrote.acknowledged, '/v3')).toEqual([]);
    const members = JSON.parse((await call(`${cluster.urls[0]}/v3/cluster/member/list`, {})).text).members;
    expect(members.filter(({ isLearner }: { isLearner?: boolean }) => isLearner !== true)).toHaveLength(3);
  });

  it.each(chosen(16))(
    'defrag, after line %i: the same command goes on with the members that are left',
    async (lines) => {
      home = program();
      cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
      const writer = startWriter(cluster.urls, '/v3');
      const words = lineOf(['defrag']);
      const wasKilled = await killedAfter(words, lines);
      if (wasKilled && newestJournal(home.home).at(-1)?.includes('"kind":"closed"') !== true) {
        const again = await home.run(words);
        expect(again.code === 0 ? '' : again.stderr).toBe('');
      }
      const wrote = await writer.stop();
      expect(wrote.failed).toBe(0);
      isDone();
      for (const url of cluster.urls) expect(await missingWrites(url, wrote.acknowledged, '/v3')).toEqual([]);
    },
  );

  // Lines: opened, two for each of 3 copies, the check that all are stopped, the start, 3 checks and the version,
  // closed.
  it.each(chosen(20))(
    'upgrade --offline finishes after a crash at line %i, with all data and a copy of every member',
    async (lines) => {
      home = program();
      cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
      const writer = startWriter(cluster.urls, '/v3');
      await pause(500);
      const wrote = await writer.stop();
      for (const member of cluster.members) cluster.kill(member, 'SIGTERM');
      await Promise.all(cluster.members.map((member) => (cluster as RealCluster).gone(member)));
      const words = [
        ...['kv', 'upgrade', '--offline', '--cluster', cluster.file, '--yes'],
        ...['--accept-point-of-no-return', '-o', 'json'],
      ];
      const wasKilled = await killedAfter(words, lines);
      if (wasKilled && newestJournal(home.home).at(-1)?.includes('"kind":"closed"') !== true) {
        const again = await home.run(words);
        expect(again.code === 0 ? '' : again.stderr).toBe('');
      }
      isDone();
      for (const { client_url, data_dir } of cluster.members) {
        const version = JSON.parse((await call(`${client_url}/version`)).text);
        expect(version.etcdcluster).toBe('3.5.0');
        expect(await missingWrites(client_url, wrote.acknowledged, '/v3')).toEqual([]);
        const beside = readdirSync(dirname(data_dir)).map((name) => join(dirname(data_dir), name));
        expect(beside.some((path) => path.startsWith(`${data_dir}.before-offline-3.4-`))).toBe(true);
      }
    },
  );
});
