import { expect, test } from 'vitest';
import { withMasks } from '../../src/label-definitions/masks.ts';

test('a delta gets the masks that were left out; one that was given stays', () => {
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

test('so does a disable with a policy, from a flag and in a body; one without a policy needs none', () => {
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
