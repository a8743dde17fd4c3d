// What failed, in lines short enough for the end of a log: a reader of a CI log sees its tail first.

/** Vitest colours what it compares; a log of failures is plain text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const colours = /\u001b\[[0-9;]*m/g;
const firstLine = (text) =>
  (text ?? '')
    .replace(colours, '')
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim()
    .slice(0, 1_000) ?? 'no message';

/** Of one JSON report of vitest: each failed test by its full name, and each file that failed outside its tests. */
export const failedTests = ({ testResults }, root = '') =>
  testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = name.replace(root, '');
    const failed = assertionResults.filter((one) => one.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [{ name: file, error: firstLine(message) }] : [];
    return failed.map((one) => ({
      name: `${file} > ${[...one.ancestorTitles, one.title].join(' > ')}`,
      error: firstLine(one.failureMessages[0]),
    }));
  });

/** What is said of a test case of vitest when it ends: undefined of one that did not fail. */
export const saidAtOnce = (test) => {
  const { state, errors = [] } = test.result();
  return state === 'failed'
    ? `failed: ${test.module.relativeModuleId} > ${test.fullName}: ${firstLine(errors[0]?.message)}`
    : undefined;
};

/** The lines before the closing line; none when nothing failed. */
export const failureLines = (failures) =>
  failures.length === 0
    ? []
    : ['', '== failed', ...failures.flatMap(({ name, error }) => [`FAIL ${name}`, `     ${error}`])];
