import { type Field, type Fields, bare, list, oneOf, str } from '../core/field.ts';
import { problem, usageError } from '../core/problem.ts';
import { flagName } from '../core/flag.ts';
import type { Flag, Values } from '../core/flag.ts';

export { flagName } from '../core/flag.ts';

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

const flagOf = (name: string, field: Field): Flag => ({
  effects: bare(field).type === 'file' ? ['reads'] : [],
  field,
  summary: summaryOf(name, field),
  value: placeholder(field),
  ...(bare(field).type === 'array' ? { repeat: true } : {}),
  complete: name,
});

/**
 * Flags of one row. A scalar list is repeated or comma-separated; objects and lists of objects take JSON.
 * `--body` takes the whole body, and `--unset` sets nullable fields to null.
 */
export const flagsOf = (sources: readonly FlagSource[]): Record<string, Flag> => {
  const named = sources.flatMap(({ fields }) => Object.entries(fields));
  const settable = named.filter(([, field]) => !field.readOnly);
  const flags: Record<string, Flag> = {};
  for (const [name, field] of settable) flags[flagName(name)] = flagOf(name, field);
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

/** The part of a row's input that the flags gave. `--body` was already read into `values.body` as an object. */
export const valuesOf = (
  fields: Fields,
  values: Values,
  part: FlagSource['part'],
): Record<string, unknown> => {
  const whole = part === 'body' ? (values.body as Record<string, unknown> | undefined) : undefined;
  const found: Record<string, unknown> = { ...whole };
  for (const name of Object.keys(fields)) {
    const value = values[flagName(name)];
    if (value !== undefined) found[name] = value;
  }
  for (const name of (values.unset as string[] | undefined) ?? []) {
    if (!Object.hasOwn(fields, name)) continue;
    if (values[flagName(name)] !== undefined) {
      throw usageError(`--unset ${name} and --${flagName(name)} contradict each other`, [
        problem(`--unset ${name}`, 'exclusive', `cannot be given together with --${flagName(name)}`),
      ]);
    }
    found[name] = null;
  }
  return found;
};
