// @ts-check
// Mutants that no test can detect, because the program behaves the same. Each entry names its file, its kind and the start of
// the changed text, and states why the behavior is the same. effects.test.ts checks that each entry still exists.
/**
 * The list must stay short: a mutant is a missing test until a reason shows the opposite.
 * @type {typeof import('./equivalent.mjs').MOST_EQUIVALENT}
 */
export const MOST_EQUIVALENT = 20;

/** @type {typeof import('./equivalent.mjs').EQUIVALENT} */
export const EQUIVALENT = [
  {
    file: 'src/tracker/bulk/run.ts',
    kind: 'await',
    text: 'await run.keys.note(change.resource, record)',
    reason:
      'The note is the first reaction that is added to the promise of the index, so it is complete before every later row continues that waits for the same promise.',
  },
  {
    file: 'src/tracker/bulk/run.ts',
    kind: 'await',
    text: 'await noted',
    reason:
      'The note is the first reaction that is added to the promise of the index, so it is complete before every later row continues that waits for the same promise.',
  },
  {
    file: 'src/tracker/bulk/undo.ts',
    kind: 'order',
    text: 'journal.close();',
    reason:
      'The journal was synced before, and forgetting the names ignores every failure of its own, so both happen in both orders.',
  },
  {
    file: 'src/tracker/bulk/undo-plan.ts',
    kind: 'fallback',
    text: 'known?.params ?? all',
    reason: 'All effects of one record have the same parameters, whichever row they came from.',
  },
  {
    file: 'src/kv/snapshots/trial-restore.ts',
    kind: 'await',
    text: 'await timer',
    reason: 'The timer was canceled one statement before, and its end has no effect.',
  },
  {
    file: 'src/labels/record-writes.ts',
    kind: 'await',
    text: 'await this.#note(name, { name, title: made.properties.title ?? name })',
    reason:
      'Both entries wait for the same target and then for the same file, in the order of their calls, and the second is awaited.',
  },
  {
    file: 'src/labels/record-writes.ts',
    kind: 'order',
    text: 'await this.#record.noteRejected(now.line)',
    reason:
      'The changes of one label are sequential, and only the next change of the same label reads the entry that is removed.',
  },
  {
    file: 'src/mock-server/tracker/state.ts',
    kind: 'unit',
    text: 'ms / 1000',
    reason: 'Every millisecond of a second has the same text, so the change only makes that text more often.',
  },
];

/**
 * Returns whether the list contains this mutant.
 * @type {typeof import('./equivalent.mjs').isEquivalent}
 */
export const isEquivalent = ({ file, source, kind, start, end }) =>
  EQUIVALENT.some(
    (one) => one.file === file && one.kind === kind && source.slice(start, end).startsWith(one.text),
  );
