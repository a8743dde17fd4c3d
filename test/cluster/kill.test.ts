import { consent } from '../support/consent.ts';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  call,
  hasBinaries,
  missingWrites,
  pair,
  pause,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import type { RealCluster, Writer } from '../support/cluster.ts';

const { from, to } = pair;
const program =
  process.env['OPSCTL_TEST_BIN'] ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kv-home-'));
});
afterEach(async () => {
  await cluster?.stop();
  rmSync(home, { recursive: true, force: true });
});

const journals = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter(({ name }) => name === 'journal.jsonl')
        .map(({ parentPath, name }) => join(parentPath, name))
    : [];
/** Of the newest run. */
const journalLines = (): string[] => {
  const path = journals(home).sort().at(-1);
  return path === undefined
    ? []
    : readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
};

type Ended = { readonly code: number | null; readonly wasKilled: boolean; readonly stderr: string };
/** Runs until `lines` lines of the journal are on the disk, then kill -9; or to its end. */
const runUntil = async (
  verb: 'upgrade' | 'resume' | 'rollback',
  lines: number,
  more: readonly string[] = [],
): Promise<Ended> => {
  const child = spawn(
    process.execPath,
    [program, 'kv', verb, '--cluster', cluster.file, ...consent(verb), '-o', 'json', ...more],
    {
      env: { PATH: process.env['PATH'], HOME: home, OPSCTL_HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let [stderr, wasKilled, isOver] = ['', false, false];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(
    () => (isOver = true),
  );
  while (!isOver) {
    if (journalLines().length >= lines) {
      wasKilled = child.kill('SIGKILL');
      break;
    }
    await pause(1);
  }
  return { code: await ended, wasKilled, stderr };
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

const isSoak = process.env['OPSCTL_SOAK'] === '1';
/** Longer than the leader needs to see that the version of the cluster may move, and than an election. */
const beforeResume = (): Promise<void> => pause(isSoak ? 6000 : 0);
const seed = Number(process.env['OPSCTL_TEST_SEED'] ?? 7);
/** All lines in a soak; else a few, others in each run of the suite. */
const someOf = (lines: number, count: number): number[] =>
  isSoak
    ? Array.from({ length: lines }, (_, i) => i + 1)
    : Array.from({ length: count }, (_, i) => 1 + ((seed + i * 11) % lines));
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
/** `isOver`: killed after its last line, with nothing left to resume. Then what it held in the store ends with its lease. */
const nothingLost = async (writer: Writer, isOver = false): Promise<void> => {
  const { acknowledged, failed } = await writer.stop();
  expect(failed).toBe(0);
  for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
  while (isOver && (await ownKeys()) !== '0') await pause(250);
  expect(await ownKeys()).toBe('0');
};
const isClosed = (): boolean => journalLines().at(-1)?.includes('"kind":"closed"') === true;

/** Lines of the journal that nothing interrupts: of the way back of two members, and of a whole upgrade of three. */
const undisturbed = async (): Promise<{ readonly upgrade: number; readonly rollback: number }> => {
  home = mkdtempSync(join(tmpdir(), 'kv-home-'));
  cluster = await startCluster({ size: 3, from, to });
  try {
    const held = await runUntil('upgrade', Number.POSITIVE_INFINITY, ['--hold-last']);
    const before = journalLines().length;
    const back = await runUntil('rollback', Number.POSITIVE_INFINITY);
    const rollback = journalLines().length - before;
    const whole = await runUntil('upgrade', Number.POSITIVE_INFINITY);
    expect([held.code, back.code, whole.code], held.stderr + back.stderr + whole.stderr).toEqual([8, 12, 0]);
    return { upgrade: journalLines().length, rollback };
  } finally {
    await cluster.stop();
    rmSync(home, { recursive: true, force: true });
  }
};
const lines = hasBinaries(from, to) ? await undisturbed() : { upgrade: 0, rollback: 0 };

describe.runIf(hasBinaries(from, to))('kill -9 of opsctl after a line of its journal, then resume', () => {
  it.each(someOf(lines.upgrade, 2))('line %i of an upgrade', async (line) => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    const first = await runUntil('upgrade', line);
    // Over before that line: then it has to have come to its end.
    if (!first.wasKilled) expect(first).toMatchObject({ code: 0 });
    expect(await alive()).toBeGreaterThanOrEqual(2);
    await beforeResume();
    const isOver = isClosed();
    if (first.wasKilled && !isOver)
      expect(await runUntil('resume', Number.POSITIVE_INFINITY)).toMatchObject({ code: 0 });
    expect(await versions()).toEqual([to, to, to]);
    for (const url of cluster.urls)
      expect(JSON.parse((await call(`${url}/version`)).text).etcdcluster).toBe(`${to}.0`);
    await nothingLost(writer, first.wasKilled && isOver);
  });

  it.each(someOf(lines.rollback, 1))('line %i of a rollback', async (line) => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    expect(await runUntil('upgrade', Number.POSITIVE_INFINITY, ['--hold-last'])).toMatchObject({ code: 8 });
    const first = await runUntil('rollback', journalLines().length + line);
    expect(await alive()).toBeGreaterThanOrEqual(2);
    await beforeResume();
    const isOver = isClosed();
    if (first.wasKilled && !isOver)
      expect(await runUntil('resume', Number.POSITIVE_INFINITY)).toMatchObject({ code: 12 });
    expect(await versions()).toEqual([from, from, from]);
    await nothingLost(writer, first.wasKilled && isOver);
  });
});

describe.runIf(hasBinaries(from, to))('kill -9 of opsctl, again and again', () => {
  // A health check may have a snapshot of the next member between its lines: without a few more now and then, no step would ever end.
  it('after each few lines of the journal, then resume: the upgrade ends, nothing is lost, the quorum is kept', {
    timeout: 170_000,
  }, async () => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    const killedAt: string[] = [];
    const steps = [1, 3, 2, 5, 3, 8];
    let ended = await runUntil('upgrade', 1);
    for (let turn = 1; ended.wasKilled && turn < 60; turn += 1) {
      killedAt.push(journalLines().at(-1) ?? '');
      expect(await alive()).toBeGreaterThanOrEqual(2);
      ended = await runUntil('resume', journalLines().length + (steps[turn % steps.length] as number));
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
  });
});
