// The seed of a run: OPSCTL_TEST_SEED, otherwise derived from the commit, so that two runs of one commit perform the same tests.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/** @returns {string} a whole number below 1,000,000,000 */
export const seedOfRun = (env = process.env) => {
  if (env.OPSCTL_TEST_SEED !== undefined && env.OPSCTL_TEST_SEED !== '') return env.OPSCTL_TEST_SEED;
  let commit = 'no commit';
  try {
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    // An unpacked archive has no commit, so every run has the same seed.
  }
  return String(createHash('sha256').update(commit.trim()).digest().readUInt32BE(0) % 1_000_000_000);
};
