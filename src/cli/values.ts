import { messageOf } from '../core/error-message.ts';
import { type Field, type ListField, bare } from '../core/field.ts';
import { momentOf } from '../core/format.ts';
import { check } from '../core/check.ts';
import { type Problem, problem } from '../core/problem.ts';

const isJson = (field: Field): boolean => ['object', 'map', 'any'].includes(field.type);
const json = (text: string, path: string, problems: Problem[]): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    problems.push(
      problem(path, 'type', `must be JSON: ${messageOf(error)}`, 'put the whole text in single quotes'),
    );
    return undefined;
  }
};

const one = (field: Field, text: string, path: string, problems: Problem[]): unknown => {
  const inner = bare(field);
  if (field.nullable && text === 'null') return null;
  switch (inner.type) {
    case 'integer':
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'array':
      return many(field, [text], path, problems);
    case 'string':
      return inner.format === 'datetime' ? momentOf(text) : text;
    default:
      return isJson(inner) ? json(text, path, problems) : text;
  }
};

/** `--owner-ids a,b --owner-ids c` and `--labels '[{"name":"x"}]'` both give one list; `''` alone is the empty list. */
const many = (field: Field, texts: readonly string[], path: string, problems: Problem[]): unknown => {
  const inner = bare(field);
  if (inner.type !== 'array') return undefined;
  if (texts.length === 1 && field.nullable && texts[0] === 'null') return null;
  if (texts.length === 1 && texts[0] === '') return [];
  const items = bare(inner.items);
  // Free text may hold commas; ids, numbers and enums never do.
  const splits =
    items.type !== 'string' ||
    items.format !== undefined ||
    items.enum !== undefined ||
    field.summary?.includes('comma') === true;
  return texts.flatMap((text) => {
    if (text.startsWith('[')) {
      const whole = json(text, path, problems);
      return Array.isArray(whole) ? whole : [];
    }
    if (isJson(items)) return [json(text, path, problems)];
    return (splits ? text.split(',') : [text]).map((part) => one(inner.items, part.trim(), path, problems));
  });
};

/** The texts given for one flag or argument as its field's value; problems name the flag. */
export const parseValue = (
  field: Field,
  texts: readonly string[],
  path: string,
  problems: Problem[],
): unknown => {
  const before = problems.length;
  const value =
    bare(field).type === 'array'
      ? many(field, texts, path, problems)
      : one(field, texts[texts.length - 1] ?? '', path, problems);
  if (problems.length === before) {
    const isFlat = !isJson(bare(bare(field).type === 'array' ? (bare(field) as ListField).items : field));
    // Nobody numbers the values of a flag: `--unset[0]` is `--unset`.
    const named = (one: Problem): Problem =>
      isFlat ? { ...one, path: one.path.replace(/\[\d+\]$/, '') } : one;
    problems.push(...check(field, value, path).map(named));
  }
  return value;
};
