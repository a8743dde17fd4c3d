import { characters } from '../core/check.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { LimitsJson, LockJson, UserCapabilitiesJson } from './api-types.ts';
import type { Touched } from './change.ts';
import type { ChoiceDef, FieldDef, LabelDef, LiveLabel } from './definition.ts';
import { type Plan, isIdle } from './plan.ts';
import type { Transition } from './state-plan.ts';

const tooLong = (text: string | null | undefined, max: number | undefined, path: string): Problem[] => {
  const length = characters(text ?? '');
  return max !== undefined && length > max
    ? [problem(path, 'max', `must have at most ${max} characters, has ${length} (${length - max} too many)`)]
    : [];
};
const tooMany = (
  count: number | null | undefined,
  max: number | undefined,
  path: string,
  what: string,
): Problem[] =>
  typeof count === 'number' && max !== undefined && count > max
    ? [problem(path, 'max', `at most ${max} ${what}, this would be ${count}`)]
    : [];

const choiceProblems = (choice: ChoiceDef, path: string, { fieldLimits = {} }: LimitsJson): Problem[] => {
  const { selectionLimits = {}, maxDescriptionLength } = fieldLimits;
  return [
    ...tooLong(choice.name, selectionLimits.maxDisplayNameLength, `${path}.name`),
    ...tooLong(choice.id, selectionLimits.maxIdLength, `${path}.id`),
    ...tooLong(choice.description, maxDescriptionLength, `${path}.description`),
  ];
};

const fieldProblems = (field: FieldDef, path: string, limits: LimitsJson): Problem[] => {
  const { fieldLimits = {} } = limits;
  const { selectionLimits = {}, userLimits = {} } = fieldLimits;
  const { choices = [] } = field;
  const several = (field.type === 'user' ? userLimits : selectionLimits).listLimits?.maxEntries;
  return [
    ...tooLong(field.name, fieldLimits.maxDisplayNameLength, `${path}.name`),
    ...tooMany(choices.length, selectionLimits.maxChoices, `${path}.choices`, 'choices in a field'),
    ...tooMany(field.maxEntries, several, `${path}.maxEntries`, 'values'),
    ...choices.flatMap((choice, c) => choiceProblems(choice, `${path}.choices[${c}]`, limits)),
  ];
};

/** Published fields that the file leaves out stay, disabled, and still count. */
const stayingFields = (wanted: readonly FieldDef[], live: LiveLabel | undefined): number => {
  const named = new Set(wanted.map((f) => f.name));
  return (live?.fields ?? []).filter(
    (f) =>
      f.state !== 'UNPUBLISHED_DRAFT' &&
      !named.has(f.name) &&
      !wanted.some((w) => w.id === f.id || w.was === f.name),
  ).length;
};

/** The limits that the service names, on everything the file says. spec/labels#limits. */
export const limitProblems = (
  wanted: LabelDef,
  live: LiveLabel | undefined,
  limits: LimitsJson,
): Problem[] => {
  const { fields = [] } = wanted;
  const count = fields.length + stayingFields(fields, live);
  return [
    ...tooLong(wanted.title, limits.maxTitleLength, 'title'),
    ...tooLong(wanted.description, limits.maxDescriptionLength, 'description'),
    ...tooMany(count, limits.maxFields, 'fields', 'fields in a label (disabled ones count)'),
    ...fields.flatMap((field, i) => fieldProblems(field, `fields[${i}]`, limits)),
  ];
};

const covers = (outer: Touched, inner: Touched): boolean =>
  !outer.fieldId ||
  (outer.fieldId === inner.fieldId && (!outer.choiceId || outer.choiceId === inner.choiceId));

/** spec/labels#locks-1: a locked part refuses the change; taking a part away meets the locks inside it as well. */
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

const roleHint = 'an administrator of labels can add --admin';
const done: Readonly<Record<Transition, string>> = {
  publish: 'published',
  enable: 'enabled',
  disable: 'disabled',
};

/** Publishing, enabling and disabling need the role EDITOR, and no lock on the label; the service says so beforehand. */
const transitionProblems = (plan: Plan, live: LiveLabel): Problem[] => {
  const { rights, state } = live;
  const may: Readonly<Record<Transition, boolean>> = {
    publish: rights.canUpdate,
    enable: state !== 'DISABLED' || rights.canEnable,
    disable: state !== 'PUBLISHED' || rights.canDisable,
  };
  return plan.transitions
    .filter((one) => !may[one])
    .map((one) =>
      problem(`label ${plan.title}`, 'rule', `may not be ${done[one]} by this account`, roleHint),
    );
};

const updateProblems = (plan: Plan, live: LiveLabel): Problem[] => {
  const isEdit = plan.edits.length > 0 || plan.copyMode !== undefined || plan.enabledApps !== undefined;
  if (isEdit && !live.rights.canUpdate) {
    const why = 'may not be changed by this account: it is locked, read only, or the role EDITOR is missing';
    return [problem(`label ${plan.title}`, 'rule', why, roleHint)];
  }
  return transitionProblems(plan, live);
};

/** What the service says the caller may do, so that nothing is sent in vain. */
export const rightProblems = (
  plan: Plan,
  live: LiveLabel | undefined,
  user: UserCapabilitiesJson | undefined,
): Problem[] => {
  if (live !== undefined) return isIdle(plan) ? [] : updateProblems(plan, live);
  if (plan.action !== 'create' || user === undefined) return [];
  const isAdmin = plan.create?.labelType === 'ADMIN';
  const may = isAdmin ? user.canCreateAdminLabels : user.canCreateSharedLabels;
  if (may) return [];
  const text = `this account may not create ${isAdmin ? 'ADMIN' : 'SHARED'} labels`;
  return [problem('type', 'rule', text, isAdmin ? 'type: SHARED may be allowed' : undefined)];
};
