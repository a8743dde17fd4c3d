// @ts-check
// Formats failures for the end of a log, because a reader of a CI log sees the end first.

/** Vitest colors the compared values, but a log of failures is plain text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const colours = /\u001b\[[0-9;]*m/g;
/** @param {string | undefined} text */
const firstLine = (text) =>
  (text ?? '')
    .replace(colours, '')
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim()
    .slice(0, 1_000) ?? 'no message';
/** A message starts with what is wrong and ends with the last output or the position. Its middle is left out. */
const most = { head: 2_600, tail: 1_400 };
/**
 * Returns the head and the tail of a message, so that a failure on another machine can be understood from its log.
 * @param {string | undefined} message
 */
const headAndTail = (message) => {
  const text = (message ?? '').replace(colours, '').trim();
  if (text === '') return 'no message';
  const omitted = text.length - most.head - most.tail;
  if (omitted <= 0) return text;
  return `${text.slice(0, most.head)}\n… ${omitted} characters omitted …\n${text.slice(-most.tail)}`;
};

/**
 * Returns the failures of one JSON report of vitest: each failed test by its full name, and each file that failed outside its tests.
 * @type {typeof import('./failures.mjs').failedTests}
 */
export const failedTests = ({ testResults }, root = '') =>
  testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = name.replace(root, '');
    const failed = assertionResults.filter((one) => one.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [{ name: file, error: headAndTail(message) }] : [];
    return failed.map((one) => ({
      name: `${file} > ${[...one.ancestorTitles, one.title].join(' > ')}`,
      error: headAndTail(one.failureMessages[0]),
    }));
  });

/**
 * Returns the output for a finished test case of vitest, or undefined if the test case did not fail.
 * @type {typeof import('./failures.mjs').saidAtOnce}
 */
export const saidAtOnce = (test) => {
  const { state, errors = [] } = test.result();
  return state === 'failed'
    ? `failed: ${test.module.relativeModuleId} > ${test.fullName}: ${firstLine(errors[0]?.message)}`
    : undefined;
};

/**
 * Returns one line that names the test files with the most CPU time, because the elapsed time of a file contains its waits.
 * @type {typeof import('./failures.mjs').mostCpu}
 */
export const mostCpu = (modules, count) => {
  const measured = modules.flatMap((module) => {
    const { cpuSeconds } = module.meta();
    return cpuSeconds === undefined ? [] : [{ name: module.relativeModuleId, cpuSeconds }];
  });
  const most = measured.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, count);
  return `most CPU time: ${most.map(({ name, cpuSeconds }) => `${name} ${cpuSeconds.toFixed(1)} s`).join(', ')}`;
};

/**
 * Returns the lines before the closing line, or an empty list if no test failed.
 * @type {typeof import('./failures.mjs').failureLines}
 */
export const failureLines = (failures) =>
  failures.length === 0
    ? []
    : [
        '',
        '== failed',
        ...failures.flatMap(({ name, error }) => [
          `FAIL ${name}`,
          ...error.split('\n').map((line) => `     ${line}`),
        ]),
      ];
