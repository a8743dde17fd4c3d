import { expect, test } from 'vitest';
import { covers, markTest } from '../support/covers.ts';
import { missingMarks, namedTests, readMarks } from './covered.mjs';

const ran = (
  status: string,
  holds: readonly string[] = [],
  requires: readonly string[] = [],
  title = 't',
) => ({
  ...{ title, ancestorTitles: [], status, meta: { holds, requires } },
});
const missing = (...tests: ReturnType<typeof ran>[]) =>
  missingMarks(readMarks({ testResults: [{ assertionResults: tests }] })).map(({ name }) => name);

test('a part counts as tested only when a test with its mark ran and passed', () => {
  const list = ran('passed', [], ['setting/a', 'guard/b', 'exit/usage', 'spec/oauth-checklist#7.11']);
  const tag = ran('passed', [], [], '[OAS-7.11] a code works once');
  expect(missing(list, tag, ran('passed', ['setting/a']), ran('failed', ['guard/b']))).toEqual([
    'guard/b',
    'exit/usage',
  ]);
  expect(missing(list, tag, ran('skipped', ['guard/b']), ran('passed', ['guard/b', 'setting/a']))).toEqual([
    'exit/usage',
  ]);
});

test('the parts and the tests of several reports are one list', () => {
  const first = readMarks({ testResults: [{ assertionResults: [ran('passed', [], ['setting/a'])] }] });
  expect(missingMarks(first)).toHaveLength(1);
  readMarks({ testResults: [{ assertionResults: [ran('passed', ['setting/a'])] }] }, first);
  expect(missingMarks(first)).toEqual([]);
});

test('a skipped test proves nothing, unless a part of the machine is missing', () => {
  const known = readMarks({
    testResults: [{ assertionResults: [ran('skipped', ['guard/b'], ['guard/b'])] }],
  });
  expect([missingMarks(known).length, missingMarks(known, false)]).toEqual([1, []]);
});

test('a test that a sentence of the documents names must run and pass', () => {
  const table = 'sentence\ttest\na\ttest/a.test.ts > [X-1] %s is $kind\nb\ttest/b.test.ts > b';
  const named = namedTests([table]);
  const left = (file: string, title: string, status = 'passed') =>
    missingMarks(
      readMarks(
        { testResults: [{ name: `/root/${file}`, assertionResults: [ran(status, [], [], title)] }] },
        undefined,
        named,
      ),
    ).map(({ name }) => name);
  const [first, second] = ['test/test/a.test.ts > [X-1] %s is $kind', 'test/test/b.test.ts > b'];
  expect(left('test/a.test.ts', "[X-1] 5 is 'odd'")).toEqual([second]);
  expect(left('test/a.test.ts', "[X-1] 5 is 'odd'", 'skipped')).toEqual([first, second]);
  expect(left('test/c.test.ts', "[X-1] 5 is 'odd'")).toEqual([first, second]);
  expect(left('test/b.test.ts', 'a b c')).toEqual([first]);
});

test('a mark that names no part of the product is reported', () => {
  expect(missing(ran('passed', ['setting/no-such']))).toEqual(['setting/no-such']);
});

test(
  'a test carries the marks of its options and those that its body adds',
  covers('exit/done'),
  ({ task }) => {
    markTest('exit/usage');
    expect(task.meta.holds).toEqual(['exit/done', 'exit/usage']);
    // This test proves neither mark.
    task.meta.holds = [];
  },
);
