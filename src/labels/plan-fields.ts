import { countText } from '../core/format.ts';
import {
  type Change,
  descriptionText,
  isSamePolicy,
  policyJson,
  type Step,
  type Steps,
  type EditTarget,
  type Badge,
  type ChoiceDef,
  colorFrom,
  type FieldDef,
  type LiveChoice,
  type LiveField,
  type LiveState,
  type Policy,
} from './definition.ts';
import { frozenProblems, isSameEntries, match, type Pair, type MatchLocation, placesFrom } from './match.ts';

type WantedPart = {
  readonly id?: string;
  readonly was?: string;
  readonly name: string;
  readonly disabled?: Policy | false;
};
type LivePart = {
  readonly id: string;
  readonly name: string;
  readonly state: LiveState;
  readonly disabled?: Policy;
};
/** One property that an edit may write: the member of the request, its new value, and the words for people. */
type Property = {
  readonly kind: Change['kind'];
  readonly member: string;
  readonly value: unknown;
  readonly detail: string;
};
/** The differences between fields and choices. All other parts of their edits are equal. */
type PartKind<W extends WantedPart, L extends LivePart> = {
  /** `field Status`, `choice Signed of field Status`. */
  readonly what: (name: string) => string;
  /** The members that name a part in an edit, and in the check against locks. */
  readonly ids: (id: string) => Readonly<Record<string, string>>;
  readonly part: (id: string) => EditTarget;
  readonly edits: {
    readonly update: string;
    readonly enable: string;
    readonly disable: string;
    readonly remove: string;
  };
  /** The key of the properties that contains the position of a part. */
  readonly insertBefore: string;
  readonly properties: (wanted: W, live: L) => readonly Property[];
  readonly create: (wanted: W, before: string) => Step;
  /** What only this kind has: types of fields, and the choices inside them. */
  readonly inner?: (wanted: W, live: L, path: string) => Steps;
  readonly hints?: (added: readonly W[], missing: readonly L[]) => readonly string[];
};
/** What one edit writes: the name, what only this kind has, the place. */
const writtenBy = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  wanted: W,
  live: L,
  place: MatchLocation,
  nameOf: (id: string) => string,
): Property[] => {
  const renamed: Property = {
    kind: 'renamed',
    member: 'displayName',
    value: wanted.name,
    detail: `from ${live.name}`,
  };
  const moved: Property = {
    kind: 'moved',
    member: kind.insertBefore,
    value: place.before,
    detail: place.before === '' ? 'to the end' : `before ${nameOf(place.before)}`,
  };
  return [
    ...(wanted.name === live.name ? [] : [renamed]),
    ...kind.properties(wanted, live),
    ...(place.isMoved ? [moved] : []),
  ];
};
const propertySteps = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  wanted: W,
  live: L,
  written: readonly Property[],
): Step[] => {
  if (written.length === 0) return [];
  const properties = Object.fromEntries(
    written.flatMap(({ member, value }) => (value === undefined ? [] : [[member, value]])),
  );
  const updateMask = written.map(({ member }) => member).join(',');
  const changes = written.map((property) => ({
    kind: property.kind,
    what: kind.what(wanted.name),
    detail: property.detail,
    part: kind.part(live.id),
  }));
  return [{ changes, edit: { [kind.edits.update]: { ...kind.ids(live.id), properties, updateMask } } }];
};
const disableStep = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  id: string,
  policy: Policy,
  changes: readonly Change[],
): Step => ({ changes, edit: { [kind.edits.disable]: { ...kind.ids(id), ...policyJson(policy) } } });
const stateSteps = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  wanted: W,
  live: L,
): Step[] => {
  // An entry that does not mention `disabled` shows an enabled part: a later apply enables what an earlier one disabled
  // because the entry was missing.
  const { disabled = false } = wanted;
  const base = { what: kind.what(wanted.name), part: kind.part(live.id) };
  const enable = { [kind.edits.enable]: kind.ids(live.id) };
  if (disabled === false)
    return live.disabled ? [{ changes: [{ kind: 'enabled', ...base }], edit: enable }] : [];
  if (live.disabled && isSamePolicy(disabled, live.disabled)) return [];
  const disable = disableStep(kind, live.id, disabled, [{ kind: 'disabled', ...base, takesAway: true }]);
  // Only a published part can be disabled, so another policy means enabling it first.
  if (live.disabled) return [{ changes: [], edit: enable }, disable];
  return live.state === 'PUBLISHED' ? [disable] : [];
};
const goneSteps = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  live: L,
  prune: boolean,
): Step[] => {
  const base = { what: kind.what(live.name), part: kind.part(live.id), takesAway: true as const };
  const remove: Step = {
    changes: [{ kind: 'deleted', ...base }],
    edit: { [kind.edits.remove]: kind.ids(live.id) },
  };
  if (live.state === 'UNPUBLISHED_DRAFT') return [remove];
  const line: Change = { kind: 'disabled', ...base, detail: 'it is not in the file' };
  const policy = { hideInSearch: false, showInApply: false };
  const disable = disableStep(kind, live.id, policy, prune ? [] : [line]);
  return [...(live.state === 'PUBLISHED' ? [disable] : []), ...(prune ? [remove] : [])];
};
/** A part that is a draft cannot be disabled yet. */
const isDeferred = <W extends WantedPart, L extends LivePart>({ wanted, live }: Pair<W, L>): boolean =>
  Boolean(wanted.disabled) && (live === undefined || live.state === 'UNPUBLISHED_DRAFT');
