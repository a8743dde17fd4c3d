/**
 * Runs the saved corpus and some mutations of it. A reader must accept each input or report the problem. A soak test runs more mutations.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { buildFuzzer } from './build.mjs';
import type { Result } from './main.ts';
import { testSeed } from '../support/seeded.ts';
import { makeDirectory } from '../support/directory.ts';

const run = promisify(execFile);
const executions = process.env['OPSCTL_SOAK'] === '1' ? 100_000 : 100;
const seed = String(testSeed);
const corpus = fileURLToPath(new URL('corpus', import.meta.url));

test(`${executions} mutated inputs of each reader end in a result or an error, seed ${seed}`, {
  timeout: 14_400_000,
}, async () => {
  const directory = makeDirectory();
  const { program, marks } = await buildFuzzer(join(directory, 'fuzz.mjs'));
  const args = [program, '--corpus', corpus, '--seed', seed, '--executions', String(executions)];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: { stdout: string }) => error,
  );
  const result = JSON.parse(stdout) as Result;
  expect(result.findings).toEqual([]);
  expect(result.executions).toBeGreaterThan(Object.keys(result.corpus).length * executions);
  process.stdout.write(`${result.executions} inputs reached ${result.reached} of ${marks} places\n`);
});
