/** The README's blocks, pasted into interactive shells: zsh takes `#` for a word there. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { program } from '../support/built-program.ts';
import { hasShell, shellSession } from '../support/shell-session.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const blockWith = (line: string): string[] =>
  (blocks.find((block) => block.includes(line)) ?? '').trimEnd().split('\n');

test('no line of a block carries a comment', () => {
  expect(blocks.length).toBeGreaterThan(4);
  for (const line of blocks.flatMap((block) => block.split('\n'))) expect(line).not.toMatch(/(^|\s)#/);
});

test.each(['bash', 'zsh'] as const)('the walk-through of the tracker runs in %s as pasted', async (shell) => {
  if (!hasShell(shell)) {
    if (process.env.CI) throw new Error(`${shell} is not installed`);
    return;
  }
  const home = program();
  const session = await shellSession(shell, { home: home.home, cwd: home.home, env: { OPSCTL_PAGER: '' } });
  try {
    const lines = blockWith('opsctl tracker labels create').filter(
      (line) => /tracker|echo/.test(line) && !line.includes('jq'),
    );
    expect(lines.length).toBeGreaterThan(6);
    for (const line of lines) {
      const screen = await session.type(`${line}; echo "ended:$?:"\r`, /ended:\d+:\s/);
      const code = /ended:(\d+):\s/.exec(screen)?.[1];
      expect([
        line,
        line.includes(' diff ') ? ['0', '20'].includes(code ?? '') : code === '0',
        screen.slice(-300),
      ]).toEqual([line, true, screen.slice(-300)]);
    }
  } finally {
    await session.close();
    await home.close();
  }
});
