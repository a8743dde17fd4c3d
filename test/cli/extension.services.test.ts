/** Third-party commands: `opsctl-NAME` on PATH. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';

let home = '';
let env: Record<string, string>;
const put = (name: string, text: string): void => {
  writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(home, name), 0o755);
};
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'opsctl-extension-'));
  env = { PATH: `${home}:${process.env['PATH']}` };
  put('opsctl-hello', 'printf "%s|" "$@" > "$OPSCTL_HOME/seen"; exit 7');
  put('opsctl-tracker', 'touch "$OPSCTL_HOME/replaced"');
  put('opsctl-help', 'touch "$OPSCTL_HOME/replaced"');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

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
