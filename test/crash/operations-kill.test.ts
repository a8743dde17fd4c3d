import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { call, hasBinaries, missingWrites, startCluster, startWriter } from '../support/cluster.ts';
import type { RealCluster, RealMember } from '../support/cluster.ts';

let home: Program | undefined;
let cluster: RealCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  await home?.close();
});

const journal = (directory: string): string[] => {
  if (!existsSync(directory)) return [];
  // Killed before anything was begun, the next run has a journal of its own: the newest counts.
  const found = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name === 'journal.jsonl')
    .toSorted((one, other) => one.parentPath.localeCompare(other.parentPath))
    .at(-1);
  return found === undefined
    ? []
    : readFileSync(join(found.parentPath, found.name), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs the operation and kills the program as soon as the journal has so many lines. */
const killedAfter = async (words: readonly string[], lines: number): Promise<boolean> => {
  const running = (home as Program).start(words);
  let isOver = false;
  void running.ended.then(() => (isOver = true));
  while (!isOver && journal((home as Program).home).length < lines) await pause(1);
  if (!isOver) running.kill('SIGKILL');
  return (await running.ended).signal === 'SIGKILL';
};

/** All lines in a soak; else a few, others in each run of the suite. */
const chosen = (all: number): number[] => {
  if (process.env['OPSCTL_SOAK'] === '1') return Array.from({ length: all }, (_, i) => i + 1);
  const seed = Number(process.env['OPSCTL_TEST_SEED'] ?? 5);
  return [0, 1].map((half) => 1 + ((seed + half * Math.floor(all / 2)) % all));
};
const lineOf = (verb: readonly string[]): string[] => [
  ...['kv', ...verb, '--cluster', (cluster as RealCluster).file],
  ...['--yes', '--no-canary', '-o', 'json'],
];
/** The same command goes on: one journal, closed as done, each step ended once. */
const isDone = (): void => {
  const entries = journal((home as Program).home).map((line) => JSON.parse(line));
  expect(entries.at(-1), JSON.stringify(entries.at(-1))).toMatchObject({ kind: 'closed', outcome: 'done' });
  const ended = entries.flatMap(({ kind, step }) => (kind === 'end' ? [step] : []));
  expect(new Set(ended).size).toBe(ended.length);
  expect(ended).toEqual(entries[0].plan.steps.map(({ id }: { id: string }) => id));
};

describe.runIf(hasBinaries('3.5'))('kill -9 of opsctl during an operation on real members', () => {
  // opened, two for each step, closed.
  it.each(chosen(18))(
    'replace-member, after line %i: the same command goes on, nothing is lost',
    async (lines) => {
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
      if (wasKilled && journal(home.home).at(-1)?.includes('"kind":"closed"') !== true) {
        const again = await home.run(words);
        expect(again.code === 0 ? '' : again.stderr).toBe('');
      }
      const wrote = await writer.stop();
      expect(wrote.failed).toBe(0);
      isDone();
      for (const url of cluster.urls) expect(await missingWrites(url, wrote.acknowledged, '/v3')).toEqual([]);
      const members = JSON.parse((await call(`${cluster.urls[0]}/v3/cluster/member/list`, {})).text).members;
      expect(members.filter(({ isLearner }: { isLearner?: boolean }) => isLearner !== true)).toHaveLength(3);
    },
  );

  it.each(chosen(16))(
    'defrag, after line %i: the same command goes on with the members that are left',
    async (lines) => {
      home = program();
      cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
      const writer = startWriter(cluster.urls, '/v3');
      const words = lineOf(['defrag']);
      const wasKilled = await killedAfter(words, lines);
      if (wasKilled && journal(home.home).at(-1)?.includes('"kind":"closed"') !== true) {
        const again = await home.run(words);
        expect(again.code === 0 ? '' : again.stderr).toBe('');
      }
      const wrote = await writer.stop();
      expect(wrote.failed).toBe(0);
      isDone();
      for (const url of cluster.urls) expect(await missingWrites(url, wrote.acknowledged, '/v3')).toEqual([]);
    },
  );
});
