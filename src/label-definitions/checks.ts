import { characters } from '../core/check.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import type { Plan } from './plan.ts';
import type { LimitsJson, LockJson, UserCapabilitiesJson } from './api-types.ts';

const tooLong = (text: string | undefined, max: number | undefined, path: string): Problem[] => {
  const length = characters(text ?? '');
  return max !== undefined && length > max
    ? [problem(path, 'max', `must have at most ${max} characters, has ${length} (${length - max} too many)`)]
    : [];
};
const tooMany = (
  count: number | undefined,
  max: number | undefined,
  path: string,
  what: string,
): Problem[] =>
  count !== undefined && max !== undefined && count > max
    ? [problem(path, 'max', `at most ${max} ${what}, this would be ${count}`)]
    : [];

/** The limits that the service names, on everything the file says. spec/labels#limits. */
export const limitProblems = (
  wanted: LabelDef,
  live: LiveLabel | undefined,
  limits: LimitsJson,
): Problem[] => {
  const { fieldLimits = {} } = limits;
  const { selectionLimits = {}, userLimits = {} } = fieldLimits;
  const named = new Set(wanted.fields.map((f) => f.name));
  // Published fields that the file leaves out stay, disabled, and still count.
  const staying = (live?.fields ?? []).filter(
    (f) =>
      f.state !== 'UNPUBLISHED_DRAFT' &&
      !named.has(f.name) &&
      !wanted.fields.some((w) => w.id === f.id || w.was === f.name),
  );
  return [
    ...tooLong(wanted.title, limits.maxTitleLength, 'title'),
    ...tooLong(wanted.description, limits.maxDescriptionLength, 'description'),
    ...tooMany(
      wanted.fields.length + staying.length,
      limits.maxFields,
      'fields',
      'fields in a label (disabled ones count)',
    ),
    ...wanted.fields.flatMap((field, i) => [
      ...tooLong(field.name, fieldLimits.maxDisplayNameLength, `fields[${i}].name`),
      ...tooMany(
        field.choices.length,
        selectionLimits.maxChoices,
        `fields[${i}].choices`,
        'choices in a field',
      ),
      ...tooMany(
        field.maxEntries,
        (field.type === 'user' ? userLimits : selectionLimits).listLimits?.maxEntries,
        `fields[${i}].maxEntries`,
        'values',
      ),
      ...field.choices.flatMap((choice, c) => [
        ...tooLong(choice.name, selectionLimits.maxDisplayNameLength, `fields[${i}].choices[${c}].name`),
        ...tooLong(choice.id, selectionLimits.maxIdLength, `fields[${i}].choices[${c}].id`),
        ...tooLong(
          choice.description,
          fieldLimits.maxDescriptionLength,
          `fields[${i}].choices[${c}].description`,
        ),
      ]),
    ]),
  ];
};

type Part = { readonly fieldId?: string; readonly choiceId?: string };
const covers = (outer: Part, inner: Part): boolean =>
  !outer.fieldId ||
  (outer.fieldId === inner.fieldId && (!outer.choiceId || outer.choiceId === inner.choiceId));

/** spec/labels#locks: a locked part refuses the change; taking a part away meets the locks inside it as well. */
export const lockProblems = (plan: Plan, locks: readonly LockJson[]): Problem[] =>
  plan.changes.flatMap((change) => {
    const lock = locks.find((l) => covers(l, change.part) || (change.takesAway && covers(change.part, l)));
    return lock === undefined
      ? []
      : [
          problem(
            change.what,
            'rule',
            `cannot be ${change.kind}: it is locked by ${lock.name ?? 'a lock'}`,
            'see `opsctl labels locks`',
          ),
        ];
  });

/** What the service says the caller may do, so that nothing is sent in vain. */
export const rightProblems = (
  plan: Plan,
  live: LiveLabel | undefined,
  user: UserCapabilitiesJson | undefined,
): Problem[] => {
  if (plan.action === 'update' && live?.canUpdate === false && plan.edits.length > 0) {
    const why = 'may not be changed by this account: it is locked, read only, or the role EDITOR is missing';
    return [problem(`label ${plan.title}`, 'rule', why, 'an administrator of labels can add --admin')];
  }
  if (plan.action !== 'create' || user === undefined) return [];
  const isAdmin = plan.create?.labelType === 'ADMIN';
  const may = isAdmin ? user.canCreateAdminLabels : user.canCreateSharedLabels;
  return may
    ? []
    : [
        problem(
          'type',
          'rule',
          `this account may not create ${isAdmin ? 'ADMIN' : 'SHARED'} labels`,
          isAdmin ? 'type: SHARED may be allowed' : undefined,
        ),
      ];
};
