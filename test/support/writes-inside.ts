/**
 * Setup of the fast tests: no test of this project changes a file outside the temporary directory and the caches of the
 * repository. A fake Host has no real files, so a package that writes past the Host would create them on the machine of the
 * reader, below invented paths such as `/home/user`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const allowed = [tmpdir(), `${root}node_modules/.cache`, `${root}.cache`, '/dev', '/proc'].map((path) =>
  resolve(path),
);
/** Returns true if a fast test may change this path. */
export const mayChange = (path: string): boolean => {
  const [, pinned, rest = ''] = /^(\/proc\/self\/fd\/\d+)(.*)$/.exec(path) ?? [];
  const at = resolve(pinned === undefined ? path : fs.readlinkSync(pinned) + rest);
  return allowed.some((directory) => at === directory || at.startsWith(directory + sep));
};

/** The positions of the changed paths among the arguments of each function. */
const changed: Readonly<Record<string, readonly number[]>> = {
  ...Object.fromEntries(
    ['writeFile', 'appendFile', 'mkdir', 'mkdtemp', 'rm', 'rmdir', 'unlink', 'truncate', 'chmod'].map(
      (name) => [name, [0]],
    ),
  ),
  ...{ rename: [0, 1], copyFile: [1], cp: [1], link: [1], symlink: [1], open: [0], createWriteStream: [0] },
};
const opensForWriting = (flags: unknown): boolean =>
  typeof flags === 'number' ? (flags & 3) !== 0 : typeof flags === 'string' && /[wa+]/.test(flags);

const installed = Symbol.for('opsctl.writes-inside');
type Shared = typeof globalThis & { [installed]?: string[] };
const shared: Shared = globalThis;
/** Records the writes outside the allowed directories. Files that share a process share the record. */
const watch = (functions: object, name: string, positions: readonly number[], writes: string[]): void => {
  const original: unknown = Reflect.get(functions, name);
  if (typeof original !== 'function') return;
  Reflect.set(functions, name, function (this: unknown, ...args: unknown[]) {
    if (!name.startsWith('open') || opensForWriting(args[1]))
      for (const at of positions) {
        const path = args[at] instanceof URL ? fileURLToPath(args[at]) : args[at];
        if (typeof path === 'string' && !mayChange(path)) writes.push(`${name} ${path}`);
      }
    return Reflect.apply(original, this, args);
  });
};
const install = (): string[] => {
  const writes: string[] = [];
  for (const [name, positions] of Object.entries(changed))
    for (const functions of [fs, fs.promises])
      for (const form of functions === fs ? [name, `${name}Sync`] : [name])
        watch(functions, form, positions, writes);
  syncBuiltinESMExports();
  return writes;
};
shared[installed] ??= install();
const writes = shared[installed];
/** Returns and forgets the writes outside the allowed directories. */
export const takeWritesOutside = (): string[] => writes.splice(0);

afterAll(() => {
  expect(takeWritesOutside(), 'writes past the fake Host').toEqual([]);
});