type Kept<W, L> = {
  readonly wanted: W;
  readonly live: L;
  readonly path: string;
  readonly place: MatchLocation;
};
type Added<W> = { readonly wanted: W; readonly place: MatchLocation };
/** The kept and the new parts, each with its position. */
const placeParts = <W extends WantedPart, L extends LivePart>(
  pairs: readonly Pair<W, L>[],
  live: readonly L[],
): { readonly kept: Kept<W, L>[]; readonly added: Added<W>[] } => {
  const places = placesFrom(
    pairs.map((pair) => pair.live?.id),
    live.map(({ id }) => id),
  );
  const placeAt = (i: number): MatchLocation => places[i] ?? { before: '', isMoved: false };
  return {
    kept: pairs.flatMap((pair, i): Kept<W, L>[] =>
      pair.live ? [{ ...pair, live: pair.live, place: placeAt(i) }] : [],
    ),
    added: pairs.flatMap((pair, i) => (pair.live ? [] : [{ wanted: pair.wanted, place: placeAt(i) }])),
  };
};
/**
 * The edits that make the parts of one kind match the file. Removals come first, so that limits are respected
 * at every step.
 */
const partSteps = <W extends WantedPart, L extends LivePart>(
  kind: PartKind<W, L>,
  wanted: readonly W[],
  live: readonly L[],
  path: string,
  prune: boolean,
): Steps => {
  const { pairs, missing, problems } = match(wanted, live, path);
  const { kept, added } = placeParts(pairs, live);
  const nameOf = (id: string): string => live.find((part) => part.id === id)?.name ?? id;
  const inner = kept.map((one) => kind.inner?.(one.wanted, one.live, one.path));
  const within = inner.flatMap((one) => (one === undefined ? [] : [one]));
  const editSteps = (one: Kept<W, L>): Step[] =>
    propertySteps(kind, one.wanted, one.live, writtenBy(kind, one.wanted, one.live, one.place, nameOf));
  const comes = added.map((one) => one.wanted);
  return {
    steps: [
      ...missing.flatMap((part) => goneSteps(kind, part, prune)),
      // Moves go from the last to the first: then every `before` stands right.
      ...kept.toReversed().flatMap(editSteps),
      ...kept.flatMap((one, i) => [...(inner[i]?.steps ?? []), ...stateSteps(kind, one.wanted, one.live)]),
      ...added.map((one) => kind.create(one.wanted, one.place.before)),
    ],
    problems: [...problems, ...within.flatMap((one) => one.problems)],
    notes: [...(kind.hints?.(comes, missing) ?? []), ...within.flatMap((one) => one.notes)],
    deferred: [
      ...within.flatMap((one) => one.deferred),
      ...pairs.filter(isDeferred).map((pair) => kind.what(pair.wanted.name)),
    ],
  };
};

const badgeJson = (badge: Badge | null | undefined) =>
  badge
    ? {
        ...(badge.color ? { color: colorFrom(badge.color) } : {}),
        ...(badge.priority ? { priorityOverride: badge.priority } : {}),
      }
    : undefined;
const isSameBadge = (a: Badge | null | undefined, b: Badge | undefined): boolean =>
  a?.color === b?.color && a?.priority === b?.priority;
