import { labelProperties } from '../../api-specs/labels/label.ts';
import * as choices from './choice-edits.ts';
import { constraints } from './constraints.ts';
import { type Draft, refuseLockedPart, needText, objectOf, refuseLong, textOf } from './draft.ts';
import { invalid } from './errors.ts';
import * as fields from './field-edits.ts';
import { maskFrom } from './mask.ts';
import type { Json } from './proto-json.ts';

export const refuseWrongLabelTexts = (properties: Json, path: string): void => {
  refuseLong(needText(properties, 'title', path), constraints.maxTitleLength, `${path}.title`);
  refuseLong(textOf(properties, 'description'), constraints.maxDescriptionLength, `${path}.description`);
};

const updateLabel = (draft: Draft, json: Json, path: string): Json => {
  refuseLockedPart(draft, {});
  const properties = objectOf(json, 'properties');
  const mask = maskFrom(json.updateMask, labelProperties, `${path}.updateMask`);
  refuseWrongLabelTexts(
    { ...properties, title: mask.has('title') ? properties.title : draft.revision.title },
    `${path}.properties`,
  );
  if (mask.has('title')) draft.revision.title = textOf(properties, 'title');
  if (mask.has('description')) draft.revision.description = textOf(properties, 'description') || undefined;
  return {};
};

type Edit = (draft: Draft, json: Json, path: string) => Json;
/** spec/labels#edits: the twelve kinds. */
const edits: Readonly<Record<string, Edit>> = {
  updateLabel,
  createField: fields.createField,
  updateField: fields.updateField,
  updateFieldType: fields.updateFieldType,
  enableField: fields.enableField,
  disableField: fields.disableField,
  deleteField: fields.deleteField,
  createSelectionChoice: choices.createSelectionChoice,
  updateSelectionChoiceProperties: choices.updateSelectionChoiceProperties,
  enableSelectionChoice: choices.enableSelectionChoice,
  disableSelectionChoice: choices.disableSelectionChoice,
  deleteSelectionChoice: choices.deleteSelectionChoice,
};

/** Members that every request of a kind must have besides its ids (spec/labels#schemas, flag R). */
const needed: Readonly<Record<string, string>> = {
  updateLabel: 'properties',
  createField: 'field',
  updateField: 'properties',
  disableField: 'disabledPolicy',
  createSelectionChoice: 'choice',
  updateSelectionChoiceProperties: 'properties',
  disableSelectionChoice: 'disabledPolicy',
};

/** Applies all requests in order to a draft; throws at the first that is refused. Returns one answer each. */
export const applyEdits = (draft: Draft, requests: readonly Json[]): Json[] =>
  requests.map((request, i) => {
    const kind = Object.keys(edits).find((name) => request[name] !== undefined);
    const path = `requests[${i}]`;
    const edit = kind === undefined ? undefined : edits[kind];
    if (kind === undefined || edit === undefined)
      throw invalid(path, `exactly one of ${Object.keys(edits).join(', ')} is required`, 'REQUIRED');
    const member = needed[kind];
    const body = objectOf(request, kind);
    if (member !== undefined && body[member] === undefined)
      throw invalid(`${path}.${kind}.${member}`, 'is required', 'REQUIRED');
    return { [kind]: edit(draft, body, `${path}.${kind}`) };
  });
