import { bool, help, list, req, str } from '../../core/field.ts';
import {
  choice,
  choiceProperties,
  fieldDateOptions,
  fieldIntegerOptions,
  fieldProperties,
  fieldSelectionOptions,
  fieldTextOptions,
  fieldUserOptions,
  label,
  labelField,
  labelProperties,
} from './label.ts';
import {
  fieldMask,
  int32,
  labelView,
  lifecycleDisabledPolicy,
  optionMembers,
  schema,
  writeControl,
} from './wire.ts';

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: the twelve kinds of edits, exactly one a request (spec/labels#edits).

const createFieldRequest = schema('DeltaUpdateLabelRequestCreateFieldRequest', {
  field: req(help(labelField, 'Field to add')),
});
const createChoiceRequest = schema('DeltaUpdateLabelRequestCreateSelectionChoiceRequest', {
  choice: req(help(choice, 'Choice to add')),
  fieldId: req(help(str(), 'Selection field that owns the choice')),
});
const deleteFieldRequest = schema('DeltaUpdateLabelRequestDeleteFieldRequest', {
  id: req(help(str(), 'Field to remove')),
});
const deleteChoiceRequest = schema('DeltaUpdateLabelRequestDeleteSelectionChoiceRequest', {
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to remove')),
});
const disableFieldRequest = schema('DeltaUpdateLabelRequestDisableFieldRequest', {
  disabledPolicy: req(help(lifecycleDisabledPolicy, 'How the disabled field is shown')),
  id: req(help(str(), 'Field to disable')),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const disableChoiceRequest = schema('DeltaUpdateLabelRequestDisableSelectionChoiceRequest', {
  disabledPolicy: req(help(lifecycleDisabledPolicy, 'How the disabled choice is shown')),
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to disable')),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const enableFieldRequest = schema('DeltaUpdateLabelRequestEnableFieldRequest', {
  id: req(help(str(), 'Field to enable')),
});
const enableChoiceRequest = schema('DeltaUpdateLabelRequestEnableSelectionChoiceRequest', {
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to enable')),
});
const updateFieldRequest = schema('DeltaUpdateLabelRequestUpdateFieldPropertiesRequest', {
  id: req(help(str(), 'Field to change')),
  properties: req(help(fieldProperties, 'New basic properties')),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const updateFieldTypeRequest = schema(
  'DeltaUpdateLabelRequestUpdateFieldTypeRequest',
  {
    dateOptions: help(fieldDateOptions, 'Make it a date field'),
    id: req(help(str(), 'Field to change')),
    integerOptions: help(fieldIntegerOptions, 'Make it an integer field'),
    selectionOptions: help(fieldSelectionOptions, 'Make it a selection field'),
    textOptions: help(fieldTextOptions, 'Make it a text field'),
    updateMask: help(
      fieldMask(),
      'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
    ),
    userOptions: help(fieldUserOptions, 'Make it a user field'),
  },
  [optionMembers],
);
const updateLabelRequest = schema('DeltaUpdateLabelRequestUpdateLabelPropertiesRequest', {
  properties: req(help(labelProperties, 'New title/description')),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const updateChoiceRequest = schema('DeltaUpdateLabelRequestUpdateSelectionChoicePropertiesRequest', {
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to change')),
  properties: req(help(choiceProperties, 'New choice properties')),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
/** An entry is one of these. */
const editNames = [
  'createField',
  'createSelectionChoice',
  'deleteField',
  'deleteSelectionChoice',
  'disableField',
  'disableSelectionChoice',
  'enableField',
  'enableSelectionChoice',
  'updateField',
  'updateFieldType',
  'updateLabel',
  'updateSelectionChoiceProperties',
] as const;
const deltaRequest = schema(
  'DeltaUpdateLabelRequestRequest',
  {
    createField: help(createFieldRequest, 'Add a field'),
    createSelectionChoice: help(createChoiceRequest, 'Add a choice'),
    deleteField: help(
      deleteFieldRequest,
      'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
    ),
    deleteSelectionChoice: help(deleteChoiceRequest, 'Remove a choice'),
    disableField: help(disableFieldRequest, 'Disable a field'),
    disableSelectionChoice: help(disableChoiceRequest, 'Disable a choice'),
    enableField: help(enableFieldRequest, 'Enable a field'),
    enableSelectionChoice: help(enableChoiceRequest, 'Enable a choice'),
    updateField: help(updateFieldRequest, 'Change field properties'),
    updateFieldType: help(updateFieldTypeRequest, 'Change field type or its options'),
    updateLabel: help(updateLabelRequest, 'Change label title/description'),
    updateSelectionChoiceProperties: help(updateChoiceRequest, 'Change choice properties'),
  },
  [editNames],
);
export const deltaUpdateLabelRequest = schema('DeltaUpdateLabelRequest', {
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  requests: help(list(deltaRequest), 'Edits, applied atomically and in order'),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  view: help(labelView, 'Fields that the response contains'),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});

// spec/labels#labels lists the methods; spec/labels#schemas defines the schemas: one result per edit, in the
// same order.

const createFieldResponse = schema('DeltaUpdateLabelResponseCreateFieldResponse', {
  id: help(str(), 'ID of the new field'),
  priority: help(int32(), 'Resulting position, 1..n; the server keeps positions contiguous'),
});
const createChoiceResponse = schema('DeltaUpdateLabelResponseCreateSelectionChoiceResponse', {
  fieldId: help(str(), 'ID of the new choice'),
  id: help(str(), 'Id given to the new choice'),
});
const deleteFieldResponse = schema('DeltaUpdateLabelResponseDeleteFieldResponse', {});
const deleteChoiceResponse = schema('DeltaUpdateLabelResponseDeleteSelectionChoiceResponse', {});
const disableFieldResponse = schema('DeltaUpdateLabelResponseDisableFieldResponse', {});
const disableChoiceResponse = schema('DeltaUpdateLabelResponseDisableSelectionChoiceResponse', {});
const enableFieldResponse = schema('DeltaUpdateLabelResponseEnableFieldResponse', {});
const enableChoiceResponse = schema('DeltaUpdateLabelResponseEnableSelectionChoiceResponse', {});
const updateFieldResponse = schema('DeltaUpdateLabelResponseUpdateFieldPropertiesResponse', {
  priority: help(int32(), 'Resulting position, 1..n; the server keeps positions contiguous'),
});
const updateFieldTypeResponse = schema('DeltaUpdateLabelResponseUpdateFieldTypeResponse', {});
const updateLabelResponse = schema('DeltaUpdateLabelResponseUpdateLabelPropertiesResponse', {});
const updateChoiceResponse = schema('DeltaUpdateLabelResponseUpdateSelectionChoicePropertiesResponse', {
  priority: help(int32(), 'Resulting position, 1..n; the server keeps positions contiguous'),
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
