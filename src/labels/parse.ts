import { copyModes } from '../api-specs/labels/words.ts';
import { type Problem, problem } from '../core/problem.ts';
import { type ShownTexts, noShownTexts } from '../core/yaml-shown.ts';
import type { LabelJson } from './api-types.ts';
import { type LabelDef, definedStates } from './definition.ts';
import { labelMembers } from './format.ts';
import { definitionOf, liveFrom } from './from-label.ts';
import { fieldIn } from './parse-field.ts';
import { permissionIn, repeatedPermissions } from './permissions.ts';
import {
  type Plain,
  type Reader,
  entriesIn,
  isPlain,
  neededText,
  oneOfIn,
  policyIn,
  present,
  refuseUnknown,
  textIn,
  textOrNone,
} from './read-values.ts';

type Named = { readonly key?: string; readonly id?: string; readonly name: string };
/** Entries that the service tells apart by their ids may share a name; entries of a file alone may not. */
const refuseRepeated = (parts: readonly Named[], path: string, { problems }: Reader): void => {
  const refuse = (i: number, member: string, what: string, hint?: string): void =>
    void problems.push(problem(`${path}[${i}].${member}`, 'rule', what, hint));
  for (const [i, { name, id, key }] of parts.entries()) {
    const before = parts.slice(0, i);
    if (id !== undefined && before.some((other) => other.id === id))
      refuse(i, 'id', `repeats the id "${id}"`);
    if (key !== undefined && before.some((other) => other.key === key))
      refuse(i, 'key', `repeats the key "${key}"`);
    const hasTwin = before.some(
      (other) => other.name === name && (other.id === undefined || id === undefined),
    );
    if (name !== '' && hasTwin)
      refuse(i, 'name', `repeats the name "${name}"`, 'names or ids tell the entries apart');
  }
};

const appsIn = (value: Plain, { problems }: Reader): readonly string[] | undefined => {
  const given = value.enabledApps;
  if (given === undefined) return undefined;
  if (given === null) return [];
  if (Array.isArray(given) && given.every((app) => typeof app === 'string')) return given;
  problems.push(problem('enabledApps', 'type', 'must be a list of app names, for example [FILES, MAIL]'));
  return undefined;
};

const stateIn = (value: Plain, reader: Reader): Pick<LabelDef, 'state' | 'disabledPolicy'> => {
  const state = oneOfIn(value, 'state', definedStates, '', reader);
  const policy = value.disabledPolicy;
  if (policy !== undefined && policy !== null && state !== 'disabled')
    reader.problems.push(problem('disabledPolicy', 'rule', 'belongs to `state: disabled`'));
  if (policy !== undefined && policy !== null && !isPlain(policy))
    reader.problems.push(problem('disabledPolicy', 'type', 'must be {hideInSearch, showInApply}'));
  return {
    state,
    disabledPolicy: isPlain(policy) ? policyIn(policy, 'disabledPolicy', reader) : undefined,
  };
};

/** The service's own JSON (`labels get --view LABEL_VIEW_FULL -o yaml`) is taken as well. */
const isWire = (value: Plain): boolean => isPlain(value.properties);

/** What that JSON does not say stays as it is in the service. */
const fromWire = (json: LabelJson): LabelDef => {
  const live = liveFrom(json);
  const { type, state, disabledPolicy, description, enabledApps, copyMode, fields, ...rest } =
    definitionOf(live);
  return present({
    ...rest,
    ...(live.revisionId === '' ? {} : { revision: live.revisionId }),
    type: type === '' ? undefined : type,
    description:
      json.properties?.description === undefined && json.lifecycle === undefined ? undefined : description,
    copyMode: json.appliedLabelPolicy === undefined ? undefined : copyMode,
    enabledApps: json.enabledAppSettings === undefined ? undefined : enabledApps,
    fields: json.fields === undefined && json.lifecycle === undefined ? undefined : fields,
  });
};

const fieldsIn = (value: Plain, reader: Reader): LabelDef['fields'] => {
  const fields = entriesIn(value, 'fields', '', reader)?.map((field, i) =>
    fieldIn(field, `fields[${i}]`, reader),
  );
  refuseRepeated(fields ?? [], 'fields', reader);
  for (const [i, field] of (fields ?? []).entries())
    refuseRepeated(field.choices ?? [], `fields[${i}].choices`, reader);
  return fields;
};

const permissionsIn = (value: Plain, reader: Reader): LabelDef['permissions'] => {
  const permissions = entriesIn(value, 'permissions', '', reader)?.map((one, i) =>
    permissionIn(one, `permissions[${i}]`, reader.problems),
  );
  reader.problems.push(...repeatedPermissions(permissions ?? [], 'permissions'));
  return permissions;
};

/** The value of one YAML document as a definition, and everything that is wrong with it. Pure. */
export const definitionFrom = (
  value: unknown,
  shown: ShownTexts = noShownTexts,
): { readonly definition: LabelDef; readonly problems: readonly Problem[] } => {
  const reader: Reader = { problems: [], shown };
  if (!isPlain(value))
    return {
      definition: { title: '' },
      problems: [problem('', 'type', 'must be a label: title, type, fields')],
    };
  if (isWire(value)) return { definition: fromWire(value as LabelJson), problems: [] };
  refuseUnknown(value, labelMembers, '', reader);
  const definition: LabelDef = present({
    key: textIn(value, 'key', '', reader),
    id: textIn(value, 'id', '', reader),
    was: textIn(value, 'was', '', reader),
    revision: textIn(value, 'revision', '', reader),
    title: neededText(value, 'title', '', reader),
    type: textIn(value, 'type', '', reader),
    description: textOrNone(value, 'description', '', reader),
    learnMoreUri: textIn(value, 'learnMoreUri', '', reader),
    ...stateIn(value, reader),
    copyMode: oneOfIn(value, 'copyMode', copyModes, '', reader),
    enabledApps: appsIn(value, reader),
    permissions: permissionsIn(value, reader),
    fields: fieldsIn(value, reader),
  });
  return { definition, problems: reader.problems };
};
