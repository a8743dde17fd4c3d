// What the tests of a run prove. A test carries marks (`test/support/covers.ts`); the report of the run has them beside its result, and the
// list of what must be proved comes from a test too, because it is derived from tables of the product.

/** The lines of the checklist of the authorization server are in the titles: `[OAS-7.11]`. */
const TAG = /\[OAS-(\d+\.\d+)\]/g;

const marksOf = ({ fullName, ancestorTitles, title, meta }) => [
  ...(meta?.holds ?? []),
  ...[...(fullName ?? [...ancestorTitles, title].join(' ')).matchAll(TAG)].map(
    ([, line]) => `spec/oauth-checklist#${line}`,
  ),
];

/** Adds the tests of a JSON report of vitest to what is known. */
export const readMarks = ({ testResults }, known = { required: new Set(), states: new Map() }) => {
  for (const test of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    for (const mark of test.meta?.requires ?? []) known.required.add(mark);
    for (const mark of marksOf(test))
      known.states.set(mark, new Set([...(known.states.get(mark) ?? []), test.status]));
  }
  return known;
};

const problemOf = (mark, states) => {
  if (states === undefined)
    return `no test carries this mark: add covers('${mark}') to the test that proves it`;
  if (states.has('passed')) return undefined;
  return `no test with this mark passed: ${[...states].sort().join(', ')}`;
};

/** What is required and was not proved. A mark that names nothing is an error too: it would hide a missing one. */
export const missingMarks = ({ required, states }) => [
  ...[...required]
    .map((mark) => ({ name: mark, error: problemOf(mark, states.get(mark)) }))
    .filter(({ error }) => error !== undefined),
  ...[...states.keys()]
    .filter((mark) => !required.has(mark))
    .map((mark) => ({ name: mark, error: 'a test carries this mark, and the product has no such part' })),
];
