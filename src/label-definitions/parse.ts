import { nearest } from '../core/nearest.ts';
import { type Problem, problem } from '../core/problem.ts';
import { isHex } from './color.ts';
import {
  type Badge,
  type ChoiceDef,
  type FieldDef,
  type FieldKind,
  type LabelDef,
  type Policy,
  badgeWith,
} from './definition.ts';
import { liveFrom } from './from-label.ts';
import type { LabelJson } from './api-types.ts';

type Plain = Readonly<Record<string, unknown>>;
type Reader = { readonly problems: Problem[] };

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const noUnknown = (value: Plain, known: readonly string[], path: string, { problems }: Reader): void => {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const close = nearest(key, known);
    problems.push(
      problem(
        path === '' ? key : `${path}.${key}`,
        'unknown',
        `is not a known key (${known.join(', ')})`,
        close && `did you mean ${close}?`,
      ),
    );
  }
};

/** YAML reads `name: 2024` as a number; a name is text whatever it looks like. */
const text = (
  value: Plain,
  key: string,
  path: string,
  reader: Reader,
  isRequired = false,
): string | undefined => {
  const at = path === '' ? key : `${path}.${key}`;
  const given = value[key];
  // A name of blanks cannot be typed or seen, so it counts as none.
  if (
    given === undefined ||
    given === null ||
    (isRequired && typeof given === 'string' && given.trim() === '')
  ) {
    if (isRequired) reader.problems.push(problem(at, 'required', 'is required'));
    return undefined;
  }
  if (typeof given === 'string') return given;
  if (typeof given === 'number' || typeof given === 'boolean') return String(given);
  reader.problems.push(problem(at, 'type', 'must be text'));
  return undefined;
};

const flag = (value: Plain, key: string, path: string, { problems }: Reader): boolean => {
  const given = value[key] ?? false;
  if (typeof given !== 'boolean') problems.push(problem(`${path}.${key}`, 'type', 'must be true or false'));
  return given === true;
};

const entries = (value: Plain, key: string, path: string, { problems }: Reader): Plain[] => {
  const at = path === '' ? key : `${path}.${key}`;
  const given = value[key] ?? [];
  if (!Array.isArray(given)) {
    problems.push(problem(at, 'type', 'must be a list'));
    return [];
  }
  return given.flatMap((item, i) => {
    if (isPlain(item)) return [item];
    if (typeof item === 'string' || typeof item === 'number') return [{ name: item }];
    problems.push(problem(`${at}[${i}]`, 'type', 'must be a name or an object'));
    return [];
  });
};

const disabledIn = (value: Plain, path: string, reader: Reader): { disabled?: Policy } => {
  const given = value.disabled ?? false;
  if (given === false) return {};
  if (given === true) return { disabled: { hideInSearch: false, showInApply: false } };
  if (!isPlain(given)) {
    reader.problems.push(
      problem(`${path}.disabled`, 'type', 'must be true, false or {hideInSearch, showInApply}'),
    );
    return {};
  }
  noUnknown(given, ['hideInSearch', 'showInApply'], `${path}.disabled`, reader);
  return {
    disabled: {
      hideInSearch: flag(given, 'hideInSearch', `${path}.disabled`, reader),
      showInApply: flag(given, 'showInApply', `${path}.disabled`, reader),
    },
  };
};

const badgeIn = (value: Plain, path: string, reader: Reader): { badge?: Badge } => {
  const given = value.badge;
  if (given === undefined || given === null) return {};
  const badge = typeof given === 'string' ? { color: given } : given;
  if (!isPlain(badge)) {
    reader.problems.push(
      problem(`${path}.badge`, 'type', 'must be a colour such as #1a2b3c or {color, priority}'),
    );
    return {};
  }
  noUnknown(badge, ['color', 'priority'], `${path}.badge`, reader);
  const color = text(badge, 'color', `${path}.badge`, reader)?.toLowerCase();
  const priority = text(badge, 'priority', `${path}.badge`, reader);
  if (color !== undefined && !isHex(color))
    reader.problems.push(
      problem(`${path}.badge.color`, 'format', `must be a colour such as #1a2b3c; got ${color}`),
    );
  if (priority !== undefined && !/^-?\d+$/.test(priority))
    reader.problems.push(problem(`${path}.badge.priority`, 'format', 'must be a whole number'));
  return badgeWith(color, priority);
};

