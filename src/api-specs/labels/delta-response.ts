// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: one answer an edit, in the same order.
import { help, list, str } from '../../core/field.ts';
import { editNames } from './delta.ts';
import { label } from './label.ts';
import { int32, schema } from './wire.ts';

const createFieldResponse = schema('DeltaUpdateLabelResponseCreateFieldResponse', {
  id: help(str(), 'Id given to the new field'),
  priority: help(int32(), 'Resulting position, 1..n, server keeps it contiguous'),
});
const createChoiceResponse = schema('DeltaUpdateLabelResponseCreateSelectionChoiceResponse', {
  fieldId: help(str(), 'Selection field that owns the choice'),
  id: help(str(), 'Id given to the new choice'),
});
const deleteFieldResponse = schema('DeltaUpdateLabelResponseDeleteFieldResponse', {});
const deleteChoiceResponse = schema('DeltaUpdateLabelResponseDeleteSelectionChoiceResponse', {});
const disableFieldResponse = schema('DeltaUpdateLabelResponseDisableFieldResponse', {});
const disableChoiceResponse = schema('DeltaUpdateLabelResponseDisableSelectionChoiceResponse', {});
const enableFieldResponse = schema('DeltaUpdateLabelResponseEnableFieldResponse', {});
const enableChoiceResponse = schema('DeltaUpdateLabelResponseEnableSelectionChoiceResponse', {});
const updateFieldResponse = schema('DeltaUpdateLabelResponseUpdateFieldPropertiesResponse', {
  priority: help(int32(), 'Resulting position, 1..n, server keeps it contiguous'),
});
const updateFieldTypeResponse = schema('DeltaUpdateLabelResponseUpdateFieldTypeResponse', {});
const updateLabelResponse = schema('DeltaUpdateLabelResponseUpdateLabelPropertiesResponse', {});
const updateChoiceResponse = schema('DeltaUpdateLabelResponseUpdateSelectionChoicePropertiesResponse', {
  priority: help(int32(), 'Resulting position, 1..n, server keeps it contiguous'),
});
const deltaReply = schema(
  'DeltaUpdateLabelResponseResponse',
  {
    createField: help(createFieldResponse, 'Add a field'),
    createSelectionChoice: help(createChoiceResponse, 'Add a choice'),
    deleteField: help(deleteFieldResponse, 'Remove a field'),
    deleteSelectionChoice: help(deleteChoiceResponse, 'Remove a choice'),
    disableField: help(disableFieldResponse, 'Disable a field'),
    disableSelectionChoice: help(disableChoiceResponse, 'Disable a choice'),
    enableField: help(enableFieldResponse, 'Enable a field'),
    enableSelectionChoice: help(enableChoiceResponse, 'Enable a choice'),
    updateField: help(updateFieldResponse, 'Change field properties'),
    updateFieldType: help(updateFieldTypeResponse, 'Change field type or its options'),
    updateLabel: help(updateLabelResponse, 'Change label title/description'),
    updateSelectionChoiceProperties: help(updateChoiceResponse, 'Change choice properties'),
  },
  [editNames],
);
export const deltaUpdateLabelResponse = schema('DeltaUpdateLabelResponse', {
  responses: help(list(deltaReply), 'One entry per request, same order, some empty'),
  updatedLabel: help(label, 'Label after the edits'),
});
