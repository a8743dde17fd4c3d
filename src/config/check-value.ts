import { durationMs, longestMs } from '../core/duration.ts';
import { nearest } from '../core/nearest.ts';
import { AppError, problem } from '../core/problem.ts';
import { urlFault } from './guards.ts';
import type { Key } from './keys.ts';

/** What is wrong with a value: the sentence after the name of its setting, and what to type instead. */
type Fault = { readonly why: string; readonly tryThis: string; readonly code?: string };
type Rule = (value: string, key: Key) => Fault | undefined;

const quoted = (value: string): string => JSON.stringify(value);

const isDuration: Rule = (value) => {
  const ms = durationMs(value);
  if (ms === undefined)
    return { why: `is not a duration: ${quoted(value)}`, tryThis: 'write it like 30s or 5m' };
  return ms > 0 && ms <= longestMs
    ? undefined
    : {
        why: `must be longer than 0 and at most 24 days; got ${quoted(value)}`,
        tryThis: 'write it like 30s or 5m',
      };
};
const isHeaderName: Rule = (value) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value)
    ? undefined
    : { why: `is not a header name: ${quoted(value)}`, tryThis: 'write it like X-Api-Token' };
const isCount: Rule = (value) =>
  /^[1-9]\d{0,5}$/.test(value)
    ? undefined
    : { why: `must be a whole number from 1; got ${quoted(value)}`, tryThis: 'write it like 10' };
const isRate: Rule = (value, key) =>
  value === 'off' || isCount(value, key) === undefined
    ? undefined
    : { why: `must be a whole number from 1, or off; got ${quoted(value)}`, tryThis: 'write it like 195' };

const rules: Readonly<Record<NonNullable<Key['kind']>, Rule>> = {
  url: urlFault,
  duration: isDuration,
  header: isHeaderName,
  count: isCount,
  rate: isRate,
  file: () => undefined,
};

const isOneOf = (words: readonly string[], value: string, { key }: Key): Fault | undefined => {
  if (words.includes(value)) return undefined;
  const close = nearest(value, words);
  return {
    why: `must be one of ${words.join(', ')}; got ${quoted(value)}${close === undefined ? '' : ` (did you mean ${close}?)`}`,
    tryThis: close === undefined ? `opsctl config unset ${key}` : `opsctl config set ${key} ${close}`,
  };
};

const faultOf = (key: Key, value: string): Fault | undefined => {
  if (value === '') return { why: 'must not be empty', tryThis: `opsctl config unset ${key.key}` };
  if (key.words !== undefined) return isOneOf(key.words, value, key);
  return key.kind === undefined ? undefined : rules[key.kind](value, key);
};

/** A value that was typed just now is a wrong argument. A secret is refused elsewhere and never repeated. Pure; throws a usage error. */
export const refuseWrongValue = (key: Key, value: string): void => {
  const fault = faultOf(key, value);
  if (fault === undefined) return;
  const { why, tryThis, code } = fault;
  throw new AppError('usage', `${key.key} ${why}`, {
    ...(code === undefined ? {} : { code }),
    problems: [problem(key.key, 'format', why)],
    tryThis: [tryThis],
  });
};
