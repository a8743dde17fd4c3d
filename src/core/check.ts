import {
  type Field,
  type Fields,
  type ListField,
  type MapField,
  type NumberField,
  type ObjectField,
  type StringField,
  bare,
} from './field.ts';
import { formatFault, formats, momentOf } from './format.ts';
import { redactedText, redactedUrl } from './redact-secrets.ts';
import { LONE_SURROGATE, nearest, showHidden } from './text.ts';
import { cutText, type Problem, problem } from './problem.ts';

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
const kind = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : formatValue(value);
/** An address can contain a password or a token. */
const formatValue = (value: unknown): string => {
  const shown = typeof value === 'string' ? redactedText(value) : value;
  return cutText(JSON.stringify(shown) ?? String(value), 40);
};
const formatAddress = (text: string): string => formatValue(redactedUrl(text));
/** Length in characters as people count code points, not in UTF-16 units. */
export const characters = (text: string): number => {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
};

/** Descriptions of common patterns for error messages. */
export const inWords: Readonly<Record<string, string>> = {
  '^[A-Za-z0-9_.-]+$': 'may contain letters A-Z and a-z, digits, ".", "_" and "-" only',
  '^[A-Za-z0-9.*-]+$': 'may contain letters A-Z and a-z, digits, ".", "*" and "-" only',
  '^[a-z0-9]+$': 'may contain letters a-z and digits only',
  '^[a-z][a-z0-9-]*$': 'must start with a letter a-z and may contain letters a-z, digits and "-" only',
  '^[a-z][a-z0-9-]{0,63}$': 'must start with a letter a-z and may contain letters a-z, digits and "-" only',
  '^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)+$': 'must be a name with dots, such as com.example.app',
  '^[0-9a-f]{64}$': 'must be a SHA-256 checksum of 64 digits 0-9 and a-f',
  '^https?://': 'must start with http:// or https://',
  '^([1-9][0-9]{0,6}|off)$': 'must be a number from 1 to 9999999, or off',
  '^([1-9][0-9]{0,6}/[1-9][0-9]{0,6}|off)$': 'must be two numbers, such as 600/300, or off',
  '^[0-9]{1,9}([+]|-[0-9]{1,9})?$': 'must be a number or a range, such as 3, 3+ or 2-4',
  '^3\\.\\d+$': 'must be a version such as 3.4',
  '^[A-Za-z0-9._-]+$': 'may hold letters A-Z and a-z, digits, ".", "_" and "-" only',
  '^[A-Za-z0-9_][A-Za-z0-9._-]*$':
    'may contain letters A-Z and a-z, digits, ".", "_" and "-" only, and must not start with "." or "-"',
  '^\\d+\\.\\d+$': 'must be a version such as 3.4',
  '^\\d+\\.\\d+\\.\\d+$': 'must be a version such as 3.5.32',
  '^3\\.[2-7]\\.\\d+$': 'must be a version from 3.2 to 3.7 with its patch number, such as 3.4.23',
};
/** A value that is not in a closed list. */
const isChoice = ({ enum: choices, open }: StringField, text: string): boolean =>
  choices === undefined || open === true || choices.includes(text);
const wrongChoice = (choices: readonly string[], text: string, path: string): Problem => {
  const close = nearest(text, choices);
  const message = `must be one of ${choices.join(', ')}; got ${formatValue(text)}`;
  return problem(path, 'enum', message, close && `did you mean ${close}?`);
};

/** Where problems go: one list for a whole body, since almost every value is good and would make an empty one. */
type Found = Problem[];

const checkCharacters = ({ min, max }: StringField, text: string, path: string, found: Found): void => {
  // Only a string whose UTF-16 length is over the limit can have too many characters.
  const length = max !== undefined && text.length > max ? characters(text) : text.length;
  if (max !== undefined && length > max)
    found.push(problem(path, 'max', `must have at most ${max} characters, has ${length}`));
  if (min !== undefined && length < min) {
    found.push(
      problem(
        path,
        'min',
        min === 1 ? 'must not be empty' : `must have at least ${min} characters, has ${length}`,
      ),
    );
  }
};

