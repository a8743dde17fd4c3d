// Fuzzes the readers: `node test/fuzz/fuzz.mjs --executions 100000 --seed 7 --keep` mutates the inputs of the corpus, saves the
// inputs with new coverage in test/fuzz/corpus, and prints unexpected errors. `--target NAME` selects one reader.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildFuzzer } from './build.mjs';

const corpus = fileURLToPath(new URL('corpus', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'opsctl-fuzz-'));
try {
  const { program, marks } = await buildFuzzer(join(directory, 'fuzz.mjs'));
  process.stderr.write(`${marks} places can be reached\n`);
  const args = [program, '--corpus', corpus, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
