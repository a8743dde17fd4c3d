/** Facts of messages. Tests compare facts, so that a message can be reworded. Tests of texts compare sentences. */
import { NextStep } from '../../src/core/next.ts';
import type { Problem } from '../../src/core/problem.ts';

/** Returns the values that a sentence names: quoted values, code and numbers. */
export const valuesIn = (sentence: string): string[] =>
  sentence.match(/"[^"]*"|`[^`]*`|#\w+|(?<![\w.])\d[\w.]*\b/g) ?? [];
/** Returns a problem as `path | rule | values`. */
export const problemFacts = ({ path, rule, message, hint = '' }: Problem): string =>
  [path, rule, ...valuesIn(`${message} ${hint}`)].join(' | ');

/** Returns the error object that `-o json` writes as the last line of stderr. Progress precedes it if the run is slow. */
export const errorOf = ({ stderr }: { readonly stderr: string }): any =>
  JSON.parse(stderr.trim().split('\n').at(-1) ?? '');

type Value = string | number;
/** Returns the text of an error with its problems and its next steps, of a next step, or of a string. */
const textOf = (actual: unknown): string | undefined => {
  if (typeof actual === 'string') return actual;
  if (actual instanceof NextStep) return actual.toString();
  if (!(actual instanceof Error)) return undefined;
  const { detail } = actual as Error & { readonly detail?: unknown };
  return detail === undefined ? actual.message : `${actual.message}\n${JSON.stringify(detail)}`;
};
/** Returns whether a text contains a value that is not a part of a longer word or number. */
const contains = (text: string, value: Value): boolean => {
  const whole = String(value);
  for (let at = text.indexOf(whole); at >= 0; at = text.indexOf(whole, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + whole.length]];
    const isCut = (edge: string, inner = ''): boolean => /\w/.test(edge) && /\w/.test(inner);
    if (!isCut(before, whole[0]) && !isCut(after, whole.at(-1))) return true;
  }
  return false;
};
/** Returns the code of an error, or else the most specific name that it has. */
const identityOf = (error: unknown): string => {
  const { detail, code, error: name, category } = error as Record<string, unknown>;
  const own = (detail as { readonly code?: unknown } | undefined)?.code;
  return String(own ?? code ?? name ?? category ?? (error as Error).constructor.name);
};
/** The values of a matcher, so that a row of a table can give values to a larger sentence. */
const namedValues = new WeakMap<object, readonly Value[]>();
const matcherOf = <T>(what: string, given: readonly Value[], matches: (actual: unknown) => boolean): T => {
  const values = given.flatMap((value) => namedValues.get(Object(value)) ?? [value]);
  const text = [what, ...values].join(' ');
  const matcher = {
    asymmetricMatch: (actual: unknown) => {
      const whole = textOf(actual);
      return whole !== undefined && values.every((value) => contains(whole, value)) && matches(actual);
    },
    toString: () => text,
    toJSON: () => text,
    toAsymmetricMatcher: () => text,
  };
  namedValues.set(matcher, values);
  return matcher as T;
};
/** Matches a sentence, or an error, that names all values. The sentence may have any wording. */
export const naming = (...values: readonly [Value, ...Value[]]): string =>
  matcherOf('names', values, () => true);
/** Matches an error by its code (otherwise its category) and by the values that it must name. */
export const errorWith = (code: string, ...values: readonly Value[]): Error =>
  matcherOf(code, values, (actual) => actual instanceof Error && identityOf(actual) === code);
