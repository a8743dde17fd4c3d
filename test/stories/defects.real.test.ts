/** Verifies that every defect of the second review is fixed: the test runs its command line again, or the test of its fix exists. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { type Line, type Proof, defects } from './defects.ts';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
const bin = process.env.OPSCTL_TEST_BIN ?? join(root, 'bin/opsctl.js');

let work = '';
beforeAll(() => {
  work = makeDirectory();
  mkdirSync(join(work, 'bin'));
  writeFileSync(join(work, 'bin/opsctl'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
  chmodSync(join(work, 'bin/opsctl'), 0o755);
});

/** Runs in an empty directory, as in a new terminal. */
const inBash = (line: string) => {
  const home = makeDirectory('home-', work);
  const env = {
    PATH: `${work}/bin:${process.env.PATH}`,
    HOME: home,
    OPSCTL_HOME: home,
    ...codeCache,
    LANG: 'C.UTF-8',
  };
  return spawnSync('bash', ['--norc', '-c', line], {
    cwd: home,
    env,
    encoding: 'utf8',
    input: '',
    timeout: 600_000,
  });
};
const isProof = (shown: Line | Proof): shown is Proof => 'file' in shown;

test('every one of the 42 defects has its row', () => {
  expect(defects.map(([number]) => number)).toEqual(Array.from({ length: 42 }, (_, i) => i + 1));
});

test.each(defects.map(([number, what, ...shown]) => ({ number, what, shown })))(
  '$number: $what',
  ({ shown }) => {
    expect(shown.length).toBeGreaterThan(0);
    for (const one of shown) {
      if (isProof(one)) {
        expect(existsSync(join(root, one.file)), one.file).toBe(true);
        expect(readFileSync(join(root, one.file), 'utf8'), one.file).toContain(one.title);
        continue;
      }
      const { status, stdout, stderr } = inBash(one.line);
      expect(status, `${one.line}\n${stderr}`).toBe(one.code);
      if (one.out !== undefined) expect(stdout, one.line).toMatch(one.out);
      if (one.err !== undefined) expect(stderr, one.line).toMatch(one.err);
      if (one.never !== undefined) expect(stdout + stderr, one.line).not.toMatch(one.never);
    }
  },
);
