// Mutants that no test can detect, because the program behaves the same. Each entry names its file, its kind and the start of
// the changed text, and states why the behavior is the same. effects.test.ts checks that each entry still exists.
/** The list must stay short: a mutant is a missing test until a reason shows the opposite. */
export const MOST_EQUIVALENT = 20;

export const EQUIVALENT = [
  {
    file: 'src/tracker/bulk/run.ts',
    kind: 'await',
    text: 'await run.keys.note(change.resource, record)',
    reason:
      'The note is added when the index is read, and every later row waits for the same index, so it sees the note in both cases.',
  },
  {
    file: 'src/tracker/bulk/run.ts',
    kind: 'await',
    text: 'await run.keys.note(resource, answer)',
    reason:
      'The note is added when the index is read, and every later row waits for the same index, so it sees the note in both cases.',
  },
];

/** Returns whether the list contains this mutant. */
export const isEquivalent = ({ file, source, kind, start, end }) =>
  EQUIVALENT.some(
    (one) => one.file === file && one.kind === kind && source.slice(start, end).startsWith(one.text),
  );
