// @ts-check
// `node test/tooling/surface.mjs DIRECTORY [CHECKOUT]` records the user interface of the program that is built in
// CHECKOUT (default: this checkout): the list of commands, the help of each command, and the error for an unknown flag.
// Record before and after a change that should not be visible, and compare both directories with `diff -r`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [target, checkout = fileURLToPath(new URL('../..', import.meta.url))] = process.argv.slice(2);
if (target === undefined) throw new Error('name the directory for the recording');
const home = mkdtempSync(join(tmpdir(), 'opsctl-surface-'));
const env = { PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home, CI: 'true', NO_COLOR: '1' };
/** @param {string[]} args */
const run = (...args) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(resolve(checkout), 'bin/opsctl.js'), ...args],
    { env, cwd: home, encoding: 'utf8', input: '', timeout: 60_000, maxBuffer: 2 ** 27 },
  );
  return { stdout, text: `exit ${status}\n--- stdout\n${stdout}--- stderr\n${stderr}` };
};
try {
  mkdirSync(target, { recursive: true });
  const list = run('commands', '-o', 'json');
  writeFileSync(join(target, 'commands.json'), JSON.stringify(JSON.parse(list.stdout), null, 1));
  writeFileSync(join(target, 'root.txt'), run('--help').text);
  for (const { command } of JSON.parse(list.stdout)) {
    const words = command.replace(/^opsctl /, '').split(' ');
    const parts = [['--help'], ['--no-such-flag']].map((more) => run(...words, ...more).text);
    writeFileSync(join(target, `${words.join('-')}.txt`), parts.join('\n'));
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
