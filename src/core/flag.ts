import { hiddenTextProblems, readMoments } from './check.ts';
import { type Field, type Value, bare, type Fields, list, oneOf, str } from './field.ts';
import type { LooseInput, Operation } from './operation.ts';
import { invalidArguments, problem, type Problem, usageError } from './problem.ts';
import { shellLine } from './shell.ts';

/**
 * What the value of a flag or an argument does beyond the request of its command: it names a file that is read or
 * written, it starts a program (an editor, a browser, a hook), or it decides where requests and secrets go.
 * A file whose content leaves the machine as a secret both `reads` and `sends`.
 */
export type Effect = 'reads' | 'writes' | 'runs' | 'sends';

/** What the values of a field mean, by value. */
export type Meanings = Readonly<Record<string, string>>;
export type Flag = {
  /** Empty: the value is data of the request. Tools for agents hide a text or a switch without a declaration. */
  readonly effects?: readonly Effect[];
  readonly field: Field;
  readonly summary: string;
  readonly short?: string;
  /** May be given several times; the value is a list. */
  readonly repeat?: true;
  /** Shown in help: `--label <name|id>`. */
  readonly value?: string;
  readonly required?: true;
  /** `--no-browser` style: true unless given. */
  readonly negated?: true;
  readonly hidden?: true;
  /**
   * Marks a flag that selects the target of the command. Suggested commands in its messages repeat this flag.
   */
  readonly isRepeated?: true;
  /** Where TAB takes values from: a word the completion layer knows (`profile`, `column`, `label`, `file`, `kv-member`). */
  readonly complete?: string;
  /** Values worth offering where the field itself allows others too. TAB offers them instead of the enumeration of the field. */
  readonly suggest?: readonly string[];
  /** A few words for each value, next to it under TAB. */
  readonly meanings?: Meanings;
  /** An empty value has a meaning: it clears a text or a list. Without this, opsctl rejects an empty value. */
  readonly allowsEmpty?: true;
};
export type Argument = {
  readonly effects?: readonly Effect[];
  readonly name: string;
  readonly field: Field;
  readonly summary: string;
  readonly optional?: true;
  readonly rest?: true;
  readonly complete?: string;
  /** Values worth offering under TAB where the field itself allows others too, instead of its enumeration. */
  readonly suggest?: readonly string[];
  readonly meanings?: Meanings;
  /** An empty value has a meaning. Without this, opsctl rejects an empty value. */
  readonly allowsEmpty?: true;
};
export type Example = { readonly line: string; readonly says: string };

export type Flags = { readonly [name: string]: Flag };

/** Values by flag name (kebab-case) and argument name, already checked against their fields. Absent stays absent. */
export type Values = { readonly [name: string]: unknown };

type RequiredFlag = { readonly required: true } | { readonly field: { readonly required: true } };
type FlagValues<F extends Flags> = {
  readonly [K in keyof F as F[K] extends RequiredFlag ? K : never]: Value<F[K]['field']>;
} & {
  readonly [K in keyof F as F[K] extends RequiredFlag ? never : K]?: Value<F[K]['field']> | undefined;
};
type ArgumentValues<A extends Argument> = {
  readonly [K in A as K extends { readonly optional: true } ? never : K['name']]: Value<K['field']>;
} & {
  readonly [K in A as K extends { readonly optional: true } ? K['name'] : never]?:
    | Value<K['field']>
    | undefined;
};
type Flat<T> = { readonly [K in keyof T]: T[K] } & {};
/**
 * What the body of a command gets for these flags and arguments. A name that is not among them does not compile. Of flags
 * that are typed `: Flags` no name is known, so none compiles: write `as const satisfies Flags`.
 */
export type ValuesOf<F extends Flags, A extends readonly Argument[] = readonly []> = string extends keyof F
  ? never
  : Flat<FlagValues<F> & ArgumentValues<A[number]>>;

/** `epic_state_id` and `displayName` become `epic-state-id` and `display-name`. */
export const flagName = (field: string): string =>
  field
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