/** Compiled patterns. The tables contain few patterns, and each one checks many values. */
const compiled = new Map<string, RegExp>();
const matches = (pattern: string, text: string): boolean => {
  const known = compiled.get(pattern);
  const regex = known ?? new RegExp(pattern);
  if (known === undefined) compiled.set(pattern, regex);
  return regex.test(text);
};

const checkString = (field: StringField, text: string, path: string, found: Found): void => {
  if (LONE_SURROGATE.test(text)) {
    found.push(problem(path, 'format', 'must be text in Unicode; it has half of a surrogate pair'));
    return;
  }
  if (!isChoice(field, text)) {
    found.push(wrongChoice(field.enum ?? [], text, path));
    return;
  }
  checkCharacters(field, text, path, found);
  const { format: name } = field;
  if (name && !formats[name].holds(text))
    found.push(
      problem(
        path,
        'format',
        `${formatFault(name, text)}; got ${name === 'url' ? formatAddress(text) : formatValue(text)}`,
        formats[name].hint,
      ),
    );
  if (field.pattern !== undefined && !matches(field.pattern, text)) {
    found.push(
      problem(
        path,
        'format',
        `${inWords[field.pattern] ?? `must match ${field.pattern}`}; got ${formatAddress(text)}`,
      ),
    );
  }
};

type Limits = { readonly min?: number; readonly max?: number };
const checkRange = ({ min, max }: Limits, size: number, path: string, found: Found): void => {
  if (min !== undefined && size < min)
    found.push(problem(path, 'min', `must be at least ${min}; got ${size}`));
  if (max !== undefined && size > max)
    found.push(problem(path, 'max', `must be at most ${max}; got ${size}`));
};
const entries = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);
const checkLength = ({ min, max }: Limits, size: number, path: string, found: Found): void => {
  if (min !== undefined && size < min)
    found.push(problem(path, 'min', `must have at least ${entries(min)}; has ${size === 0 ? 'none' : size}`));
  if (max !== undefined && size > max)
    found.push(problem(path, 'max', `must have at most ${entries(max)}; has ${size}`));
};

const wrongType = (what: string, value: unknown, path: string): Problem =>
  problem(path, 'type', `must be ${what}; got ${kind(value)}`);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const checkObject = (field: ObjectField, value: unknown, path: string, found: Found): void => {
  if (isObject(value)) addFromFields(field.fields, value, path, field.exclusive, found);
  else found.push(wrongType('an object', value, path));
};

const checkList = (field: ListField, value: unknown, path: string, found: Found): void => {
  if (!Array.isArray(value)) {
    found.push(wrongType('a list', value, path));
    return;
  }
  checkLength(field, value.length, path, found);
  for (const [i, item] of value.entries()) addFrom(field.items, item, `${path}[${i}]`, found);
};

const checkMap = (field: MapField, value: unknown, path: string, found: Found): void => {
  if (isObject(value))
    for (const [key, item] of Object.entries(value)) addFrom(field.values, item, join(path, key), found);
  else found.push(wrongType('an object', value, path));
};

const checkText = (field: StringField, value: unknown, path: string, found: Found): void => {
  // spec/labels#errors: a 64-bit number goes out as text and may come in as a number.
  if (field.format === 'int64' && Number.isSafeInteger(value)) return;
  if (typeof value === 'string') checkString(field, value, path, found);
  else found.push(wrongType('text', value, path));
};

const checkNumber = (field: NumberField, value: unknown, path: string, found: Found): void => {
  const isWhole = field.type === 'integer';
  if (typeof value === 'number' && (!isWhole || Number.isSafeInteger(value)))
    checkRange(field, value, path, found);
  else found.push(wrongType(isWhole ? 'a whole number' : 'a number', value, path));
};

const addFrom = (outer: Field, value: unknown, path: string, found: Found): void => {
  const field = bare(outer);
  if (value === null) {
    if (!outer.nullable && !field.nullable) found.push(problem(path, 'null', 'must not be null'));
    return;
  }
  switch (field.type) {
    case 'string':
      checkText(field, value, path, found);
      break;
    case 'integer':
    case 'number':
      checkNumber(field, value, path, found);
      break;
    case 'boolean':
      if (typeof value !== 'boolean') found.push(wrongType('true or false', value, path));
      break;
    case 'array':
      checkList(field, value, path, found);
      break;
    case 'map':
      checkMap(field, value, path, found);
      break;
    case 'object':
      checkObject(field, value, path, found);
      break;
  }
};

