import { expect, test } from 'vitest';
import { testsReaching } from '../real/reaching.mjs';
import { type Part, failing, missingTable, partsEnvironment } from '../real/parts.mjs';

const parts: readonly Part[] = [
  { name: 'jq', tests: ['test/a.test.ts'], supply: 'apt-get install jq' },
  {
    name: 'chromium',
    tests: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `test/${name}.test.ts`),
    missing: 'no mirror answers',
    supply: 'apt-get install chromium',
  },
  {
    name: 'root',
    tests: ['test/disk.test.ts'],
    missing: 'not running as root',
    supply: 'run in a container',
    isOptional: true,
  },
];

test('the closing table lists each missing part, the reason, the skipped tests and the supplier', () => {
  expect(missingTable(parts)).toEqual([
    'chromium: no mirror answers',
    '  leaves out: test/a.test.ts, test/b.test.ts, test/c.test.ts, test/d.test.ts and 2 more',
    '  supply it:  apt-get install chromium',
    'root: not running as root',
    '  leaves out: test/disk.test.ts',
    '  supply it:  run in a container',
  ]);
  expect(missingTable(parts.filter(({ missing }) => missing === undefined))).toEqual([]);
});

test('a missing part fails the run on CI, unless it cannot be supplied there', () => {
  expect(failing(parts, {})).toEqual([]);
  expect(failing(parts, { CI: 'true' }).map(({ name }) => name)).toEqual(['chromium']);
});

test('downloaded parts follow the parts of the machine', () => {
  const { PATH } = partsEnvironment({ PATH: '/usr/bin', OPSCTL_TEST_CACHE: '/nowhere/cache' });
  expect(PATH).toBe('/usr/bin:/nowhere/cache/bin');
});

test('a part leaves out the tests that reach it, through helpers and in a circle too', () => {
  const files = Object.entries({
    'test/support/shell.ts': "spawn('zsh')",
    'test/support/session.ts': "import { shell } from './shell.ts';\nimport '../stories/circle.ts';",
    'test/stories/circle.ts': "export { session } from '../support/session.ts';",
    'test/stories/b.test.ts': "const { session } = await import('../support/session.ts');",
    'test/a.test.ts': "import {\n  shell,\n} from './support/shell.ts';",
    'test/other.test.ts': "import { readFile } from 'node:fs';",
  }).map(([name, text]) => ({ name, text }));
  expect(testsReaching(files, ['test/support/shell.ts'])).toEqual([
    'test/a.test.ts',
    'test/stories/b.test.ts',
  ]);
  expect(testsReaching(files, ['test/other.test.ts'])).toEqual(['test/other.test.ts']);
});
