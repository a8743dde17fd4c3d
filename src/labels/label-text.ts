import type { LiveChoice, LiveField } from './definition.ts';
import { liveFrom } from './from-label.ts';
import type { LabelJson } from './api-types.ts';

const choiceText = ({ name, disabled }: LiveChoice): string => (disabled ? `${name} (disabled)` : name);
const MOST_CHOICES = 6;

const choicesText = (choices: readonly LiveChoice[]): string => {
  const shown = choices.slice(0, MOST_CHOICES).map(choiceText).join(', ');
  return choices.length > MOST_CHOICES ? `${shown} and ${choices.length - MOST_CHOICES} more` : shown;
};

const fieldText = (field: LiveField, width: number): string => {
  const notes = [
    field.required ? 'required' : '',
    field.maxEntries === undefined ? '' : `up to ${field.maxEntries} values`,
    field.disabled ? 'disabled' : field.state === 'UNPUBLISHED_DRAFT' ? 'draft' : '',
  ].filter((note) => note !== '');
  const choices = field.choices.length === 0 ? '' : `: ${choicesText(field.choices)}`;
  return `  ${field.name.padEnd(width)}  ${field.type}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}${choices}`;
};

/** A label as a person reads it; scripts take the JSON. Pure. */
export const labelText = (json: LabelJson): string => {
  const label = liveFrom(json);
  const state =
    json.lifecycle === undefined
      ? []
      : [label.state === 'UNPUBLISHED_DRAFT' ? 'draft' : label.state.toLowerCase()];
  const facts = [
    label.type,
    ...state,
    ...(label.hasUnpublishedChanges ? ['with unpublished changes'] : []),
    `revision ${label.revisionId}`,
  ];
  const width = Math.max(...label.fields.map((field) => field.name.length));
  return [
    `${label.title}  ${json.name}`,
    `  ${facts.join(', ')}`,
    ...(label.description ? [`  ${label.description}`] : []),
    ...label.fields.map((field) => fieldText(field, width)),
  ].join('\n');
};
