// Installs what package.json of this directory names, once; several callers at the same time wait for one of them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export const directory = fileURLToPath(new URL('.', import.meta.url));
const wanted = readFileSync(`${directory}package.json`, 'utf8');
const done = `${directory}node_modules/.installed-for.json`;
const lock = `${directory}.cache/installing`;
const STALE_MS = 600_000;

const isInstalled = () => existsSync(done) && readFileSync(done, 'utf8') === wanted;
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const takeLock = () => {
  mkdirSync(`${directory}.cache`, { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > STALE_MS)
      rmSync(lock, { recursive: true, force: true });
    return false;
  }
};

/** Resolves modules as seen from this directory. Throws with npm's words when the packages cannot be had. */
export const peers = () => {
  while (!isInstalled()) {
    if (!takeLock()) {
      pause(200);
      continue;
    }
    try {
      process.stderr.write('installing the programs to compare with (once)\n');
      const args = [
        'install',
        '--no-audit',
        '--no-fund',
        '--no-package-lock',
        '--ignore-scripts',
        '--loglevel=error',
      ];
      const { status, stderr } = spawnSync('npm', args, { cwd: directory, encoding: 'utf8' });
      if (status !== 0) throw new Error(`npm install in test/peers ended with ${status}: ${stderr}`);
      writeFileSync(done, wanted);
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return createRequire(`${directory}package.json`);
};
