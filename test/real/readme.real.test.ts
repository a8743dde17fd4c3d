/** All blocks of the README in their order, pasted into interactive shells. zsh treats `#` as an argument there. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, commandsOf } from '../docs/pages.ts';
import { program } from '../support/built-program.ts';
import { hasShell, shellSession } from '../support/shell-session.ts';
import { slice } from '../support/slice.ts';

const root = new URL('../../', import.meta.url).pathname;
const blocks = blocksOf('README.md')
  .map((block) => commandsOf(block).join('\n'))
  .filter((block) => block !== '');

test('no line of a block carries a comment', () => {
  expect(blocks.length).toBeGreaterThan(3);
  for (const line of blocks.flatMap((block) => block.split('\n'))) expect(line).not.toMatch(/(^|\s)#/);
});

/** Prints each failed line with its exit code. zsh does not report the line, so the test checks only the code. */
const watch = {
  bash: `trap 'echo "failed:$?:$BASH_COMMAND:"' ERR`,
  zsh: `TRAPZERR() { print "failed:$?:$1:" }`,
} as const;
/** The sequences that a terminal sends around pasted text. */
const pasted = (text: string): string => `\u001b[200~${text}\u001b[201~\r`;

/** The first block sets this repository up. The test replaces only npm, and the block must name existing scripts. */
const standInForNpm = (bin: string): void => {
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\necho "$@" >> "$HOME/npm-was-called"\n');
  chmodSync(join(bin, 'npm'), 0o755);
};

// test/real/examples.real.test.ts runs the same commands in bash in every run.
test.concurrent.for(slice(['bash', 'zsh'] as const, 1))(
  'every block runs in %s as pasted, in order',
  async (shell, { expect }) => {
    if (!hasShell(shell)) {
      if (process.env['OPSCTL_TEST_IN_CI']) throw new Error(`${shell} is not installed`);
      return;
    }
    const home = program();
    const cwd = join(home.home, 'empty');
    mkdirSync(cwd);
    standInForNpm(join(home.home, 'bin'));
    const session = await shellSession(shell, { home: home.home, cwd, env: { OPSCTL_PAGER: '' } });
    try {
      await session.type(`${watch[shell]}; echo watch''ing\r`, 'watching');
      for (const [at, block] of blocks.entries()) {
        const screen = await session.type(pasted(`${block}\necho block''-${at}-done`), `block-${at}-done`);
        expect(screen, block).not.toMatch(/failed:\d+:/);
      }
      const called = readFileSync(join(home.home, 'npm-was-called'), 'utf8').trim().split('\n');
      const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
        scripts: Record<string, string>;
      };
      expect(called.filter((word) => word !== 'ci' && scripts[word] === undefined)).toEqual([]);
      expect(existsSync(join(cwd, 'upgrade.html')), 'the report of the upgrade').toBe(true);
    } finally {
      await home.run(['mock', 'kv', 'stop', '--dir', join(cwd, 'rehearsal')]);
      await session.close();
      await home.close();
    }
  },
);
