/**
 * A Ctrl-C at a terminal reaches every process of the group. A run finishes its member after it, so no program
 * that the run needs for that may end.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const folders = ['execute', 'restore', 'supervisors'].map((name) => join('src/kv/upgrade', name));
/** The calls that run a program and wait for it, each with its options. */
const callsIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split(/(?=processes\s*\.run\()/)
    .slice(1)
    .map((text) => text.slice(0, 300));
it.each(folders)('every program of %s keeps running on Ctrl-C', (folder) => {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  const calls = paths.flatMap((path) => callsIn(path).map((text) => ({ path, text })));
  const ending = calls.filter(({ text }) => !text.includes('keepsRunningOnCtrlC'));
  expect(ending.map(({ path, text }) => `${path}: ${text.slice(0, 80)}`)).toEqual([]);
});
it('finds the calls', () => {
  const count = (folder: string) => readdirSync(folder).flatMap((name) => callsIn(join(folder, name))).length;
  expect(count('src/kv/upgrade/execute')).toBeGreaterThan(1);
  expect(count('src/kv/upgrade/supervisors')).toBeGreaterThan(5);
});
