// @ts-check
// Collects what the tests of a run prove. A test has marks (`test/support/covers.ts`), and the report of the run
// contains them next to its result. The list of required marks also comes from a test, because it is derived from tables
// of the product.

/** A title is also a mark if it names a line of the checklist of the authorization server (`[OAS-7.11]`) or a statement. */
const TAG = /\[OAS-(\d+\.\d+)\]/g;
const STATEMENT = /\bspec\/[a-z-]+#[a-z-]+-\d+/g;

/** @typedef {Parameters<typeof import('./covered.mjs').missingMarks>[0]} Known */
/** @typedef {Parameters<typeof import('./covered.mjs').readMarks>[0]} Report */
/** @typedef {ReturnType<typeof import('./covered.mjs').namedTests>[number]} Named */
/** @typedef {Report['testResults'][number]['assertionResults'][number]} Test */

/** @param {Test} test */
const marksOf = ({ ancestorTitles, title, meta }) => {
  const name = [...ancestorTitles, title].join(' ');
  return [
    ...(meta?.holds ?? []),
    ...[...name.matchAll(TAG)].map(([, line]) => `spec/oauth-checklist#${line}`),
    ...[...name.matchAll(STATEMENT)].map(([statement]) => statement),
  ];
};

/**
 * Returns a pattern for a part of a title in the source: `%s`, `$name` and `${…}` match any text in the title of a run.
 * @param {string} written
 */
const titlePattern = (written) =>
  new RegExp(
    written
      .split(/%[sdifjo]|\$\{[^}]*\}|\$\w+/)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('.*'),
  );
/**
 * Returns the tests that the sentences and table rows of the documents name (`test/spec/sentences.tsv`, `rows.tsv`),
 * as `test/a.test.ts > part of a title`. Each test must run and pass.
 * @type {typeof import('./covered.mjs').namedTests}
 */
export const namedTests = (tables) =>
  [
    ...new Set(
      tables.flatMap((text) => text.trim().split('\n').slice(1)).map((line) => line.split('\t').at(-1) ?? ''),
    ),
  ].map((cell) => {
    const [file = '', title = ''] = cell.split(' > ');
    return { mark: `test/${cell}`, file, pattern: titlePattern(title) };
  });
/** @param {Report} report @param {Known} known @param {readonly Named[]} named */
const readNamed = ({ testResults }, known, named) => {
  for (const { mark, file, pattern } of named) {
    known.required.add(mark);
    for (const { status } of testResults
      .filter(({ name = '' }) => name.endsWith(`/${file}`))
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ title }) => pattern.test(title)))
      known.states.set(mark, new Set([...(known.states.get(mark) ?? []), status]));
  }
};

/**
 * Adds the tests of a JSON report of vitest to the known tests.
 * @type {typeof import('./covered.mjs').readMarks}
 */
export const readMarks = (
  { testResults },
  known = { required: new Set(), optional: new Set(), states: new Map() },
  named = [],
) => {
  readNamed({ testResults }, known, named);
  for (const test of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    for (const mark of test.meta?.requires ?? []) known.required.add(mark);
    for (const mark of test.meta?.knows ?? []) known.optional.add(mark);
    for (const mark of marksOf(test))
      known.states.set(mark, new Set([...(known.states.get(mark) ?? []), test.status]));
  }
  return known;
};

/** @param {string} mark @param {ReadonlySet<string> | undefined} states @param {boolean} isWhole */
const problemOf = (mark, states, isWhole) => {
  if (states === undefined)
    return `no test carries this mark: add covers('${mark}') to the test that proves it`;
  if (states.has('passed')) return undefined;
  if (!isWhole && !states.has('failed')) return undefined;
  return `no test with this mark passed: ${[...states].sort().join(', ')}`;
};

/**
 * Returns the required marks that no test proved. A mark that does not name a requirement is also an error, because it
 * would hide a missing mark. `isWhole` is true if the run skipped no test because of a missing part of the machine.
 * @type {typeof import('./covered.mjs').missingMarks}
 */
export const missingMarks = ({ required, optional, states }, isWhole = true) => [
  ...[...required]
    .map((mark) => ({ name: mark, error: problemOf(mark, states.get(mark), isWhole) ?? '' }))
    .filter(({ error }) => error !== ''),
  ...[...states.keys()]
    .filter((mark) => !required.has(mark) && !optional.has(mark))
    .map((mark) => ({ name: mark, error: 'a test carries this mark, and the product has no such part' })),
];
