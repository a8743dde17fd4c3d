// What the tests of a run prove. A test carries marks (`test/support/covers.ts`); the report of the run has them beside its result, and the
// list of what must be proved comes from a test too, because it is derived from tables of the product.

/** A title is a mark too if it names a line of the checklist of the authorization server (`[OAS-7.11]`) or a statement. */
const TAG = /\[OAS-(\d+\.\d+)\]/g;
const STATEMENT = /\bspec\/[a-z-]+#[a-z-]+-\d+/g;

const marksOf = ({ ancestorTitles, title, meta }) => {
  const name = [...ancestorTitles, title].join(' ');
  return [
    ...(meta?.holds ?? []),
    ...[...name.matchAll(TAG)].map(([, line]) => `spec/oauth-checklist#${line}`),
    ...[...name.matchAll(STATEMENT)].map(([statement]) => statement),
  ];
};

/** Part of a title as it is written: `%s`, `$name` and `${…}` stand for any text in the title of a run. */
const titlePattern = (written) =>
  new RegExp(
    written
      .split(/%[sdifjo]|\$\{[^}]*\}|\$\w+/)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('.*'),
  );
/**
 * The tests that the sentences and table rows of the documents name (`test/spec/sentences.tsv`, `rows.tsv`), as
 * `test/a.test.ts > part of a title`. Each of them must run and pass.
 */
export const namedTests = (tables) =>
  [
    ...new Set(
      tables.flatMap((text) => text.trim().split('\n').slice(1)).map((line) => line.split('\t').at(-1)),
    ),
  ].map((cell) => {
    const [file, title] = cell.split(' > ');
    return { mark: `test/${cell}`, file, pattern: titlePattern(title) };
  });
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

/** Adds the tests of a JSON report of vitest to what is known. */
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

const problemOf = (mark, states, isWhole) => {
  if (states === undefined)
    return `no test carries this mark: add covers('${mark}') to the test that proves it`;
  if (states.has('passed')) return undefined;
  if (!isWhole && !states.has('failed')) return undefined;
  return `no test with this mark passed: ${[...states].sort().join(', ')}`;
};

/**
 * What is required and was not proved. A mark that names nothing is an error too: it would hide a missing one.
 * `isWhole`: nothing was skipped because a part of the machine is missing.
 */
export const missingMarks = ({ required, optional, states }, isWhole = true) => [
  ...[...required]
    .map((mark) => ({ name: mark, error: problemOf(mark, states.get(mark), isWhole) }))
    .filter(({ error }) => error !== undefined),
  ...[...states.keys()]
    .filter((mark) => !required.has(mark) && !optional.has(mark))
    .map((mark) => ({ name: mark, error: 'a test carries this mark, and the product has no such part' })),
];
