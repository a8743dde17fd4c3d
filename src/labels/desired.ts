import { dirname, relative } from 'node:path';
import type { EngineContext } from '../api/context.ts';
import { characters } from '../core/check.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { noShownTexts, shownBelow } from '../core/yaml-scalars.ts';
import type { LimitsJson, LockJson, UserCapabilitiesJson } from './api-types.ts';
import type { EditTarget, ChoiceDef, FieldDef, LabelDef, LiveLabel } from './definition.ts';
import { isIdle, type Plan, type Transition } from './plan.ts';
import { absolute, definitionFrom, type Document, placeProblems, readDocuments } from './read-files.ts';
import { fillValues, type ValuesChoice } from './values.ts';

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
/** The documented limits of the service, checked for all values of the file. spec/labels#limits. */
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
const covers = (outer: EditTarget, inner: EditTarget): boolean =>
  !outer.fieldId ||
  (outer.fieldId === inner.fieldId && (!outer.choiceId || outer.choiceId === inner.choiceId));
/**
 * spec/labels#locks-1: a locked part rejects changes. Removing a part is also rejected if the part contains
 * locks.
 */
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
/**
 * Publishing, enabling and disabling need the role EDITOR, and no lock on the label. The service reports this
 * in advance.
 */
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
/** The caller's permissions, checked first so that no futile request is sent. */
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

/** One definition, and where it stands. */
export type DesiredLabel = {
  readonly document: Document;
  readonly source: string;
  readonly wanted: LabelDef;
  /** Absolute path of the file when it holds this definition alone. */
  readonly path?: string;
};
/** `labels export -o json` is one list of all definitions. */
const eachOf = (document: Document): Document[] =>
  Array.isArray(document.value)
    ? document.value.map((value: unknown, i) => ({
        ...document,
        source: `${document.source}: [${i}]`,
        value,
        isOnly: false,
        placeOf: (path) => document.placeOf(`[${i}].${path}`),
        shown: shownBelow(document.shown ?? noShownTexts, `[${i}].`),
        unclear: (document.unclear ?? []).flatMap((one) =>
          one.path.startsWith(`[${i}].`) ? [{ ...one, path: one.path.slice(`[${i}].`.length) }] : [],
        ),
      }))
    : [document];
const wishFrom = (context: EngineContext, document: Document, problems: Problem[]): DesiredLabel => {
  const read = definitionFrom(document.value, document.shown);
  // There may be more of them than a call takes arguments.
  for (const one of placeProblems(document, [...read.problems, ...(document.unclear ?? [])]))
    problems.push(one);
  const path = document.file !== undefined && document.isOnly ? absolute(context, document.file) : undefined;
  return {
    document,
    source: document.source,
    wanted: read.definition,
    ...(path === undefined ? {} : { path }),
  };
};
const placeText = ({ source, document }: DesiredLabel, path: string): string => {
  const { line, column } = document.placeOf(path);
  return `${source}:${line}:${column}`;
};
type Named = 'id' | 'key' | 'title';
/** Groups definitions by their content, in their order. */
const indexBy = (
  wishes: readonly DesiredLabel[],
  member: Named,
): ReadonlyMap<string, readonly DesiredLabel[]> => {
  const index = new Map<string, DesiredLabel[]>();
  for (const wish of wishes) {
    const said = wish.wanted[member];
    if (said === undefined) continue;
    const group = index.get(said);
    if (group === undefined) index.set(said, [wish]);
    else group.push(wish);
  }
  return index;
};
/** The same id, key or title twice: both would be applied to one label, one after the other. */
const repeatedProblems = (wishes: readonly DesiredLabel[]): Problem[] => {
  const index = { id: indexBy(wishes, 'id'), key: indexBy(wishes, 'key'), title: indexBy(wishes, 'title') };
  return wishes.flatMap((wish) => {
    const repeats = (member: Named, isSame: (other: DesiredLabel) => boolean = () => true): Problem[] => {
      const alike = index[member].get(wish.wanted[member] ?? '') ?? [];
      const first = alike.slice(0, alike.indexOf(wish)).find(isSame);
      if (first === undefined) return [];
      const text = `repeats ${JSON.stringify(wish.wanted[member])}, which is already in ${placeText(first, member)}`;
      const hint = 'remove the file that is out of date';
      return placeProblems(wish.document, [problem(member, 'rule', text, hint)]);
    };
    const { id } = wish.wanted;
    const found = [...repeats('id'), ...repeats('key')];
    if (found.length > 0) return found;
    return repeats('title', ({ wanted }) => wanted.id === undefined || id === undefined || wanted.id === id);
  });
};
/** Every definition of the documents; all that is wrong with them is one error. */
export const parseDesiredLabels = (
  context: EngineContext,
  documents: readonly Document[],
): DesiredLabel[] => {
  const problems: Problem[] = [];
  const wishes = documents.map((document) => wishFrom(context, document, problems));
  const found = problems.length === 0 ? repeatedProblems(wishes) : problems;
  if (found.length > 0) throw usageError('a label definition is invalid; no request was sent', found);
  return wishes;
};
export const loadDesiredLabels = async (
  context: EngineContext,
  files: readonly string[],
  choice: ValuesChoice = {},
): Promise<DesiredLabel[]> => {
  const documents = await fillValues(context, await readDocuments(context, files), choice);
  return parseDesiredLabels(context, documents.flatMap(eachOf));
};
/** The directory whose lock file counts, and the file's name in it. */
export const lockPlaceOf = (
  context: EngineContext,
  { document, path }: DesiredLabel,
): { readonly directory?: string; readonly file?: string } => {
  if (document.file === undefined) return {};
  const directory = dirname(absolute(context, document.file));
  return { directory, ...(path === undefined ? {} : { file: relative(directory, path) }) };
};
