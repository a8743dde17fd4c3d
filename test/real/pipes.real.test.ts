/** Files that are pipes, terminals or devices: no command waits for a silent sender after a signal. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';

const entry = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let home: string;
let env: NodeJS.ProcessEnv;
beforeAll(() => {
  home = makeDirectory();
  env = { ...process.env, OPSCTL_HOME: home, NODE: process.execPath, ENTRY: entry };
});
const bash = (script: string) =>
  spawnSync('bash', ['-c', script], {
    cwd: home,
    env,
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
const validate = '"$NODE" "$ENTRY" labels validate -o name -f';

test.each([
  ['a pipe of the shell', `${validate} <(printf 'title: A\\n')`],
  ['standard input', `printf 'title: A\\n' | ${validate} /dev/stdin`],
  ['a slow sender', `(printf 'title:'; sleep 0.5; printf ' A\\n') | ${validate} /dev/stdin`],
  ['a file', `printf 'title: A\\n' > a.yaml; ${validate} /dev/stdin < a.yaml`],
  [
    'a named pipe whose sender is gone',
    `mkfifo pipe; printf 'title: A\\n' > pipe & exec < pipe; wait; ${validate} /dev/stdin`,
  ],
])('opsctl reads %s to its end', (_, script) => {
  const { status, stdout, stderr } = bash(script);
  expect([status, stdout, stderr]).toEqual([0, 'A\n', '']);
});
test('a device without an end is refused, and the null device is an empty file', () => {
  expect(bash(`${validate} /dev/stdin < /dev/zero`).stderr).toContain('ENOTFILE');
  expect(bash(`${validate} /dev/stdin < /dev/null`)).toMatchObject({ status: 2, stdout: '' });
});
/** Writes the file when the reader has its own handler of SIGTERM, next to the one of the command. */
const preload = `let count = 0;
process.on('newListener', (name) => {
  if (name === 'SIGTERM' && ++count === 2) setImmediate(() => require('node:fs').writeFileSync(process.env.READY, ''));
});`;
test.each([
  ['labels validate -f -'],
  ['labels validate -f /dev/stdin'],
  ['labels validate -f /dev/fd/3'],
  ['login --token-stdin'],
  ['auth git-credential get --host git.example.com'],
])('a signal ends opsctl %s while its sender is silent', async (words) => {
  const [pipe, required] = [join(home, `pipe-${Math.random()}`), join(home, 'preload.cjs')];
  writeFileSync(required, preload);
  execFileSync('mkfifo', [pipe]);
  const silent = openSync(pipe, 'r+');
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const ready = `${pipe}-${signal}`;
    const child = spawn(process.execPath, ['--require', required, entry, ...words.split(' ')], {
      env: { ...env, READY: ready },
      stdio: [silent, 'ignore', 'ignore', silent],
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await expect.poll(() => existsSync(ready) || child.exitCode !== null).toBe(true);
    child.kill(signal);
    expect([signal, await ended]).toEqual([signal, code]);
  }
  closeSync(silent);
});
