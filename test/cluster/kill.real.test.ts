import { consent } from '../support/consent.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { killedWhen, linesOfRollback, linesOfRun, newestJournal } from '../support/killed-run.ts';
import {
  base64,
  call,
  hasBinaries,
  missingWrites,
  pair,
  pause,
  type RealCluster,
  startCluster,
  startWriter,
  type Writer,
} from '../support/cluster.ts';
import { testSeed } from '../support/seeded.ts';
import { isTurn, testInTurn } from '../support/slice.ts';

const { from, to } = pair;
let cluster: RealCluster;
let home: Program;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await cluster?.stop();
});

const journalLines = (): string[] => newestJournal(home.home);

type Run = { readonly code: number | null; readonly wasKilled: boolean; readonly stderr: string };
const never = (): boolean => false;
/** Runs the command until the journal matches and then kills it with SIGKILL, or lets it finish. */
const runUntil = async (
  verb: 'upgrade' | 'resume' | 'rollback',
  fits: (lines: readonly string[]) => boolean = never,
  more: readonly string[] = [],
): Promise<Run> => {
  const words = ['kv', verb, '--cluster', cluster.file, ...consent(verb), '-o', 'json', ...more];
  const { wasKilled, ended } = await killedWhen(home, words, fits);
  return { code: ended.code, wasKilled, stderr: ended.stderr };
};

const alive = async (): Promise<number> =>
  (
    await Promise.all(
      cluster.urls.map((url) =>
        call(`${url}/version`).then(
          () => 1,
          () => 0,
        ),
      ),
    )
  ).reduce<number>((sum, one) => sum + one, 0);

const isSoak = process.env.OPSCTL_SOAK === '1';
/** Longer than an election and than the leader needs to update the cluster version. */
const beforeResume = (): Promise<void> => pause(isSoak ? 6000 : 0);
const seed = testSeed;
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );
const ownKeys = async (): Promise<string> => {
  const { text } = await call(`${cluster.urls[0]}${pair.prefix}/kv/range`, {
    key: base64('opsctl/'),
    range_end: base64('opsctl0'),
    count_only: true,
  });
  return JSON.parse(text).count ?? '0';
};
/**
 * `isOver`: the process was killed after its last line, so a resume is not possible. Its data in the store
 * expires with its lease.
 */
const nothingLost = async (writer: Writer, isOver = false): Promise<void> => {
  const { acknowledged, failed } = await writer.stop();
  expect(failed).toBe(0);
  for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
  await expect.poll(async () => isOver && (await ownKeys()) !== '0', { interval: 250 }).toBe(false);
  expect(await ownKeys()).toBe('0');
};
const isClosed = (): boolean => journalLines().at(-1)?.includes('"kind":"closed"') === true;

/** Number of journal lines without a kill: for the rollback of two members and the upgrade of three. */
const undisturbed = async (): Promise<{ readonly upgrade: number; readonly rollback: number }> => {
  home = program();
  cluster = await startCluster({ size: 3, from, to });
  try {
    const held = await runUntil('upgrade', never, ['--hold-last']);
    const before = journalLines().length;
    const back = await runUntil('rollback');
    const rollback = journalLines().length - before;
    const whole = await runUntil('upgrade');
    expect([held.code, back.code, whole.code], held.stderr + back.stderr + whole.stderr).toEqual([8, 12, 0]);
    return { upgrade: journalLines().length, rollback };
  } finally {
    await cluster.stop();
    await home.close();
  }
};
/**
 * Returns all lines in a soak test, which counts them first. Otherwise returns a few lines, which differ in
 * each run of the suite.
 */
const lines = isSoak && hasBinaries(from, to) ? await undisturbed() : { upgrade: 0, rollback: 0 };
const someOf = (all: number, count: number): number[] =>
  isSoak ? Array.from({ length: all }, (_, i) => i) : Array.from({ length: count }, (_, i) => seed + i * 11);

describe.runIf(hasBinaries(from, to))('kill -9 of opsctl after a line of its journal, then resume', () => {
  it.each(someOf(lines.upgrade, 1))('a line of an upgrade (%i)', async (count) => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    const first = await runUntil(
      'upgrade',
      (found) => found.length > (isSoak ? count : count % linesOfRun(found)),
    );
    // If the command finished before that line, it must have succeeded.
    if (!first.wasKilled) expect(first).toMatchObject({ code: 0 });
    expect(await alive()).toBeGreaterThanOrEqual(2);
    await beforeResume();
    const isOver = isClosed();
    if (first.wasKilled && !isOver) expect(await runUntil('resume')).toMatchObject({ code: 0 });
    expect(await versions()).toEqual([to, to, to]);
    for (const url of cluster.urls)
      expect(JSON.parse((await call(`${url}/version`)).text).etcdcluster).toBe(`${to}.0`);
    await nothingLost(writer, first.wasKilled && isOver);
  });

  it.each(isTurn(1, 2) ? someOf(lines.rollback, 1) : [])('a line of a rollback (%i)', async (count) => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    expect(await runUntil('upgrade', never, ['--hold-last'])).toMatchObject({ code: 8 });
    const before = journalLines().length + (isSoak ? count : count % linesOfRollback);
    const first = await runUntil('rollback', (found) => found.length > before);
    expect(await alive()).toBeGreaterThanOrEqual(2);
    await beforeResume();
    const isOver = isClosed();
    if (first.wasKilled && !isOver) expect(await runUntil('resume')).toMatchObject({ code: 12 });
    expect(await versions()).toEqual([from, from, from]);
    await nothingLost(writer, first.wasKilled && isOver);
  });
});

describe.runIf(hasBinaries(from, to))('repeated kill -9 of opsctl', () => {
  // A health check may write lines about the snapshot of the next member between its own lines. Without
  // occasional additional lines, no step would finish.
  testInTurn(0, 2)(
    'after every few journal lines a kill and resume: the upgrade completes, no data is lost, the quorum is kept',
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const writer = startWriter(cluster.urls);
      const killedAt: string[] = [];
      const steps = [1, 3, 2, 5, 3, 8];
      let ended = await runUntil('upgrade', (found) => found.length >= 1);
      for (let turn = 1; ended.wasKilled && turn < 60; turn += 1) {
        killedAt.push(journalLines().at(-1) ?? '');
        expect(await alive()).toBeGreaterThanOrEqual(2);
        const until = journalLines().length + (steps[turn % steps.length] as number);
        ended = await runUntil('resume', (found) => found.length >= until);
      }
      expect(ended).toMatchObject({ code: 0, wasKilled: false });
      for (const url of cluster.urls)
        expect(JSON.parse((await call(`${url}/version`)).text)).toMatchObject({ etcdcluster: `${to}.0` });
      await nothingLost(writer);
      const kinds = new Set(
        killedAt
          .map((line) => JSON.parse(line))
          .map(({ kind, step }) => `${kind} ${String(step ?? '').replace(/^n\d\./, '')}`),
      );
      expect(killedAt.length).toBeGreaterThan(8);
      process.stdout.write(`killed ${killedAt.length} times, after: ${[...kinds].sort().join(', ')}\n`);
    },
  );
});
