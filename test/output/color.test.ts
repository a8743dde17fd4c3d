import { expect, test } from 'vitest';
import { isColored, themeFor } from '../../src/output/types.ts';
import { covers } from '../support/covers.ts';

type Case = ['auto' | 'always' | 'never' | undefined, Record<string, string>, boolean, boolean];

// spec/program#output: --color > NO_COLOR > FORCE_COLOR > TERM=dumb > is a terminal.
test.each<Case>([
  [undefined, {}, true, true],
  [undefined, {}, false, false],
  ['auto', {}, true, true],
  ['auto', {}, false, false],
  ['always', { NO_COLOR: '1', TERM: 'dumb' }, false, true],
  ['never', { FORCE_COLOR: '1' }, true, false],
  [undefined, { NO_COLOR: '1' }, true, false],
  [undefined, { NO_COLOR: '' }, true, true],
  [undefined, { NO_COLOR: '0' }, true, false],
  [undefined, { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  [undefined, { FORCE_COLOR: '1' }, false, true],
  [undefined, { FORCE_COLOR: '0' }, true, false],
  [undefined, { FORCE_COLOR: 'false' }, true, false],
  [undefined, { FORCE_COLOR: '' }, false, false],
  [undefined, { CLICOLOR_FORCE: '1' }, false, true],
  [undefined, { CLICOLOR_FORCE: '0' }, false, false],
  [undefined, { FORCE_COLOR: '1', TERM: 'dumb' }, true, true],
  [undefined, { TERM: 'dumb' }, true, false],
])('--color=%s with %j, terminal %s: %s', covers('spec/program#output-3'), (mode, env, isTty, expected) => {
  expect(isColored(mode, env, isTty)).toBe(expected);
});

test("a theme without color changes no text; with color it ignores the process's own streams", async () => {
  const plain = await themeFor(false);
  expect(plain.red('x') + plain.bold('y')).toBe('xy');
  const colored = await themeFor(true);
  expect(colored.red('x')).toBe('\u001b[31mx\u001b[39m');
});
