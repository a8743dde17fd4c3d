import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { base64, call, hasBinaries, missingWrites, pair, pause, startCluster, startWriter } from '../support/cluster.ts';
import type { RealCluster } from '../support/cluster.ts';

const { from, to } = pair;
const program = process.env['OPSCTL_TEST_BIN'] ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kv-home-'));
});
afterEach(async () => {
  await cluster?.stop();
  rmSync(home, { recursive: true, force: true });
});

const journals = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(({ name }) => name === 'journal.jsonl')
        .map(({ parentPath, name }) => join(parentPath, name))
    : [];
const journalLines = (): string[] => {
  const [path] = journals(home);
  return path === undefined
    ? []
    : readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
};

type Ended = { readonly code: number | null; readonly wasKilled: boolean; readonly stderr: string };
/** Runs until `lines` lines of the journal are on the disk, then kill -9; or to its end. */
const runUntil = async (verb: 'upgrade' | 'resume', lines: number): Promise<Ended> => {
  const child = spawn(process.execPath, [program, 'kv', verb, '--cluster', cluster.file, '--yes', '-o', 'json'], {
    env: { PATH: process.env['PATH'], HOME: home, OPSCTL_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let [stderr, wasKilled, isOver] = ['', false, false];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(() => (isOver = true));
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

describe.runIf(hasBinaries(from, to))('kill -9 of opsctl, again and again', () => {
  // Two new lines are `resumed` and one more: without a third now and then, no step would ever end.
  it('after each few lines of the journal, then resume: the upgrade ends, nothing is lost, the quorum is kept', { timeout: 170_000 }, async () => {
    cluster = await startCluster({ size: 3, from, to });
    const writer = startWriter(cluster.urls);
    const killedAt: string[] = [];
    const steps = [1, 3, 2, 4, 3, 5];
    let ended = await runUntil('upgrade', 1);
    for (let turn = 1; ended.wasKilled && turn < 60; turn += 1) {
      killedAt.push(journalLines().at(-1) ?? '');
      expect(await alive()).toBeGreaterThanOrEqual(2);
      ended = await runUntil('resume', journalLines().length + (steps[turn % steps.length] as number));
    }
    const { acknowledged, failed } = await writer.stop();
    expect(ended).toMatchObject({ code: 0, wasKilled: false });
    expect(failed).toBe(0);
    for (const url of cluster.urls) {
      expect(JSON.parse((await call(`${url}/version`)).text)).toMatchObject({ etcdcluster: `${to}.0` });
      expect(await missingWrites(url, acknowledged)).toEqual([]);
      const own = await call(`${url}${pair.prefix}/kv/range`, { key: base64('opsctl/'), range_end: base64('opsctl0'), count_only: true });
      expect(JSON.parse(own.text).count ?? '0').toBe('0');
    }
    const kinds = new Set(killedAt.map((line) => JSON.parse(line)).map(({ kind, step }) => `${kind} ${String(step ?? '').replace(/^n\d\./, '')}`));
    expect(killedAt.length).toBeGreaterThan(8);
    process.stdout.write(`killed ${killedAt.length} times, after: ${[...kinds].sort().join(', ')}\n`);
  });
});
