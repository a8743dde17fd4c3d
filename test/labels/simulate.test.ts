import { expect, test } from 'vitest';
import type { LabelDef, LiveField, LiveLabel } from '../../src/labels/definition.ts';
import { simulateDelta } from '../../src/labels/update-lock.ts';

const field = (id: string, more: Partial<LiveField>): LiveField => ({
  ...{ id, name: `Field ${id}`, state: 'PUBLISHED', type: 'text', required: false, choices: [] },
  ...more,
});
const live: LiveLabel = {
  ...{ id: 'l', title: 'Old', description: 'As it was', type: 'SHARED', copyMode: 'DO_NOT_COPY' },
  ...{ enabledApps: [], revisionId: '3', state: 'PUBLISHED', hasUnpublishedChanges: false, createTime: 't' },
  rights: { canUpdate: true, canDisable: true, canEnable: true },
  fields: [
    field('date', { type: 'date', dateFormat: 'SHORT_DATE' }),
    field('draft', { state: 'UNPUBLISHED_DRAFT' }),
    field('people', { type: 'user', maxEntries: 3, required: true }),
    field('status', {
      type: 'selection',
      choices: [
        { id: 'open', name: 'Open', state: 'PUBLISHED', description: 'Work', badge: { color: '#ff0000' } },
        { id: 'closed', name: 'Closed', state: 'PUBLISHED' },
        { id: 'idea', name: 'Idea', state: 'UNPUBLISHED_DRAFT' },
      ],
    }),
    field('gone', { disabled: { hideInSearch: true, showInApply: false } }),
  ],
};
const plain = { hideInSearch: false, showInApply: false };
const after = (wanted: Partial<LabelDef>): LiveLabel => simulateDelta({ title: 'Old', ...wanted }, live);
const fieldsAfter = (fields: LabelDef['fields']) => after({ fields: fields ?? [] }).fields;

test('omitted keys stay, and null clears a value', () => {
  expect(after({})).toEqual(live);
  expect(after({ title: 'New', description: 'Now' })).toMatchObject({ title: 'New', description: 'Now' });
  expect(after({ description: null })).not.toHaveProperty('description');
});

test('a field keeps its omitted keys, and a new field gets the defaults of the service', () => {
  expect(
    fieldsAfter([
      { name: 'Field date', type: 'date', required: true },
      { name: 'Field people', type: 'user', maxEntries: null },
      { name: 'Day', type: 'date' },
      { name: 'Note', type: 'text', dateFormat: 'SHORT_DATE' },
    ]).slice(0, 4),
  ).toEqual([
    field('date', { type: 'date', dateFormat: 'SHORT_DATE', required: true }),
    field('people', { type: 'user', required: true }),
    { ...field('', { name: 'Day', type: 'date' }), state: 'UNPUBLISHED_DRAFT', dateFormat: 'LONG_DATE' },
    { ...field('', { name: 'Note' }), state: 'UNPUBLISHED_DRAFT' },
  ]);
});

test('omitted drafts are deleted, and omitted published parts are disabled', () => {
  expect(fieldsAfter([])).toEqual([
    { ...live.fields[0], disabled: plain },
    { ...live.fields[2], disabled: plain },
    { ...live.fields[3], disabled: plain },
    live.fields[4],
  ]);
});

test('choices follow the same rules', () => {
  const status = { name: 'Field status', type: 'selection' as const };
  const choicesOf = (choices: NonNullable<LabelDef['fields']>[number]['choices']) =>
    fieldsAfter([{ ...status, ...(choices === undefined ? {} : { choices }) }])[0]?.choices;
  expect(choicesOf(undefined)).toEqual(live.fields[3]?.choices);
  expect(
    choicesOf([
      { name: 'Open', badge: null },
      { name: 'New', description: 'Just made' },
    ]),
  ).toEqual([
    { id: 'open', name: 'Open', state: 'PUBLISHED', description: 'Work' },
    { id: '', name: 'New', state: 'UNPUBLISHED_DRAFT', description: 'Just made' },
    { id: 'closed', name: 'Closed', state: 'PUBLISHED', disabled: plain },
  ]);
  expect(choicesOf([{ name: 'Open', description: null }])?.[0]).toEqual({
    ...{ id: 'open', name: 'Open', state: 'PUBLISHED', badge: { color: '#ff0000' } },
  });
});

test('only a published part can be disabled, and false enables it', () => {
  const hidden = { hideInSearch: true, showInApply: true };
  const disabledOf = (name: string, disabled: typeof hidden | false) =>
    fieldsAfter([{ name, type: 'text', disabled }])[0]?.disabled;
  expect(disabledOf('Field draft', hidden)).toBeUndefined();
  expect(disabledOf('Brand new', hidden)).toBeUndefined();
  expect(disabledOf('Field gone', hidden)).toEqual(hidden);
  expect(disabledOf('Field gone', false)).toBeUndefined();
});
