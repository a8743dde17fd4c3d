/** Facts of messages. Tests compare facts, so that a message can be reworded. Tests of texts compare sentences. */
import type { Problem } from '../../src/core/problem.ts';

/** Returns the values that a sentence names: quoted values, code and numbers. */
export const valuesIn = (sentence: string): string[] =>
  sentence.match(/"[^"]*"|`[^`]*`|#\w+|(?<![\w.])\d[\w.]*\b/g) ?? [];
/** Returns a problem as `path | rule | values`. */
export const problemFacts = ({ path, rule, message, hint = '' }: Problem): string =>
  [path, rule, ...valuesIn(`${message} ${hint}`)].join(' | ');
