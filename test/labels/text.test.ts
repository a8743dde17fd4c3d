import { expect, test } from 'vitest';
import { type Change, changeRow, changesText } from '../../src/labels/definition.ts';

const changes: Change[] = [
  { kind: 'renamed', what: 'field Status', detail: 'from State', part: { fieldId: 'f1' } },
  { kind: 'disabled', what: 'choice Open', part: { fieldId: 'f1', choiceId: 'c1' } },
  { kind: 'added', what: 'label L', detail: 'SHARED', part: {} },
];

test('a change for people has a mark, and what it was', () => {
  expect(changesText(changes)).toBe(
    '  ~ field Status renamed: from State\n  - choice Open disabled\n  + label L added: SHARED',
  );
  expect(changesText([])).toBe('  no changes');
});

test('changes for scripts have the ID of the part, without absent keys', () => {
  expect(changes.map((change) => JSON.stringify(changeRow(change)))).toEqual([
    '{"kind":"renamed","what":"field Status","detail":"from State","field_id":"f1"}',
    '{"kind":"disabled","what":"choice Open","field_id":"f1","choice_id":"c1"}',
    '{"kind":"added","what":"label L","detail":"SHARED"}',
  ]);
});
