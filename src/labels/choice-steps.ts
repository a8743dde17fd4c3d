import { type Steps, descriptionText } from './change.ts';
import { colorFrom } from './color.ts';
import type { Badge, ChoiceDef, FieldDef, LiveChoice, LiveField } from './definition.ts';
import { type PartKind, type Property, partSteps } from './plan-fields.ts';

const badgeJson = (badge: Badge | null | undefined) =>
  badge
    ? {
        ...(badge.color ? { color: colorFrom(badge.color) } : {}),
        ...(badge.priority ? { priorityOverride: badge.priority } : {}),
      }
    : undefined;
const isSameBadge = (a: Badge | null | undefined, b: Badge | undefined): boolean =>
  a?.color === b?.color && a?.priority === b?.priority;

/** A choice as createField and createSelectionChoice take it. */
export const choiceJson = ({ id, name, description, badge }: ChoiceDef, before = '') => ({
  ...(id === undefined ? {} : { id }),
  properties: {
    displayName: name,
    ...(description ? { description } : {}),
    ...(badge ? { badgeConfig: badgeJson(badge) } : {}),
    ...(before === '' ? {} : { insertBeforeChoice: before }),
  },
});

const choiceProperties = (wanted: ChoiceDef, live: LiveChoice): Property[] => {
  const { description, badge } = wanted;
  const isNewText = description !== undefined && (description ?? '') !== (live.description ?? '');
  const isNewBadge = badge !== undefined && !isSameBadge(badge, live.badge);
  return [
    ...(isNewText
      ? [
          {
            kind: 'changed' as const,
            member: 'description',
            value: description ?? '',
            detail: descriptionText(live.description, description ?? undefined),
          },
        ]
      : []),
    ...(isNewBadge
      ? [{ kind: 'changed' as const, member: 'badgeConfig', value: badgeJson(badge), detail: 'badge' }]
      : []),
  ];
};

const choicesOf = (field: LiveField): PartKind<ChoiceDef, LiveChoice> => {
  const what = (name: string): string => `choice ${name} of field ${field.name}`;
  return {
    what,
    ids: (id) => ({ fieldId: field.id, id }),
    part: (id) => ({ fieldId: field.id, choiceId: id }),
    edits: {
      update: 'updateSelectionChoiceProperties',
      enable: 'enableSelectionChoice',
      disable: 'disableSelectionChoice',
      remove: 'deleteSelectionChoice',
    },
    insertBefore: 'insertBeforeChoice',
    properties: choiceProperties,
    create: (wanted, before) => ({
      changes: [{ kind: 'added', what: what(wanted.name), part: { fieldId: field.id } }],
      edit: { createSelectionChoice: { fieldId: field.id, choice: choiceJson(wanted, before) } },
    }),
  };
};

/** What makes the choices of one existing selection field those of the file; a file that does not list them leaves them. */
export const choiceSteps = (wanted: FieldDef, live: LiveField, path: string, prune: boolean): Steps =>
  wanted.choices === undefined
    ? { steps: [], problems: [], notes: [], deferred: [] }
    : partSteps(choicesOf(live), wanted.choices, live.choices, `${path}.choices`, prune);
