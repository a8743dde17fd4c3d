import { describe, expect, it } from 'vitest';
import { failedTests, failureLines, mostCpu, saidAtOnce } from './failures.mjs';

const passed = { status: 'passed', ancestorTitles: ['a store'], title: 'writes', failureMessages: [] };
const failed = {
  ...{ status: 'failed', ancestorTitles: ['a store', 'that is full'], title: 'says so' },
  failureMessages: ['\u001b[31mAssertionError: expected +0 to be 8\u001b[39m\n    at x.ts:1:2'],
};
const file = (name: string, assertionResults: (typeof failed)[], status = 'failed', message = '') => ({
  ...{ name: `/root/test/${name}`, status, message, assertionResults },
});

describe('the end of a log', () => {
  it('names every failed test with its error', () => {
    const report = {
      testResults: [file('a.test.ts', [passed as never, failed]), file('b.test.ts', [], 'passed')],
    };
    expect(failureLines(failedTests(report, '/root/'))).toEqual([
      ...['', '== failed', 'FAIL test/a.test.ts > a store > that is full > says so'],
      ...['     AssertionError: expected +0 to be 8', '         at x.ts:1:2'],
    ]);
  });

  it('names a file that failed outside its tests', () => {
    const report = { testResults: [file('c.test.ts', [], 'failed', "\nCannot find module './x'\nstack")] };
    expect(failedTests(report, '/root/')).toEqual([
      { name: 'test/c.test.ts', error: "Cannot find module './x'\nstack" },
    ]);
    const hook = { testResults: [file('d.test.ts', [passed as never], 'failed', 'afterAll timed out')] };
    expect(failedTests(hook, '/root/')).toEqual([{ name: 'test/d.test.ts', error: 'afterAll timed out' }]);
  });

  it('the head and the tail of a long error are shown, at most 4,000 characters', () => {
    const lines = failedTests({
      testResults: [file('e.test.ts', [], 'failed', `HEAD${'a'.repeat(3_992)}TAIL`)],
    });
    expect(lines[0]?.error).toHaveLength(4_000);
    const [longer] = failedTests({
      testResults: [file('e.test.ts', [], 'failed', `HEAD${'a'.repeat(3_993)}TAIL`)],
    });
    expect(longer?.error).toMatch(/^HEADa+\n… 1 characters omitted …\na+TAIL$/);
  });

  it('the end of a log is unchanged without failures', () => {
    expect(failureLines([])).toEqual([]);
  });
});

it('a failing test is reported immediately on one line without colors; a passing test is not', () => {
  const said = (state: string, errors?: { message: string }[]) =>
    saidAtOnce({
      ...{ module: { relativeModuleId: 'test/a.test.ts' }, fullName: 'one > two' },
      result: () => ({ state, ...(errors === undefined ? {} : { errors }) }),
    });
  expect(said('failed', [{ message: '\u001b[31mexpected 1\u001b[39m\nmore' }])).toBe(
    'failed: test/a.test.ts > one > two: expected 1',
  );
  expect(said('failed')).toBe('failed: test/a.test.ts > one > two: no message');
  expect([said('passed'), said('skipped')]).toEqual([undefined, undefined]);
});

it('the end of a run names the files with the most CPU time', () => {
  const modules = [
    { relativeModuleId: 'a.test.ts', meta: () => ({ cpuSeconds: 1 }) },
    { relativeModuleId: 'b.test.ts', meta: () => ({ cpuSeconds: 20.04 }) },
    { relativeModuleId: 'c.test.ts', meta: () => ({}) },
    { relativeModuleId: 'd.test.ts', meta: () => ({ cpuSeconds: 3 }) },
  ];
  expect(mostCpu(modules, 2)).toBe('most CPU time: b.test.ts 20.0 s, d.test.ts 3.0 s');
});
