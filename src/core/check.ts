import {
  type Field,
  type Fields,
  type ListField,
  type MapField,
  type ObjectField,
  type StringField,
  bare,
} from './field.ts';
import { formats } from './format.ts';
import { nearest } from './nearest.ts';
import { type Problem, problem } from './problem.ts';

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
const kind = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : shown(value);
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
};
/** Length in characters as people count code points, not in UTF-16 units. */
export const characters = (text: string): number => {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
};

/** Patterns that people meet, said for people. */
const inWords: Readonly<Record<string, string>> = {
  '^[A-Za-z0-9._-]+$': 'may hold letters A-Z and a-z, digits, ".", "_" and "-" only',
  '^\\d+\\.\\d+$': 'must be a version such as 3.4',
  '^\\d+\\.\\d+\\.\\d+$': 'must be a version such as 3.5.32',
};
/** A value that is none of a closed list. */
const checkChoice = ({ enum: choices, open }: StringField, text: string, path: string): Problem[] => {
  if (choices === undefined || open || choices.includes(text)) return [];
  const close = nearest(text, choices);
  const message = `must be one of ${choices.join(', ')}; got ${shown(text)}`;
  return [problem(path, 'enum', message, close && `did you mean ${close}?`)];
};

const checkCharacters = (field: StringField, text: string, path: string): Problem[] => {
  const found: Problem[] = [];
  // Only a string whose UTF-16 length is over the limit can have too many characters.
  const length = field.max !== undefined && text.length > field.max ? characters(text) : text.length;
  if (field.max !== undefined && length > field.max)
    found.push(problem(path, 'max', `must have at most ${field.max} characters, has ${length}`));
  if (field.min !== undefined && length < field.min) {
    found.push(
      problem(
        path,
        'min',
        field.min === 1 ? 'must not be empty' : `must have at least ${field.min} characters, has ${length}`,
      ),
    );
  }
  return found;
};

const checkString = (field: StringField, text: string, path: string): Problem[] => {
  const choice = checkChoice(field, text, path);
  if (choice.length > 0) return choice;
  const found = checkCharacters(field, text, path);
  const format = field.format && formats[field.format];
  if (format && !format.holds(text))
    found.push(problem(path, 'format', `${format.says}; got ${shown(text)}`, format.hint));
  if (field.pattern !== undefined && !new RegExp(field.pattern).test(text)) {
    found.push(
      problem(
        path,
        'format',
        `${inWords[field.pattern] ?? `must match ${field.pattern}`}; got ${shown(text)}`,
      ),
    );
  }
  return found;
};

type Limits = { readonly min?: number; readonly max?: number };
const checkRange = ({ min, max }: Limits, size: number, path: string): Problem[] => [
  ...(min !== undefined && size < min ? [problem(path, 'min', `must be at least ${min}; got ${size}`)] : []),
  ...(max !== undefined && size > max ? [problem(path, 'max', `must be at most ${max}; got ${size}`)] : []),
];
const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);
const checkLength = ({ min, max }: Limits, size: number, path: string): Problem[] => [
  ...(min !== undefined && size < min
    ? [problem(path, 'min', `must have at least ${entries(min)}; has ${size === 0 ? 'none' : size}`)]
    : []),
  ...(max !== undefined && size > max
    ? [problem(path, 'max', `must have at most ${entries(max)}; has ${size}`)]
    : []),
];

const checkObject = (field: ObjectField, value: unknown, path: string): Problem[] =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? [problem(path, 'type', `must be an object; got ${kind(value)}`)]
    : checkFields(field.fields, value as Record<string, unknown>, path, field.exclusive);

const checkList = (field: ListField, value: unknown, path: string): Problem[] =>
  Array.isArray(value)
    ? [
        ...checkLength(field, value.length, path),
        ...value.flatMap((item, i) => check(field.items, item, `${path}[${i}]`)),
      ]
    : [problem(path, 'type', `must be a list; got ${kind(value)}`)];

const checkMap = (field: MapField, value: unknown, path: string): Problem[] =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? [problem(path, 'type', `must be an object; got ${kind(value)}`)]
    : Object.entries(value).flatMap(([key, item]) => check(field.values, item, join(path, key)));

const checkText = (field: StringField, value: unknown, path: string): Problem[] => {
  // spec/labels#errors: a 64-bit number goes out as text and may come in as a number.
  if (field.format === 'int64' && Number.isSafeInteger(value)) return [];
  return typeof value === 'string'
    ? checkString(field, value, path)
    : [problem(path, 'type', `must be text; got ${kind(value)}`)];
};

/** Every problem of one value, in reading order; none means it is good. Pure. */
export const check = (outer: Field, value: unknown, path = ''): Problem[] => {
  const nullable = outer.nullable ?? false;
  const field = bare(outer);
  if (value === null) return nullable || field.nullable ? [] : [problem(path, 'null', 'must not be null')];
  switch (field.type) {
    case 'string':
      return checkText(field, value, path);
    case 'integer':
      return Number.isSafeInteger(value)
        ? checkRange(field, value as number, path)
        : [problem(path, 'type', `must be a whole number; got ${kind(value)}`)];
    case 'number':
      return typeof value === 'number'
        ? checkRange(field, value, path)
        : [problem(path, 'type', `must be a number; got ${kind(value)}`)];
    case 'boolean':
      return typeof value === 'boolean'
        ? []
        : [problem(path, 'type', `must be true or false; got ${kind(value)}`)];
    case 'array':
      return checkList(field, value, path);
    case 'map':
      return checkMap(field, value, path);
    case 'object':
      return checkObject(field, value, path);
    default:
      return [];
  }
};

const checkMember = (fields: Fields, key: string, value: unknown, path: string): Problem[] => {
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (field === undefined) {
    const close = nearest(key, Object.keys(fields));
    return [problem(path, 'unknown', 'is not a known field', close && `did you mean ${close}?`)];
  }
  if (field.outputOnly) return [];
  if (field.readOnly) return [problem(path, 'rule', 'is set by the service and cannot be given')];
  return check(field, value, path);
};

/** Checks a whole body, query or record: unknown keys, missing required ones, and every value. */
export const checkFields = (
  fields: Fields,
  values: Readonly<Record<string, unknown>>,
  path = '',
  exclusive: readonly (readonly string[])[] = [],
): Problem[] => {
  const found: Problem[] = [];
  for (const key of Object.keys(values)) {
    const value = values[key];
    if (value !== undefined) found.push(...checkMember(fields, key, value, join(path, key)));
  }
  // `for in` makes no list of the fields: this runs for every request of the mock.
  for (const key in fields) {
    if (fields[key]?.required && values[key] === undefined)
      found.push(problem(join(path, key), 'required', 'is required'));
  }
  for (const group of exclusive) {
    const set = group.filter((key) => values[key] !== undefined);
    if (set.length > 1)
      found.push(problem(join(path, set[1] ?? ''), 'exclusive', `cannot be given together with ${set[0]}`));
  }
  return found;
};
