/** The README and the tutorials show the output that their commands print. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Block, blocksOf, commandsOf } from '../docs/pages.ts';
import { program } from '../support/built-program.ts';
import { shellSession } from '../support/shell-session.ts';

type Example = { readonly command: string; readonly output: readonly string[] };

/** The commands of a block, each with the lines that follow it. Lines with `...` stand for any output. */
const examplesOf = (block: Block): Example[] => {
  if (block.language !== 'console') return commandsOf(block).map((command) => ({ command, output: [] }));
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.trimEnd().split('\n');
      return { command, output: lines.filter((line) => line.trim() !== '' && line !== '...') };
    });
};

/** Replaces everything that differs from run to run: numbers other than versions, run IDs, digests, names of members. */
const withoutVariables = (line: string): string =>
  line
    .replace(/^\d\d:\d\d:\d\dZ/, '')
    .replace(/\d{8}T\d{6}Z-[\da-f]{4}/g, 'RUN')
    .replace(/\b[\da-f]{12,64}\b/g, 'HEX')
    .replace(/(?<![\d.])(?!3\.\d(?:\.\d+)?(?![\d.]))\d+(?:\.\d+)*/g, '#')
    .replace(/# (?:ms|s|min|KiB|MiB)\b/g, '#')
    .replace(/# # (?=\s|$)|# #(?=[,; )]|$)/g, '#')
    .replace(/\bn#/g, 'MEMBER')
    .replace(/^members: /, '')
    .replace(/^(MEMBER .*) leader /, '$1 ')
    .replace(/ \(leader\)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .split(' · ')
    .sort()
    .join(' · ');

/** The expected lines that the screen does not show. The order is free, because it depends on the leader. */
const missingLines = (expected: readonly string[], screen: string): string[] => {
  const actual = screen.split('\n').map(withoutVariables);
  return expected.filter((line) => {
    const at = actual.indexOf(withoutVariables(line));
    if (at >= 0) actual.splice(at, 1);
    return at < 0;
  });
};

const pages = [
  'README.md',
  'docs/tutorials/first-sign-in.md',
  'docs/tutorials/labels-in-git.md',
  'docs/tutorials/first-upgrade.md',
];
const isNpm = ({ command }: Example): boolean => command.startsWith('npm ');

test.concurrent.for(pages)('%s shows the output of its commands', async (page, { expect }) => {
  const home = program();
  const cwd = join(home.home, 'empty');
  mkdirSync(cwd);
  const env = { CI: '1', BROWSER: 'none', NO_COLOR: '1', OPSCTL_PAGER: '', GIT_CONFIG_GLOBAL: '/dev/null' };
  const author = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  const session = await shellSession('bash', { home: home.home, cwd, env: { ...env, ...author } });
  try {
    const examples = blocksOf(page)
      .flatMap(examplesOf)
      .filter((example) => !isNpm(example));
    expect(examples.length).toBeGreaterThan(4);
    for (const [at, { command, output }] of examples.entries()) {
      const screen = await session.type(`${command}\recho done''-${at}\r`, `done-${at}`);
      expect(missingLines(output, screen), `${page}: ${command}\n${screen}`).toEqual([]);
    }
  } finally {
    await home.run(['mock', 'kv', 'stop', '--dir', join(cwd, 'rehearsal')]);
    await session.close();
    await home.close();
  }
});

test('a line with another word is missing, one with other numbers is not', () => {
  const screen = '[4/13] check that n1 is healthy\n  done in 1.2 s (version 3.3.27)\n';
  expect(
    missingLines(['[5/14] check that n2 is healthy', 'done in 850 ms (version 3.3.27)'], screen),
  ).toEqual([]);
  expect(missingLines(['done in 850 ms (version 3.4.42)'], screen)).toHaveLength(1);
  expect(missingLines(['check that n2 is fine'], screen)).toHaveLength(1);
});
