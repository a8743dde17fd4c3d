import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hangMs } from '../../support/hang.ts';
import { type Program, program } from './program.ts';

/** The sign-in guides, pasted into a shell without changes. */
const root = fileURLToPath(new URL('../../../', import.meta.url));
const kubectl: string = 'kubectl';
let opsctl: Program;
/** The commands below a heading of a page, in one script that exits at the first failure. */
const scriptOf = (page: string, heading: string): string => {
  const text = readFileSync(join(root, 'docs', 'how-to', page), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const blocks = [...section.matchAll(/^( *)```sh\n([\s\S]*?)^\1```/gm)].map(([, , block = '']) => block);
  expect(blocks, `${page}: ${heading}`).not.toEqual([]);
  return ['set -e', ...blocks].join('\n');
};
const shell = async (script: string) => {
  opsctl = await program();
  const home = opsctl.env.HOME ?? '';
  mkdirSync(join(home, 'bin'));
  const path = join(home, 'bin', 'opsctl');
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${root}bin/opsctl.js "$@"\n`);
  chmodSync(path, 0o755);
  const env = { ...opsctl.env, PATH: `${join(home, 'bin')}:${process.env.PATH}`, GIT_CONFIG_NOSYSTEM: '1' };
  return spawnSync('sh', ['-c', script], { env, cwd: home, encoding: 'utf8', timeout: hangMs });
};

test('sign in in CI: each step of the trial works as pasted', async () => {
  const ended = await shell(scriptOf('sign-in-in-ci.md', 'Verify'));
  expect(ended.status, ended.stderr).toBe(0);
  expect(ended.stdout.match(/"kind": "media#channelListResponse"/g)).toHaveLength(2);
});

test('use tokens in other tools: the set-up of git, docker and kubectl, and its end', async () => {
  const page = 'use-tokens-in-other-tools.md';
  const hasKubectl = spawnSync(kubectl, ['version', '--client']).status === 0;
  const all = [
    scriptOf(page, 'git'),
    scriptOf(page, 'docker'),
    scriptOf(page, 'kubectl'),
    scriptOf(page, 'Undo'),
  ]
    .map((script) => script.replace(/^kubectl config set-context.*$/m, ''))
    .filter((script) => hasKubectl || !script.includes('kubectl'));
  const ended = await shell(all.join('\n'));
  expect(ended.status, ended.stderr).toBe(0);
  expect(ended.stdout).toContain('removed');
});
