import { expect, test } from 'vitest';
import { withMasks } from '../../src/labels/send.ts';

test('a delta gets the missing masks and keeps the given ones', () => {
  const { values, added } = withMasks('DeltaUpdateLabelRequest', {
    requests: [
      { updateLabel: { properties: { title: 'T', description: 'd' } } },
      { updateField: { id: 'f', properties: { displayName: 'x', required: true }, updateMask: 'required' } },
      { updateFieldType: { id: 'f', dateOptions: { dateFormatType: 'SHORT_DATE' } } },
      { disableField: { id: 'f', disabledPolicy: {} } },
      { enableField: { id: 'f' } },
    ],
  });
  expect(added).toEqual([
    'requests[0].updateLabel.updateMask: title,description',
    'requests[2].updateFieldType.updateMask: dateOptions',
    'requests[3].disableField.updateMask: *',
  ]);
  expect(values.requests).toEqual([
    { updateLabel: { properties: { title: 'T', description: 'd' }, updateMask: 'title,description' } },
    { updateField: { id: 'f', properties: { displayName: 'x', required: true }, updateMask: 'required' } },
    {
      updateFieldType: { id: 'f', dateOptions: { dateFormatType: 'SHORT_DATE' }, updateMask: 'dateOptions' },
    },
    { disableField: { id: 'f', disabledPolicy: {}, updateMask: '*' } },
    { enableField: { id: 'f' } },
  ]);
});

test('a disable with a policy gets a mask, from a flag and in a body; without a policy it needs none of them', () => {
  expect(withMasks('DisableLabelRequest', { 'disabled-policy': { showInApply: true } }).values).toMatchObject(
    {
      'update-mask': 'showInApply',
    },
  );
  expect(
    withMasks('DisableLabelRequest', { body: { disabledPolicy: { hideInSearch: true } } }).values,
  ).toEqual({
    body: { disabledPolicy: { hideInSearch: true }, updateMask: 'hideInSearch' },
  });
  expect(withMasks('DisableLabelRequest', {})).toEqual({ values: {}, added: [] });
});

test('a delta body gets masks, and a value that is not a list of edits stays unchanged', () => {
  const requests = [{ updateLabel: { properties: { title: 'T' } } }, 'x', { updateField: 7 }];
  expect(withMasks('DeltaUpdateLabelRequest', { other: 1, body: { view: 'v', requests } })).toEqual({
    values: {
      other: 1,
      body: {
        view: 'v',
        requests: [
          { updateLabel: { properties: { title: 'T' }, updateMask: 'title' } },
          'x',
          { updateField: 7 },
        ],
      },
    },
    added: ['requests[0].updateLabel.updateMask: title'],
  });
  for (const values of [
    {},
    { body: 'x' },
    { body: { view: 'v' } },
    { body: { requests: 'x' } },
    { requests: 'x' },
  ])
    expect(withMasks('DeltaUpdateLabelRequest', values)).toEqual({ values, added: [] });
});

test('an edit without values gets no mask, and a given mask stays in either spelling', () => {
  const same = (edit: object) =>
    expect(withMasks('DeltaUpdateLabelRequest', { requests: [edit] })).toEqual({
      values: { requests: [edit] },
      added: [],
    });
  same({ updateField: { id: 'f' } });
  same({ updateField: { id: 'f', properties: {} } });
  same({ updateField: { id: 'f', properties: { required: true }, update_mask: 'required' } });
  same({ updateFieldType: { id: 'f' } });
  same({ disableField: { id: 'f' } });
  same({ updateSelectionChoiceProperties: { id: 'c', properties: 'x' } });
});

test('a disable with a policy generates its mask', () => {
  const same = (values: object) =>
    expect(withMasks('DisableLabelRequest', values as never)).toEqual({ values, added: [] });
  same({ body: { disabledPolicy: { hideInSearch: true }, updateMask: '*' } });
  same({ 'disabled-policy': { showInApply: true }, 'update-mask': '*' });
  same({ 'disabled-policy': {} });
  same({ body: {} });
  same({ body: 'x' });
  expect(withMasks('DisableLabelRequest', { body: { disabledPolicy: {} } })).toEqual({
    values: { body: { disabledPolicy: {}, updateMask: '*' } },
    added: ['updateMask: *'],
  });
  expect(
    withMasks('DisableLabelRequest', { 'disabled-policy': { showInApply: true, hideInSearch: true } }).added,
  ).toEqual(['updateMask: showInApply,hideInSearch']);
});
