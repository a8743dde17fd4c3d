import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { type Simulated, lostAt, simulated, startWriting } from '../support/simulated.ts';

let home: Program | undefined;
let cluster: Simulated | undefined;
afterEach(async () => {
  await cluster?.stop();
  await home?.close();
});

const journal = (directory: string): string[] => {
  if (!existsSync(directory)) return [];
  const found = readdirSync(directory, { recursive: true, withFileTypes: true }).find(
    ({ name }) => name === 'journal.jsonl',
  );
  return found === undefined
    ? []
    : readFileSync(join(found.parentPath, found.name), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs the verb and kills the program as soon as the journal has so many lines. */
const killedAfter = async (
  verb: string,
  line: number,
): Promise<{ wasKilled: boolean; code: number | null; stderr: string }> => {
  const running = (home as Program).start([
    'kv',
    verb,
    '--cluster',
    (cluster as Simulated).file,
    '--yes',
    '--accept-point-of-no-return',
    '--no-canary',
    '-o',
    'json',
  ]);
  let isOver = false;
  void running.ended.then(() => (isOver = true));
  while (!isOver && journal((home as Program).home).length < line) await pause(1);
  if (!isOver) running.kill('SIGKILL');
  const { code, signal, stderr } = await running.ended;
  return { wasKilled: signal === 'SIGKILL', code, stderr };
};

/** Lines of the journal of an upgrade that nothing interrupts. */
const undisturbed = async (): Promise<number> => {
  home = program();
  cluster = await simulated(home, '--monitor-ms', '300', '--members', '3');
  try {
    const { code, stderr } = await killedAfter('upgrade', Number.POSITIVE_INFINITY);
    expect(code, stderr).toBe(0);
    return journal(home.home).length;
  } finally {
    await cluster.stop();
    await home.close();
  }
};
const lines = await undisturbed();
/** All lines in a soak; else a few, others in each run of the suite. */
const chosen = (): number[] => {
  if (process.env.OPSCTL_SOAK === '1') return Array.from({ length: lines }, (_, i) => i + 1);
  const seed = Number(process.env.OPSCTL_TEST_SEED ?? 7);
  return [0, 1, 2].map((third) => 1 + ((seed + third * 13) % lines));
};

describe('kill -9 of opsctl during an upgrade of simulated members', () => {
  it.each(chosen())(
    'after line %i of the journal: resume brings it to its end, nothing is lost, at most one member was down',
    async (line) => {
      home = program();
      cluster = await simulated(home, '--monitor-ms', '300', '--members', '3');
      const writer = startWriting(cluster.urls);
      const first = await killedAfter('upgrade', line);
      expect((await cluster.versions()).filter((version) => version === 'off').length).toBeLessThanOrEqual(1);
      const hasEnded = journal(home.home).at(-1)?.includes('"kind":"closed"') === true;
      if (first.wasKilled && !hasEnded) {
        const resumed = await home.run([
          'kv',
          'resume',
          '--cluster',
          cluster.file,
          '--yes',
          '--accept-point-of-no-return',
          '-o',
          'json',
        ]);
        expect(resumed.code, resumed.stderr).toBe(0);
      } else if (!first.wasKilled) expect(first.code, first.stderr).toBe(0);
      const history = await writer.stop();
      expect(history.failed).toBe(0);
      expect(await cluster.versions()).toEqual(['3.3.27', '3.3.27', '3.3.27']);
      expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
      for (const url of cluster.urls) expect(await lostAt(url, history)).toEqual([]);
      const kinds = journal(home.home).map((line) => JSON.parse(line));
      expect(kinds.at(-1)).toMatchObject({ kind: 'closed', outcome: 'done' });
    },
  );
});
