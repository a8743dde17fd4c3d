import { expect, test } from 'vitest';
import { labelText } from '../../src/labels/from-label.ts';

const choice = (displayName: string, state = 'PUBLISHED') => ({
  id: displayName,
  properties: { displayName },
  lifecycle: { state },
});

test('a label as a person reads it', () => {
  const text = labelText({
    name: 'labels/x',
    id: 'x',
    revisionId: '7',
    labelType: 'ADMIN',
    properties: { title: 'Contract', description: 'State of it' },
    lifecycle: { state: 'PUBLISHED', hasUnpublishedChanges: true },
    fields: [
      {
        properties: { displayName: 'Status', required: true },
        selectionOptions: { choices: [choice('Open'), choice('Faxed', 'DISABLED')] },
        lifecycle: { state: 'PUBLISHED' },
      },
      {
        properties: { displayName: 'By' },
        userOptions: { listOptions: { maxEntries: 5 } },
        lifecycle: { state: 'DISABLED' },
      },
      { properties: { displayName: 'Note' }, textOptions: {} },
    ],
  });
  expect(text.split('\n')).toEqual([
    'Contract  labels/x',
    '  ADMIN, published, with unpublished changes, revision 7',
    '  State of it',
    '  Status  selection (required): Open, Faxed (disabled)',
    '  By      user (up to 5 values, disabled)',
    '  Note    text (draft)',
  ]);
});

test('many choices are counted, and a basic view shows its content', () => {
  const choices = Array.from({ length: 9 }, (_, i) => choice(`C${i}`));
  expect(
    labelText({
      name: 'labels/x',
      fields: [
        {
          properties: { displayName: 'F' },
          selectionOptions: { choices },
          lifecycle: { state: 'PUBLISHED' },
        },
      ],
    }),
  ).toContain('C5 and 3 more');
  expect(
    labelText({ name: 'labels/x', labelType: 'SHARED', revisionId: '1', properties: { title: 'T' } }),
  ).toBe('T  labels/x\n  SHARED, revision 1');
});

test('an unpublished label is a draft, and an enabled field has no note', () => {
  const line = (lifecycle: object | undefined, field: object = {}) =>
    labelText({
      ...{ name: 'labels/x', labelType: 'SHARED', revisionId: '2', properties: { title: 'T' } },
      ...(lifecycle === undefined ? {} : { lifecycle }),
      fields: [{ properties: { displayName: 'N' }, lifecycle: { state: 'PUBLISHED' }, ...field }],
    }).split('\n');
  expect(line({})[1]).toBe('  SHARED, draft, revision 2');
  expect(line({ state: 'DISABLED' })[1]).toBe('  SHARED, disabled, revision 2');
  expect(line({ state: 'PUBLISHED' })).toEqual([
    'T  labels/x',
    '  SHARED, published, revision 2',
    '  N  text',
  ]);
  expect(line(undefined, { lifecycle: { state: 'DISABLED' } }).at(-1)).toBe('  N  text (disabled)');
  expect(line(undefined, { lifecycle: {} }).at(-1)).toBe('  N  text (draft)');
});
