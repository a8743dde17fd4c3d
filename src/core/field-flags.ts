import { bare, type Field, type Fields, list, oneOf, str } from './field.ts';
import { type Flag, flagName, type Values } from './flag.ts';
import type { LooseInput, Operation } from './operation.ts';
import { problem, type Problem, usageError } from './problem.ts';
import { shellLine } from './shell.ts';

export type FlagSource = { readonly fields: Fields; readonly part: 'query' | 'body' };
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
const summaryOf = (name: string, field: Field): string => {
  const notes = [
    limitText(field),
    field.nullable ? 'null unsets' : '',
    field.default === undefined ? '' : `default ${field.default}`,
    field.deprecated === undefined
      ? ''
      : `deprecated${field.deprecated === '' ? '' : `: use ${field.deprecated}`}`,
  ].filter((note) => note !== '');
  return `${field.summary ?? name.replaceAll('_', ' ')}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
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
  summary: summaryOf(name, field),
  value: placeholder(field),
  ...(bare(field).type === 'array' ? { repeat: true } : {}),
  ...(part === 'body' && isClearable(field) ? { allowsEmpty: true } : {}),
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
      summary: `Set a field to null: ${nullable.join(', ')}`,
      value: 'field',
      repeat: true,
    };
  }
  if (sources.some(({ fields, part }) => part === 'body' && Object.keys(fields).length > 0))
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
  const whole = part === 'body' ? (values.body as Record<string, unknown> | undefined) : undefined;
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
export const inputFrom = (operation: Operation, values: Values): LooseInput => ({
  params: paramValues(operation, values),
  query: valuesOf(operation.query ?? {}, values, 'query'),
  ...(operation.body ? { body: valuesOf(operation.body, values, 'body') } : {}),
});
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
