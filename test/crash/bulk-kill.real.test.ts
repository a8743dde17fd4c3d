import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { testSeed } from '../support/seeded.ts';
import { makeDirectory } from '../support/directory.ts';

const ROUNDS = process.env.OPSCTL_SOAK === '1' ? 20 : 4;
const ROWS = 120;
const seed = testSeed;

let opsctl: Program;
let directory: string;
beforeAll(async () => {
  opsctl = await program();
  directory = makeDirectory();
  await opsctl.start(['mock', 'serve', '-o', 'json', '--rate-limit', 'off', '--seed', 'empty']).first;
});
const env = { OPSCTL_RATE_PER_MINUTE: 'off' };

/** Waits for the first output and then one timer per row, and kills the run, so that the kill does not depend on the startup time. */
const killAfter = async (args: readonly string[], rows: number): Promise<void> => {
  const { first, ended, kill } = opsctl.start(args, { env });
  await first;
  for (let i = 0; i < rows; i++) await new Promise((resolve) => setTimeout(resolve, 1));
  kill('SIGKILL');
  await ended;
};

test(`kill -9 of a bulk run at random moments, then --resume: each row exactly once (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(directory, `rows-${round}.ndjson`);
    // Stories may have equal names, so only the journal and the service can distinguish them.
    const rows = Array.from({ length: ROWS }, (_, i) => ({
      op: 'create',
      resource: 'stories',
      name: `r${round} ${i % 7 === 0 ? 'same' : i}`,
    }));
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    const args = ['tracker', 'bulk', '-f', path, '-o', 'ndjson', '--concurrency', '8'];
    await killAfter(args, 1 + ((seed + round * 37) % 90));
    await killAfter([...args, '--resume'], 1 + ((seed + round * 53) % 40));
    const last = await opsctl.run([...args, '--resume'], { env });
    expect(last.code, last.stderr).toBe(0);
    const found: { name: string }[] = await opsctl.json([
      'tracker',
      'search',
      `r${round}`,
      '--type',
      'story',
      '--all',
    ]);
    const names = found.map(({ name }) => name).filter((name) => name.startsWith(`r${round} `));
    expect(names.sort()).toEqual(rows.map(({ name }) => name).sort());
  }
});

// Takes more than a minute, because the rate limit is per minute.
test.runIf(process.env.OPSCTL_SOAK === '1')(
  'sixteen concurrent creates against a rate-limited server get no 429 and create every row',
  { timeout: 600_000 },
  async () => {
    const limited = await program();
    try {
      await limited.start(['mock', 'serve', '-o', 'json', '--seed', 'empty', '--rate-limit', '60']).first;
      const count = 70;
      const queue = Array.from({ length: count }, (_, i) => i);
      const one = async (): Promise<void> => {
        for (let i = queue.shift(); i !== undefined; i = queue.shift()) {
          const { code, stderr } = await limited.run(['tracker', 'labels', 'create', '--name', `x${i}`], {
            env: { OPSCTL_RATE_PER_MINUTE: '55' },
          });
          expect([code, stderr.includes('429') && stderr.includes('error')]).toEqual([0, false]);
        }
      };
      await Promise.all(Array.from({ length: 16 }, one));
      expect(await limited.json(['tracker', 'labels', 'list'])).toHaveLength(count);
    } finally {
      await limited.close();
    }
  },
);