/** A `filter` is a body that selects records: null in it selects the records without a value. */
export type FlagSource = { readonly fields: Fields; readonly part: 'query' | 'body' | 'filter' };
const shape: Readonly<Record<string, string>> = {
  datetime: 'time|day',
  date: 'date',
  color: '#rrggbb',
  uuid: 'uuid',
  url: 'url',
  email: 'email',
};
const placeholder = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'string')
    return inner.enum ? inner.enum.join('|') : (shape[inner.format ?? ''] ?? 'text');
  if (inner.type === 'integer' || inner.type === 'number') return 'number';
  if (inner.type === 'boolean') return 'true|false';
  if (inner.type === 'array')
    return ['object', 'array', 'map', 'ref'].includes(bare(inner.items).type)
      ? 'json'
      : placeholder(inner.items);
  return inner.type === 'file' ? 'path' : 'json';
};
const limitText = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'string' && inner.max !== undefined) return `at most ${inner.max} characters`;
  if ((inner.type === 'integer' || inner.type === 'number') && inner.max !== undefined)
    return `${inner.min ?? ''}..${inner.max}`;
  return '';
};
const summaryOf = (field: Field, part: FlagSource['part']): string => {
  const notes = [
    limitText(field),
    field.nullable ? (part === 'filter' ? 'null: records without one' : 'null unsets') : '',
    field.default === undefined ? '' : `default ${field.default}`,
    field.deprecated === undefined
      ? ''
      : `deprecated${field.deprecated === '' ? '' : `: use ${field.deprecated}`}`,
  ].filter((note) => note !== '');
  return `${field.summary ?? ''}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
};
/** The flag that names the file of a secret. */
export const secretFlag = (name: string): string => `${flagName(name)}-file`;
const secretFileFlag = (name: string, field: Field): Flag => ({
  effects: ['reads', 'sends'],
  field: str(undefined, { min: 1 }),
  summary: `File that contains the ${name.replaceAll('_', ' ')}: ${field.summary ?? name}; - reads standard input, or prompts at a terminal`,
  value: 'file|-',
  complete: 'file',
});
/** In a body, an empty text or list clears an optional field. In a query it selects no records. */
const isClearable = (field: Field): boolean => {
  const inner = bare(field);
  if (field.required || (inner.type !== 'array' && inner.type !== 'string') || inner.min) return false;
  return inner.type === 'array' || (inner.enum === undefined && inner.format === undefined);
};
const flagOf = (name: string, field: Field, part: FlagSource['part']): Flag => ({
  effects: bare(field).type === 'file' ? ['reads'] : [],
  field,
  summary: summaryOf(field, part),
  value: placeholder(field),
  ...(bare(field).type === 'array' ? { repeat: true } : {}),
  ...(part !== 'query' && isClearable(field) ? { allowsEmpty: true } : {}),
  complete: name,
});
/**
 * Flags of one row. A scalar list is repeated or comma-separated; objects and lists of objects take JSON.
 * `--body` takes the whole body, and `--unset` sets nullable fields to null.
 */
export const flagsOf = (sources: readonly FlagSource[]): Record<string, Flag> => {
  const named = sources.flatMap(({ fields, part }) =>
    Object.entries(fields).map(([name, field]) => [name, field, part] as const),
  );
  const settable = named.filter(([, field]) => !field.readOnly);
  const flags: Record<string, Flag> = {};
  for (const [name, field, part] of settable) {
    if (field.secret) flags[secretFlag(name)] = secretFileFlag(name, field);
    else flags[flagName(name)] = flagOf(name, field, part);
  }
  const nullable = settable.filter(([, field]) => field.nullable).map(([name]) => name);
  if (nullable.length > 0) {
    flags.unset = {
      effects: [],
      field: list(oneOf(...nullable)),
      summary: sources.some(({ part }) => part === 'filter')
        ? `Select the records that have no value in a field: ${nullable.join(', ')}`
        : `Set a field to null: ${nullable.join(', ')}`,
      value: 'field',
      repeat: true,
    };
  }
  if (sources.some(({ fields, part }) => part !== 'query' && Object.keys(fields).length > 0))
    flags.body = {
      effects: ['reads'],
      field: str(),
      summary: 'The whole body as JSON: text, @file or - for standard input; flags win over it',
      value: 'json|@file|-',
    };
  return flags;
};
/** `--unset owner_id` and `--owner-id ana` on one line: two values for one field. */
export const assertUnsetAlone = (fields: Fields, values: Values): void => {
  const names = (values.unset as string[] | undefined) ?? [];
  const problems = names.flatMap((name) =>
    Object.hasOwn(fields, name) && values[flagName(name)] !== undefined
      ? [problem(`--unset ${name}`, 'exclusive', `cannot be combined with --${flagName(name)}`)]
      : [],
  );
  if (problems.length > 0) throw usageError('two flags set the same field; no request was sent', problems);
};
/** The part of a row's input that the flags gave. `--body` was already read into `values.body` as an object. */
const valuesOf = (fields: Fields, values: Values, part: FlagSource['part']): Record<string, unknown> => {
  const whole = part !== 'query' ? (values.body as Record<string, unknown> | undefined) : undefined;
  const found: Record<string, unknown> = { ...whole };
  assertUnsetAlone(fields, values);
  for (const name of Object.keys(fields)) {
    const value = values[flagName(name)];
    if (value !== undefined) found[name] = value;
  }
  for (const name of (values.unset as string[] | undefined) ?? []) {
    if (!Object.hasOwn(fields, name)) continue;
    found[name] = null;
  }
  return found;
};

/** `label-public-id` → `label`; `name` of `{name=labels/*}` stays. */
export const argumentName = (param: string): string => param.replace(/-public-id$/, '');
const paramValues = (operation: Operation, values: Values): Record<string, unknown> =>
  Object.fromEntries(Object.keys(operation.params ?? {}).map((name) => [name, values[argumentName(name)]]));
/** The input of a row from the values of its derived flags and arguments. */
export const inputFrom = (operation: Operation, values: Values): LooseInput => {
  const body = operation.body && readMoments(operation.body, valuesOf(operation.body, values, 'body'));
  const hidden = hiddenTextProblems(body, '');
  if (hidden.length > 0) throw invalidArguments(hidden);
  return {
    params: paramValues(operation, values),
    query: valuesOf(operation.query ?? {}, values, 'query'),
    ...(body ? { body } : {}),
  };
};
/** Rows that --limit asks for; a row's flags are not known to the compiler. */
export const limitOf = ({ limit }: Values): number | undefined =>
  typeof limit === 'number' ? limit : undefined;

/** What the row cannot be sent without, in the words of its flags. */
export const requiredAreGiven = (operation: Operation, input: LooseInput, words: string): void => {
  const missing = (fields: Fields | undefined, given: LooseInput['body']): Problem[] =>
    Object.entries(fields ?? {}).flatMap(([name, field]) =>
      field.required && given?.[name] === undefined
        ? [problem(`--${flagName(name)}`, 'required', 'is required')]
        : [],
    );
  const problems = [...missing(operation.query, input.query), ...missing(operation.body, input.body)];
  if (problems.length > 0) throw usageError(`${words}: invalid arguments`, problems, [`${words} --help`]);
};
/** An update of a record needs at least one change. An empty update usually means a forgotten flag. */
export const somethingChanges = (operation: Operation, input: LooseInput, words: string): void => {
  const names = Object.keys(operation.body ?? {});
  if (operation.method !== 'PUT' || names.length === 0 || Object.keys(input.body ?? {}).length > 0) return;
  const [name = ''] = names.includes('name') ? ['name'] : names;
  const record = shellLine(Object.values(input.params ?? {}).map(String));
  throw usageError(
    `${words}: no change specified; no request was sent`,
    [],
    [`${words} ${record} --${flagName(name)} …`, `${words} --help`],
  );
};
