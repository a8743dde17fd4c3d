// Installs the packages in package.json of this directory into the cache of the tests, once for all checkouts. Concurrent callers wait for
// one installation.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { testCache } from '../tooling/cache.mjs';

const wanted = readFileSync(new URL('package.json', import.meta.url), 'utf8');
/** Each list of packages has its own directory, because two checkouts may require different versions. */
export const directory = join(
  testCache(),
  `peers-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`,
);
const done = join(directory, 'node_modules/.installed');
const lock = `${directory}.installing`;
const STALE_MS = 600_000;

/** @param {number} ms */
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const takeLock = () => {
  mkdirSync(directory, { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > STALE_MS)
      rmSync(lock, { recursive: true, force: true });
    return false;
  }
};
const install = () => {
  process.stderr.write('installing the programs to compare with (once)\n');
  writeFileSync(join(directory, 'package.json'), wanted);
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--ignore-scripts',
    '--loglevel=error',
  ];
  const { status, stderr } = spawnSync('npm', args, { cwd: directory, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm install in ${directory} ended with ${status}: ${stderr}`);
  writeFileSync(done, '');
};

/** Resolves modules relative to that directory. Throws npm's message if the packages are not available. */
export const peers = () => {
  while (!existsSync(done)) {
    if (!takeLock()) {
      pause(200);
      continue;
    }
    try {
      if (!existsSync(done)) install();
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return createRequire(join(directory, 'package.json'));
};
