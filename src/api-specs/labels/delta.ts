// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: the twelve kinds of edits, exactly one a request (spec/labels#edits).
import { bool, help, list, req, str } from '../../core/field.ts';
import { lifecycleDisabledPolicy, writeControl } from './values.ts';
import {
  choice,
  choiceProperties,
  fieldDateOptions,
  fieldIntegerOptions,
  fieldProperties,
  fieldSelectionOptions,
  fieldTextOptions,
  fieldUserOptions,
  labelField,
} from './field.ts';
import { labelProperties } from './label.ts';
import { fieldMask, labelView, schema } from './wire.ts';
import { optionMembers } from './words.ts';

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
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const disableChoiceRequest = schema('DeltaUpdateLabelRequestDisableSelectionChoiceRequest', {
  disabledPolicy: req(help(lifecycleDisabledPolicy, 'How the disabled choice is shown')),
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to disable')),
  updateMask: help(
    fieldMask(),
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
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
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
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
      'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
    ),
    userOptions: help(fieldUserOptions, 'Make it a user field'),
  },
  [optionMembers],
);
const updateLabelRequest = schema('DeltaUpdateLabelRequestUpdateLabelPropertiesRequest', {
  properties: req(help(labelProperties, 'New title/description')),
  updateMask: help(
    fieldMask(),
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
const updateChoiceRequest = schema('DeltaUpdateLabelRequestUpdateSelectionChoicePropertiesRequest', {
  fieldId: req(help(str(), 'Selection field that owns the choice')),
  id: req(help(str(), 'Choice to change')),
  properties: req(help(choiceProperties, 'New choice properties')),
  updateMask: help(
    fieldMask(),
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
  ),
});
/** An entry is one of these. */
export const editNames = [
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
    deleteField: help(deleteFieldRequest, 'Remove a field'),
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
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  requests: help(list(deltaRequest), 'Edits, applied in order, all or nothing'),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  view: help(labelView, 'Which field set the reply carries'),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
