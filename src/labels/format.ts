import { copyModes, fieldKinds, labelRoles, ownLabelTypes } from '../api-specs/labels/words.ts';
import { definedStates } from './definition.ts';

/** One member of a definition file: what the reader knows, the JSON Schema and the documentation say about it. */
export type Member = {
  readonly summary: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
  /** Kinds of fields that it belongs to: anywhere else it would be dropped in silence. */
  readonly only?: readonly string[];
};
export type Members = Readonly<Record<string, Member>>;

/** YAML reads `name: 2024` as a number; a name is text whatever it looks like. */
const text = { type: ['string', 'number', 'boolean'] };
const noneOrText = { type: ['string', 'number', 'boolean', 'null'] };
const identity: Members = {
  key: { summary: 'A stable name that never changes, for renames across deployments', schema: text },
  id: { summary: 'Id in the deployment that the file was exported from', schema: text },
  was: { summary: 'The name until now: renames without a key or an id', schema: text },
};
const policy = {
  type: 'object',
  properties: { hideInSearch: { type: 'boolean' }, showInApply: { type: 'boolean' } },
  additionalProperties: false,
};
const disabled: Member = {
  summary: 'true, false, or how the disabled part is shown',
  schema: { anyOf: [{ type: 'boolean' }, policy] },
};

export const badgeMembers: Members = {
  color: {
    summary: 'Colour such as #1a2b3c',
    schema: { type: 'string', pattern: '^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$' },
  },
  priority: { summary: 'Order of badges; lower shows first', schema: { type: ['integer', 'string'] } },
};
export const policyMembers: Members = {
  hideInSearch: { summary: 'Hide in search', schema: { type: 'boolean' } },
  showInApply: { summary: 'Show greyed out in the apply menu', schema: { type: 'boolean' } },
};
export const choiceMembers: Members = {
  name: { summary: 'Name shown to users', schema: text, required: true },
  ...identity,
  description: { summary: 'Help text; null is none', schema: noneOrText },
  badge: { summary: 'Colour, or colour and priority; null is none', schema: { $ref: '#/$defs/badge' } },
  disabled,
};
export const fieldMembers: Members = {
  name: { summary: 'Name shown to users', schema: text, required: true },
  ...identity,
  type: { summary: 'Kind of the field; frozen once it is published', schema: { enum: fieldKinds } },
  required: { summary: 'Mark as mandatory', schema: { type: 'boolean' } },
  maxEntries: {
    summary: 'Several values, at most this many (0: as many as allowed); null is one value',
    schema: { type: ['integer', 'null'], minimum: 0 },
    only: ['selection', 'user'],
  },
  dateFormat: {
    summary: 'How dates are shown',
    schema: { enum: ['LONG_DATE', 'SHORT_DATE', 'long', 'short'] },
    only: ['date'],
  },
  choices: {
    summary: 'All choices in display order; [] is none',
    schema: { type: ['array', 'null'], items: { anyOf: [{ $ref: '#/$defs/choice' }, text] } },
    only: ['selection'],
  },
  disabled,
};
export const permissionMembers: Members = {
  role: { summary: 'The role', schema: { enum: labelRoles }, required: true },
  email: { summary: 'Address of a person or group', schema: { type: 'string' } },
  person: { summary: 'people/<id>', schema: { type: 'string' } },
  group: { summary: 'groups/<id>', schema: { type: 'string' } },
  audience: { summary: 'audiences/<id>', schema: { type: 'string' } },
};
export const labelMembers: Members = {
  ...identity,
  revision: { summary: 'Written by earlier versions; labels.lock.yaml took its place', schema: text },
  title: { summary: 'Title of the label', schema: text, required: true },
  type: { summary: 'Who may make it; fixed at creation (default SHARED)', schema: { enum: ownLabelTypes } },
  description: { summary: 'Description; null is none', schema: noneOrText },
  learnMoreUri: { summary: 'Help link; fixed at creation', schema: { type: 'string' } },
  state: { summary: 'State of the label', schema: { enum: definedStates } },
  disabledPolicy: { summary: 'How the disabled label is shown', schema: policy },
  copyMode: { summary: 'What happens to values when an item is copied', schema: { enum: copyModes } },
  enabledApps: {
    summary: 'Apps in which the label may be used; [] is none',
    schema: { type: ['array', 'null'], items: { type: 'string' } },
  },
  permissions: {
    summary: 'All permissions of the label; [] is none',
    schema: { type: ['array', 'null'], items: { $ref: '#/$defs/permission' } },
  },
  fields: {
    summary: 'All fields in display order; [] is none',
    schema: { type: ['array', 'null'], items: { $ref: '#/$defs/field' } },
  },
};