/** Every problem of one value, in reading order; none means it is good. Pure. */
export const check = (field: Field, value: unknown, path = ''): Problem[] => {
  const found: Found = [];
  addFrom(field, value, path, found);
  return found;
};

const addFromMember = (fields: Fields, key: string, value: unknown, path: string, found: Found): void => {
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (field === undefined) {
    const close = nearest(key, Object.keys(fields));
    found.push(problem(path, 'unknown', 'is not a known field', close && `did you mean ${close}?`));
  } else if (field.outputOnly) return;
  else if (field.readOnly) found.push(problem(path, 'rule', 'is set by the service and cannot be given'));
  else addFrom(field, value, path, found);
};

type Exclusive = readonly (readonly string[])[] | undefined;
const addFromFields = (
  fields: Fields,
  values: Readonly<Record<string, unknown>>,
  path: string,
  exclusive: Exclusive,
  found: Found,
): void => {
  // `for in` makes no lists of names: this runs for every request of the mock.
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) addFromMember(fields, key, value, join(path, key), found);
  }
  for (const key in fields) {
    if (fields[key]?.required && values[key] === undefined)
      found.push(problem(join(path, key), 'required', 'is required'));
  }
  if (exclusive === undefined) return;
  for (const group of exclusive) {
    const set = group.filter((key) => values[key] !== undefined);
    if (set.length > 1)
      found.push(problem(join(path, set[1] ?? ''), 'exclusive', `cannot be given together with ${set[0]}`));
  }
};

/** Checks a whole body, query or record: unknown keys, missing required ones, and every value. */
export const checkFields = (
  fields: Fields,
  values: Readonly<Record<string, unknown>>,
  path = '',
  exclusive: Exclusive = undefined,
): Problem[] => {
  const found: Found = [];
  addFromFields(fields, values, path, exclusive, found);
  return found;
};

/** Two keys that look the same would be two records. */
const isHiddenInKey = (key: string): boolean => /^\s|\s$|[\p{Cc}\p{Cf}\u2028\u2029]/u.test(key);
/** No spreadsheet or editor writes these characters into a name. Tabs and line ends (LF, CRLF) come from pasted text. */
const isHiddenInName = (name: string): boolean => /(?![\t\n\u0080-\u009f]|\r\n)\p{Cc}/u.test(name);
/**
 * Names and keys of records with characters that nobody sees, at any depth of a row or a file. The rule is the same
 * for each format, so that a file means the same after a conversion.
 */
export const hiddenTextProblems = (value: unknown, path: string): Problem[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const at = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    if (typeof member !== 'string') return hiddenTextProblems(member, at);
    if (key === 'external_id' && isHiddenInKey(member)) {
      const what = `has a space at an end or an invisible character; got ${showHidden(member)}`;
      return [problem(at, 'format', what, 'remove the character')];
    }
    if (key !== 'name' || !isHiddenInName(member)) return [];
    const what = `has a control character; got ${showHidden(member)}`;
    return [problem(at, 'format', what, 'remove the character')];
  });
};

/** Reads a value at any depth: `toMoment` reads a text that is a time. */
const readMoment = (field: Field, value: unknown, toMoment: (text: string) => string): unknown => {
  const inner = bare(field);
  if (inner.type === 'array' && Array.isArray(value))
    return value.map((item) => readMoment(inner.items, item, toMoment));
  if (inner.type === 'object' && isObject(value)) return readMoments(inner.fields, value, toMoment);
  const isMoment = inner.type === 'string' && inner.format === 'datetime' && typeof value === 'string';
  return isMoment ? toMoment(value) : value;
};
/** A body with its times in the form of the service. Other values and unknown fields stay as they are. */
export const readMoments = (
  fields: Fields,
  body: Readonly<Record<string, unknown>>,
  toMoment = momentOf,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      return [name, field === undefined ? value : readMoment(field, value, toMoment)];
    }),
  );
