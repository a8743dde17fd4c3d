import type { Change, Step, Steps } from './change.ts';
import { choiceJson, choiceSteps } from './choice-steps.ts';
import type { FieldDef, LiveField } from './definition.ts';
import { frozenProblems, isSameEntries } from './frozen.ts';
import { type PartKind, partSteps } from './plan-fields.ts';

/** The option member of a field's type as createField and updateFieldType take it. */
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
  `${type}${type === 'selection' ? `, ${choices.length} choices` : ''}${typeof maxEntries === 'number' ? ', several values' : ''}`;

const typeSteps = (wanted: FieldDef, live: LiveField): Step[] => {
  const change = (detail: string): Change => ({
    kind: 'changed',
    what: what(wanted.name),
    detail,
    part: { fieldId: live.id },
  });
  // Of the list options alone, choices are no part: they have edits of their own.
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

/** A field that goes and one of the same type that comes look like a rename; the file has to say so. */
const renameHints = (added: readonly FieldDef[], missing: readonly LiveField[]): string[] =>
  added.flatMap((field) => {
    const alike = missing.filter((gone) => gone.type === field.type && gone.state !== 'DISABLED');
    return alike.length === 1
      ? [
          `if field ${alike[0]?.name} is to be renamed to ${field.name}, say \`was: ${alike[0]?.name}\` in the file`,
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

/** What makes the fields of a label those of the file. */
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