const choiceKeys = ['name', 'id', 'was', 'description', 'badge', 'disabled'];
const choiceIn = (value: Plain, path: string, reader: Reader): ChoiceDef => {
  noUnknown(value, choiceKeys, path, reader);
  const id = text(value, 'id', path, reader);
  const was = text(value, 'was', path, reader);
  const description = text(value, 'description', path, reader);
  if (id !== undefined && !/^[A-Za-z0-9_]+$/.test(id))
    reader.problems.push(
      problem(`${path}.id`, 'format', `must consist of letters, digits and _; got ${id}`, 'or leave it out'),
    );
  return {
    name: text(value, 'name', path, reader, true) ?? '',
    ...(id === undefined ? {} : { id }),
    ...(was === undefined ? {} : { was }),
    ...(description === undefined ? {} : { description }),
    ...badgeIn(value, path, reader),
    ...disabledIn(value, path, reader),
  };
};

const kinds: readonly string[] = ['text', 'integer', 'date', 'selection', 'user'];
const fieldKeys = [
  'name',
  'id',
  'was',
  'type',
  'required',
  'maxEntries',
  'dateFormat',
  'choices',
  'disabled',
];
/** Members that belong to some types only: anything else would be dropped in silence. */
const belongs: Readonly<Record<string, readonly string[]>> = {
  maxEntries: ['selection', 'user'],
  dateFormat: ['date'],
  choices: ['selection'],
};
const formats: Readonly<Record<string, string>> = {
  short: 'SHORT_DATE',
  long: 'LONG_DATE',
  SHORT_DATE: 'SHORT_DATE',
  LONG_DATE: 'LONG_DATE',
};

const fieldIn = (value: Plain, path: string, reader: Reader): FieldDef => {
  noUnknown(value, fieldKeys, path, reader);
  const { problems } = reader;
  const type = text(value, 'type', path, reader) ?? (value.choices === undefined ? undefined : 'selection');
  if (type === undefined || !kinds.includes(type))
    problems.push(
      problem(`${path}.type`, 'enum', `must be one of ${kinds.join(', ')}; got ${type ?? 'nothing'}`),
    );
  for (const [key, types] of Object.entries(belongs)) {
    if (value[key] !== undefined && type !== undefined && kinds.includes(type) && !types.includes(type)) {
      problems.push(
        problem(
          `${path}.${key}`,
          'rule',
          `belongs to ${types.join(' and ')} fields, this is a ${type} field`,
        ),
      );
    }
  }
  const id = text(value, 'id', path, reader);
  const was = text(value, 'was', path, reader);
  const maxEntries = value.maxEntries;
  if (maxEntries !== undefined && !(Number.isInteger(maxEntries) && (maxEntries as number) >= 0))
    problems.push(problem(`${path}.maxEntries`, 'type', 'must be a whole number'));
  const dateFormat = type === 'date' ? (text(value, 'dateFormat', path, reader) ?? 'LONG_DATE') : undefined;
  if (dateFormat !== undefined && formats[dateFormat] === undefined)
    problems.push(problem(`${path}.dateFormat`, 'enum', 'must be SHORT_DATE or LONG_DATE'));
  return {
    name: text(value, 'name', path, reader, true) ?? '',
    ...(id === undefined ? {} : { id }),
    ...(was === undefined ? {} : { was }),
    type: type as FieldKind,
    required: flag(value, 'required', path, reader),
    ...(maxEntries === undefined ? {} : { maxEntries: maxEntries as number }),
    ...(dateFormat === undefined ? {} : { dateFormat: formats[dateFormat] ?? dateFormat }),
    choices: entries(value, 'choices', path, reader).map((choice, i) =>
      choiceIn(choice, `${path}.choices[${i}]`, reader),
    ),
    ...disabledIn(value, path, reader),
  };
};