/** A choice in the form that createField and createSelectionChoice accept. */
const choiceJson = ({ id, name, description, badge }: ChoiceDef, before = '') => ({
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
/**
 * The edits that make the choices of one existing selection field match the file. If the file does not list
 * choices, they stay unchanged.
 */
const choiceSteps = (wanted: FieldDef, live: LiveField, path: string, prune: boolean): Steps =>
  wanted.choices === undefined
    ? { steps: [], problems: [], notes: [], deferred: [] }
    : partSteps(choicesOf(live), wanted.choices, live.choices, `${path}.choices`, prune);

/** The option key of a field's type, in the form that createField and updateFieldType accept. */
const typeJson = (field: FieldDef, withChoices: boolean) => {
  const { maxEntries } = field;
  const listOptions =
    maxEntries === undefined || maxEntries === null
      ? {}
      : { listOptions: maxEntries === 0 ? {} : { maxEntries } };
  switch (field.type) {
    case 'date':
      return { dateOptions: { dateFormatType: field.dateFormat ?? 'LONG_DATE' } };
    case 'selection':
      return {
        selectionOptions: {
          ...listOptions,
          ...(withChoices ? { choices: (field.choices ?? []).map((choice) => choiceJson(choice)) } : {}),
        },
      };
    case 'user':
      return { userOptions: listOptions };
    default:
      return { [`${field.type}Options`]: {} };
  }
};
/** A field as a label is created with it. */
export const fieldJson = (field: FieldDef, before = '') => ({
  properties: {
    displayName: field.name,
    required: field.required ?? false,
    ...(before === '' ? {} : { insertBeforeField: before }),
  },
  ...typeJson(field, true),
});
const what = (name: string): string => `field ${name}`;
export const describe = ({ type, choices = [], maxEntries }: FieldDef): string =>
  `${type}${type === 'selection' ? `, ${countText(choices.length, 'choice')}` : ''}${typeof maxEntries === 'number' ? ', several values' : ''}`;
const typeSteps = (wanted: FieldDef, live: LiveField): Step[] => {
  const change = (detail: string): Change => ({
    kind: 'changed',
    what: what(wanted.name),
    detail,
    part: { fieldId: live.id },
  });
  // The list options without the choices, which have separate edits.
  const edit = (updateMask: string) => ({
    updateFieldType: { id: live.id, ...typeJson(wanted, !updateMask.endsWith('.listOptions')), updateMask },
  });
  if (wanted.type !== live.type) {
    const line = { ...change(`type ${live.type} becomes ${wanted.type}`), takesAway: true as const };
    return [{ changes: [line], edit: edit(`${wanted.type}Options`) }];
  }
  if (wanted.maxEntries !== undefined && !isSameEntries(wanted.maxEntries, live.maxEntries)) {
    const number = wanted.maxEntries === null ? 'one value' : `at most ${wanted.maxEntries} values`;
    return [{ changes: [change(number)], edit: edit(`${wanted.type}Options.listOptions`) }];
  }
  const isNewFormat = wanted.dateFormat !== undefined && wanted.dateFormat !== live.dateFormat;
  return wanted.type === 'date' && isNewFormat
    ? [{ changes: [change(`date format ${wanted.dateFormat}`)], edit: edit('dateOptions') }]
    : [];
};
/**
 * A removed field and a new field of the same type look like a rename. The file must state a rename
 * explicitly.
 */
const renameHints = (added: readonly FieldDef[], missing: readonly LiveField[]): string[] =>
  added.flatMap((field) => {
    const alike = missing.filter((gone) => gone.type === field.type && gone.state !== 'DISABLED');
    return alike.length === 1
      ? [
          `if field ${alike[0]?.name} is to be renamed to ${field.name}, write \`was: ${alike[0]?.name}\` in the file`,
        ]
      : [];
  });
const fieldKind = (prune: boolean): PartKind<FieldDef, LiveField> => ({
  what,
  ids: (id) => ({ id }),
  part: (id) => ({ fieldId: id }),
  edits: {
    update: 'updateField',
    enable: 'enableField',
    disable: 'disableField',
    remove: 'deleteField',
  },
  insertBefore: 'insertBeforeField',
  properties: (wanted, live) =>
    wanted.required === undefined || wanted.required === live.required
      ? []
      : [
          {
            kind: 'changed',
            member: 'required',
            value: wanted.required,
            detail: wanted.required ? 'now required' : 'no longer required',
          },
        ],
  create: (wanted, before) => ({
    changes: [{ kind: 'added', what: what(wanted.name), detail: describe(wanted), part: {} }],
    edit: { createField: { field: fieldJson(wanted, before) } },
  }),
  inner: (wanted, live, path) => {
    const isSelection = wanted.type === 'selection' && live.type === 'selection';
    const choices = isSelection ? choiceSteps(wanted, live, path, prune) : undefined;
    return {
      steps: [...typeSteps(wanted, live), ...(choices?.steps ?? [])],
      problems: [...frozenProblems(wanted, live, path), ...(choices?.problems ?? [])],
      notes: choices?.notes ?? [],
      deferred: choices?.deferred ?? newChoicesDisabled(wanted),
    };
  },
  hints: renameHints,
});
/** Choices of a field that is made now: they can be disabled once they are published. */
export const newChoicesDisabled = (field: FieldDef): string[] =>
  (field.choices ?? []).filter((c) => c.disabled).map((c) => `choice ${c.name} of field ${field.name}`);
/** The edits that make the fields of a label match the file. */
export const fieldSteps = (
  wanted: readonly FieldDef[],
  live: readonly LiveField[],
  prune: boolean,
): Steps => {
  const made = partSteps(fieldKind(prune), wanted, live, 'fields', prune);
  const created = new Set(made.steps.flatMap(({ edit }) => namesCreated(edit)));
  const inside = wanted.filter(({ name }) => created.has(name)).flatMap(newChoicesDisabled);
  return { ...made, deferred: [...made.deferred, ...inside] };
};
type CreateField = { readonly field?: { readonly properties?: { readonly displayName?: string } } };
const namesCreated = ({ createField }: Step['edit']): string[] => {
  const name = (createField as CreateField | undefined)?.field?.properties?.displayName;
  return name === undefined ? [] : [name];
};
