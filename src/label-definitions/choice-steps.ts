import { type Problem, problem } from '../core/problem.ts';
import { type Change, type Step, descriptionText, policyJson, samePolicy } from './change.ts';
import { colorFrom } from './color.ts';
import type { Badge, ChoiceDef, FieldDef, LiveChoice, LiveField } from './definition.ts';
import { type Pair, match } from './match.ts';
import { placesFrom } from './order.ts';

export type Steps = {
  readonly steps: readonly Step[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
};

const badgeJson = (badge: Badge | undefined) =>
  badge && {
    ...(badge.color ? { color: colorFrom(badge.color) } : {}),
    ...(badge.priority ? { priorityOverride: badge.priority } : {}),
  };
const badgeText = (badge: Badge | undefined): string => JSON.stringify(badge ?? {});

/** A choice as createField and createSelectionChoice take it. */
export const choiceJson = ({ id, name, description, badge }: ChoiceDef, before = '') => ({
  ...(id === undefined ? {} : { id }),
  properties: {
    displayName: name,
    ...(description === undefined ? {} : { description }),
    ...(badge === undefined ? {} : { badgeConfig: badgeJson(badge) }),
    ...(before === '' ? {} : { insertBeforeChoice: before }),
  },
});

type Place = { readonly before: string; readonly isMoved: boolean };
const what = (field: FieldDef | LiveField, name: string): string => `choice ${name} of field ${field.name}`;

const propertyStep = (field: LiveField, wanted: ChoiceDef, live: LiveChoice, place: Place): Step[] => {
  const part = { fieldId: field.id, choiceId: live.id };
  const changes: Change[] = [];
  const mask: string[] = [];
  const note = (kind: Change['kind'], member: string, detail: string): void => {
    changes.push({ kind, what: what(field, wanted.name), detail, part });
    mask.push(member);
  };
  if (wanted.name !== live.name) note('renamed', 'displayName', `from ${live.name}`);
  if ((wanted.description ?? '') !== (live.description ?? ''))
    note('changed', 'description', descriptionText(live.description, wanted.description));
  if (badgeText(wanted.badge) !== badgeText(live.badge)) note('changed', 'badgeConfig', 'badge');
  if (place.isMoved)
    note(
      'moved',
      'insertBeforeChoice',
      place.before === '' ? 'to the end' : `before ${nameOf(field, place.before)}`,
    );
  if (mask.length === 0) return [];
  const properties = {
    displayName: wanted.name,
    description: wanted.description ?? '',
    badgeConfig: badgeJson(wanted.badge),
    insertBeforeChoice: place.before,
  };
  const masked = Object.fromEntries(
    Object.entries(properties).filter(([key, value]) => mask.includes(key) && value !== undefined),
  );
  return [
    {
      changes,
      edit: {
        updateSelectionChoiceProperties: {
          fieldId: field.id,
          id: live.id,
          properties: masked,
          updateMask: mask.join(','),
        },
      },
    },
  ];
};
const nameOf = (field: LiveField, id: string): string => field.choices.find((c) => c.id === id)?.name ?? id;

const stateStep = (field: LiveField, wanted: ChoiceDef, live: LiveChoice): Step[] => {
  const target = { fieldId: field.id, id: live.id };
  const base = { what: what(field, wanted.name), part: { fieldId: field.id, choiceId: live.id } };
  if (wanted.disabled === undefined && live.disabled)
    return [{ changes: [{ kind: 'enabled', ...base }], edit: { enableSelectionChoice: target } }];
  if (wanted.disabled === undefined || (live.disabled && samePolicy(wanted.disabled, live.disabled)))
    return [];
  const disable: Step = {
    changes: [{ kind: 'disabled', ...base, takesAway: true }],
    edit: { disableSelectionChoice: { ...target, ...policyJson(wanted.disabled) } },
  };
  // Only a published part can be disabled, so another policy means enabling it first.
  return live.disabled
    ? [{ changes: [], edit: { enableSelectionChoice: target } }, disable]
    : live.state === 'PUBLISHED'
      ? [disable]
      : [];
};

const goneSteps = (field: LiveField, live: LiveChoice, prune: boolean): Step[] => {
  const target = { fieldId: field.id, id: live.id };
  const base = {
    what: what(field, live.name),
    part: { fieldId: field.id, choiceId: live.id },
    takesAway: true as const,
  };
  const remove: Step = { changes: [{ kind: 'deleted', ...base }], edit: { deleteSelectionChoice: target } };
  if (live.state === 'UNPUBLISHED_DRAFT') return [remove];
  const disable: Step = {
    changes: prune ? [] : [{ kind: 'disabled', ...base, detail: 'it is not in the file' }],
    edit: {
      disableSelectionChoice: { ...target, ...policyJson({ hideInSearch: false, showInApply: false }) },
    },
  };
  return [...(live.state === 'PUBLISHED' ? [disable] : []), ...(prune ? [remove] : [])];
};

const createStep = (field: LiveField, { wanted }: Pair<ChoiceDef, LiveChoice>, before: string): Step => ({
  changes: [{ kind: 'added', what: what(field, wanted.name), part: { fieldId: field.id } }],
  edit: { createSelectionChoice: { fieldId: field.id, choice: choiceJson(wanted, before) } },
});

export const waitsForPublish = (name: string): string =>
  `${name} is a draft: it can be disabled only after it was published; apply the file again then`;

/** What makes the choices of one existing selection field those of the file. */
export const choiceSteps = (wanted: FieldDef, live: LiveField, path: string, prune: boolean): Steps => {
  const matched = match(wanted.choices, live.choices, `${path}.choices`);
  const places = placesFrom(
    matched.pairs.map((pair) => pair.live?.id),
    live.choices.map((c) => c.id),
  );
  const place = (i: number): Place => places[i] ?? { before: '', isMoved: false };
  const problems: Problem[] = [...matched.problems];
  const notes: string[] = [];
  const kept = matched.pairs.map((pair, i) => ({ pair, i })).filter(({ pair }) => pair.live !== undefined);
  const steps = [
    ...matched.missing.flatMap((choice) => goneSteps(live, choice, prune)),
    ...kept
      .toReversed()
      .flatMap(({ pair, i }) => (pair.live ? propertyStep(live, pair.wanted, pair.live, place(i)) : [])),
    ...kept.flatMap(({ pair }) => (pair.live ? stateStep(live, pair.wanted, pair.live) : [])),
    ...matched.pairs.flatMap((pair, i) => (pair.live ? [] : [createStep(live, pair, place(i).before)])),
  ];
  for (const { wanted: choice, live: known, path: at } of matched.pairs) {
    if (choice.disabled && (known === undefined || known.state === 'UNPUBLISHED_DRAFT'))
      notes.push(waitsForPublish(what(wanted, choice.name)));
    if (choice.id !== undefined && !/^[A-Za-z0-9_]+$/.test(choice.id))
      problems.push(problem(`${at}.id`, 'format', 'must consist of letters, digits and _'));
  }
  return { steps, problems, notes };
};
