import { nearest } from '../core/text.ts';
import { type ShownTexts, misreadText } from '../core/yaml-scalars.ts';
import { type Problem, problem } from '../core/problem.ts';
import { type Members, type Policy, policyMembers } from './definition.ts';

export type Plain = Readonly<Record<string, unknown>>;
/** Collects everything that is wrong. */
export type Reader = { readonly problems: Problem[]; readonly shown?: ShownTexts };

export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const at = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
/** An object without the members that are undefined. */
export const present = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

export const refuseUnknown = (value: Plain, members: Members, path: string, reader: Reader): void => {
  const known = Object.keys(members);
  for (const key of Object.keys(value)) {
    // Blocks with anchors stand below keys that start with x-, as in other tools.
    if (known.includes(key) || (path === '' && key.startsWith('x-'))) continue;
    const close = nearest(key, known);
    const hint = close && `did you mean ${close}?`;
    reader.problems.push(problem(at(path, key), 'unknown', `is not a known key (${known.join(', ')})`, hint));
  }
};

/** The key as text; `null` clears it, which differs from a missing key. */
export const textOrNone = (
  value: Plain,
  key: string,
  path: string,
  reader: Reader,
): string | null | undefined => {
  const given = value[key];
  if (given === undefined || given === null || typeof given === 'string') return given;
  const source = reader.shown?.get(at(path, key));
  if (typeof given === 'number' || typeof given === 'boolean') {
    if (source !== undefined) reader.problems.push(misreadText(at(path, key), source));
    return source ?? String(given);
  }
  reader.problems.push(problem(at(path, key), 'type', 'must be text'));
  return undefined;
};

export const textIn = (value: Plain, key: string, path: string, reader: Reader): string | undefined =>
  textOrNone(value, key, path, reader) ?? undefined;

/** A name of spaces cannot be typed or seen, so it counts as missing. */
export const neededText = (value: Plain, key: string, path: string, reader: Reader): string => {
  const text = textIn(value, key, path, reader);
  const isMissing = text === undefined && !(isPlain(value[key]) || Array.isArray(value[key]));
  if (isMissing || text?.trim() === '')
    reader.problems.push(problem(at(path, key), 'required', 'is required'));
  return text ?? '';
};

export const oneOfIn = <T extends string>(
  value: Plain,
  key: string,
  words: readonly T[],
  path: string,
  reader: Reader,
): T | undefined => {
  const text = textIn(value, key, path, reader);
  const found = words.find((word) => word === text);
  if (text !== undefined && found === undefined)
    reader.problems.push(problem(at(path, key), 'enum', `must be one of ${words.join(', ')}; got ${text}`));
  return found;
};

export const flagIn = (
  value: Plain,
  key: string,
  path: string,
  { problems }: Reader,
): boolean | undefined => {
  const given = value[key];
  if (given === undefined) return undefined;
  if (given !== null && typeof given !== 'boolean')
    problems.push(problem(at(path, key), 'type', 'must be true or false'));
  return given === true;
};

/**
 * The entries of a list; a plain name is short for `{name}`. Absent stays absent, `null` is an empty list.
 */
export const entriesIn = (
  value: Plain,
  key: string,
  path: string,
  { problems, shown }: Reader,
): Plain[] | undefined => {
  const given = value[key];
  if (given === undefined) return undefined;
  if (given !== null && !Array.isArray(given)) {
    problems.push(problem(at(path, key), 'type', 'must be a list'));
    return undefined;
  }
  return ((given ?? []) as unknown[]).map((item, i) => {
    if (isPlain(item)) return item;
    const source = shown?.get(`${at(path, key)}[${i}]`);
    if (source !== undefined) {
      problems.push(misreadText(`${at(path, key)}[${i}]`, source));
      return { name: source };
    }
    if (typeof item === 'string' || typeof item === 'number') return { name: item };
    problems.push(problem(`${at(path, key)}[${i}]`, 'type', 'must be a name or an object'));
    // Each invalid entry has another name: it does not repeat one.
    return { name: `?${i}` };
  });
};

export const policyIn = (given: Plain, path: string, reader: Reader): Policy => {
  refuseUnknown(given, policyMembers, path, reader);
  return {
    hideInSearch: flagIn(given, 'hideInSearch', path, reader) ?? false,
    showInApply: flagIn(given, 'showInApply', path, reader) ?? false,
  };
};

/** `disabled: true` is the short form of an empty policy; `false` and `null` mean enabled. */
export const disabledIn = (value: Plain, path: string, reader: Reader): Policy | false | undefined => {
  const given = value.disabled;
  if (given === undefined) return undefined;
  if (given === false || given === null) return false;
  if (given === true) return { hideInSearch: false, showInApply: false };
  if (isPlain(given)) return policyIn(given, at(path, 'disabled'), reader);
  reader.problems.push(
    problem(at(path, 'disabled'), 'type', 'must be true, false or {hideInSearch, showInApply}'),
  );
  return undefined;
};
