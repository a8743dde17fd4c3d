/** Third-party commands: `opsctl-NAME` on PATH. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
let env: Record<string, string>;
const put = (name: string, text: string): void => {
  writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(home, name), 0o755);
};
beforeAll(() => {
  home = makeDirectory();
  env = { PATH: `${home}:${process.env['PATH']}` };
  put('opsctl-hello', 'printf "%s|" "$@" > "$OPSCTL_HOME/seen"; exit 7');
  put('opsctl-tracker', 'touch "$OPSCTL_HOME/replaced"');
  put('opsctl-help', 'touch "$OPSCTL_HOME/replaced"');
});

test('a program opsctl-NAME on PATH is a command: its words, its exit code', async () => {
  const { code, stdout, stderr } = await opsctl(['hello', 'two words', '--flag'], { home, env });
  expect([code, stdout, stderr]).toEqual([7, '', '']);
  expect(readFileSync(join(home, 'seen'), 'utf8')).toBe('two words|--flag|');
});

test('a command of this program is never replaced, and what is nowhere is unknown', async () => {
  expect((await opsctl(['tracker', 'nosuch'], { home, env })).code).toBe(2);
  expect((await opsctl(['help', 'nosuch'], { home, env })).code).toBe(2);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
  const { code, stderr } = await opsctl(['helo'], { home, env: { PATH: home } });
  expect(code).toBe(2);
  expect(stderr).toContain('there is no command "helo"');
  expect((await opsctl(['../hello'], { home, env })).code).toBe(2);
});

const installed = (): string => join(home, 'config', 'extensions', 'opsctl-report');
test('an installed extension runs, also without PATH, and its checksum is checked before each run', async () => {
  put('opsctl-report', 'printf "%s|" "$@"; exit 3');
  const sha256 = createHash('sha256')
    .update(readFileSync(join(home, 'opsctl-report')))
    .digest('hex');
  const wrong = await opsctl(
    ['extension', 'install', join(home, 'opsctl-report'), '--sha256', '0'.repeat(64)],
    { home },
  );
  expect([wrong.code, existsSync(installed())]).toEqual([2, false]);
  expect(wrong.stderr).toContain(sha256);
  const install = await opsctl(['extension', 'install', join(home, 'opsctl-report'), '--sha256', sha256], {
    home,
  });
  expect(install.json()).toMatchObject({ name: 'report', sha256, file: installed() });
  expect((await opsctl(['report', 'a', '--b'], { home })).code).toBe(3);
  writeFileSync(installed(), '#!/bin/sh\ntouch "$OPSCTL_HOME/replaced"\n');
  const changed = await opsctl(['report', '-o', 'json'], { home });
  expect([changed.code, JSON.parse(changed.stderr).code]).toEqual([10, 'EXTENSION_CHANGED']);
  expect((await opsctl(['extension', 'list'], { home, env: { PATH: '' } })).json()).toEqual([
    { name: 'report', state: 'changed', path: installed(), reason: expect.any(String) },
  ]);
  expect((await opsctl(['extension', 'install', join(home, 'opsctl-report')], { home })).code).toBe(0);
  expect((await opsctl(['report'], { home })).code).toBe(3);
  expect((await opsctl(['extension', 'remove', 'report'], { home })).code).toBe(0);
  expect((await opsctl(['extension', 'remove', 'report'], { home })).code).toBe(6);
  expect((await opsctl(['report'], { home, env: { PATH: '' } })).code).toBe(2);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
});

test('the list names every program on PATH, and why one does not run', async () => {
  const later = join(home, 'later');
  mkdirSync(later);
  writeFileSync(join(later, 'opsctl-hello'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(home, 'opsctl-data'), 'not a program', { mode: 0o644 });
  writeFileSync(join(home, 'opsctl-open'), '#!/bin/sh\ntouch "$OPSCTL_HOME/replaced"\n');
  chmodSync(join(home, 'opsctl-open'), 0o777);
  const rows = (
    await opsctl(['extension', 'list'], { home, env: { PATH: `${home}:${later}:relative` } })
  ).json() as { name: string; state: string; path: string }[];
  expect(rows.map(({ name, state, path }) => [name, state, path.slice(home.length)])).toEqual([
    ['hello', 'ready', '/opsctl-hello'],
    ['help', 'hidden', '/opsctl-help'],
    ['open', 'not trusted', '/opsctl-open'],
    ['report', 'ready', '/opsctl-report'],
    ['tracker', 'hidden', '/opsctl-tracker'],
    ['hello', 'hidden', '/later/opsctl-hello'],
  ]);
  expect((await opsctl(['open'], { home, env: { PATH: home } })).code).toBe(10);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
});

test('a name of a command, another name, and a missing file are refused', async () => {
  for (const [file, code] of [
    ['opsctl-tracker', 2],
    ['opsctl-help', 2],
    ['opsctl-Report', 2],
    ['report', 2],
    ['opsctl-missing', 6],
  ] as const)
    expect((await opsctl(['extension', 'install', join(home, file)], { home })).code).toBe(code);
});