/** Entries that the service tells apart by their ids may share a name; entries of a file alone may not. */
const repeated = (
  parts: readonly { readonly id?: string; readonly name: string }[],
  path: string,
  { problems }: Reader,
): void => {
  for (const [i, { name, id }] of parts.entries()) {
    if (id !== undefined && parts.slice(0, i).some((other) => other.id === id))
      problems.push(problem(`${path}[${i}].id`, 'rule', `repeats the id "${id}"`));
    const isSecond = parts
      .slice(0, i)
      .some((other) => other.name === name && (other.id === undefined || id === undefined));
    if (name !== '' && isSecond)
      problems.push(
        problem(
          `${path}[${i}].name`,
          'rule',
          `repeats the name "${name}"`,
          'names or ids tell the entries apart',
        ),
      );
  }
};

const appsIn = (value: Plain, { problems }: Reader): readonly string[] | undefined => {
  const given = value.enabledApps;
  if (given === undefined || given === null) return undefined;
  if (Array.isArray(given) && given.every((app) => typeof app === 'string')) return given as string[];
  problems.push(problem('enabledApps', 'type', 'must be a list of app names, for example [FILES, MAIL]'));
  return undefined;
};

const copyModes = ['DO_NOT_COPY', 'ALWAYS_COPY', 'COPY_APPLIABLE'];
const labelKeys = [
  'id',
  'revision',
  'title',
  'was',
  'type',
  'description',
  'learnMoreUri',
  'copyMode',
  'enabledApps',
  'fields',
];

/** The service's own JSON (`labels get --view LABEL_VIEW_FULL -o yaml`) is taken as well. */
const isWire = (value: Plain): boolean => isPlain(value.properties);

const withoutEmptyId = <T extends { readonly id?: string }>(part: T): T =>
  part.id === '' ? { ...part, id: undefined } : part;
/** What that JSON does not say stays as it is in the service. */
const fromWire = (json: LabelJson): LabelDef => {
  const { revisionId, state, hasUnpublishedChanges, canUpdate, ...said } = liveFrom(json);
  return {
    ...withoutEmptyId(said),
    ...(revisionId === '' ? {} : { revision: revisionId }),
    type: said.type === '' ? 'SHARED' : said.type,
    copyMode: json.appliedLabelPolicy?.copyMode,
    enabledApps: json.enabledAppSettings === undefined ? undefined : said.enabledApps,
    fields: said.fields.map((field) => ({
      ...withoutEmptyId(field),
      choices: field.choices.map(withoutEmptyId),
    })),
  };
};

/** The value of one YAML document as a definition, and everything that is wrong with it. Pure. */
export const definitionFrom = (
  value: unknown,
): { readonly definition: LabelDef; readonly problems: readonly Problem[] } => {
  const reader: Reader = { problems: [] };
  const none: LabelDef = { title: '', type: '', fields: [] };
  if (!isPlain(value))
    return { definition: none, problems: [problem('', 'type', 'must be a label: title, type, fields')] };
  if (isWire(value)) return { definition: fromWire(value as LabelJson), problems: [] };
  noUnknown(value, labelKeys, '', reader);
  const one = (key: string): Plain => {
    const found = text(value, key, '', reader);
    return found === undefined ? {} : { [key]: found };
  };
  const type = text(value, 'type', '', reader) ?? 'SHARED';
  const copyMode = text(value, 'copyMode', '', reader);
  if (copyMode !== undefined && !copyModes.includes(copyMode))
    reader.problems.push(
      problem('copyMode', 'enum', `must be one of ${copyModes.join(', ')}; got ${copyMode}`),
    );
  const fields = entries(value, 'fields', '', reader).map((field, i) =>
    fieldIn(field, `fields[${i}]`, reader),
  );
  repeated(fields, 'fields', reader);
  for (const [i, field] of fields.entries()) repeated(field.choices, `fields[${i}].choices`, reader);
  const enabledApps = appsIn(value, reader);
  const definition: LabelDef = {
    title: text(value, 'title', '', reader, true) ?? '',
    type,
    ...one('id'),
    ...one('revision'),
    ...one('was'),
    ...one('description'),
    ...one('learnMoreUri'),
    ...(copyMode === undefined ? {} : { copyMode }),
    ...(enabledApps === undefined ? {} : { enabledApps }),
    fields,
  };
  return { definition, problems: reader.problems };
};
