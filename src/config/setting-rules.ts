import { durationMs, longestMs } from '../core/format.ts';
import { isHeaderName, isHeaderValue } from '../core/http-header.ts';
import { AppError, problem } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import { type Key, keyNamed } from './keys.ts';
import { urlFault } from './resolve-target.ts';
import type { Setting, Settings } from './settings.ts';

/** The problem of a value, as a phrase to put after the name of its setting, and a correct value. */
export type Fault = { readonly why: string; readonly tryThis: string; readonly code?: string };
type Rule = (value: string, key: Key) => Fault | undefined;
const quoteText = (value: string): string => JSON.stringify(value);
const isDuration: Rule = (value) => {
  const ms = durationMs(value);
  if (ms === undefined)
    return { why: `is not a duration: ${quoteText(value)}`, tryThis: 'write it like 30s or 5m' };
  return ms > 0 && ms <= longestMs
    ? undefined
    : {
        why: `must be longer than 0 and at most 24 days; got ${quoteText(value)}`,
        tryThis: 'write it like 30s or 5m',
      };
};
const isName: Rule = (value) =>
  isHeaderName(value)
    ? undefined
    : { why: `is not a header name: ${quoteText(value)}`, tryThis: 'write it like X-Api-Token' };
/** A token travels in a header. The message does not repeat it. */
const isToken: Rule = (value, { key, env }) =>
  isHeaderValue(value)
    ? undefined
    : {
        why: 'must not contain line ends or characters beyond Latin-1',
        tryThis: env === undefined ? `opsctl config set ${key} --stdin` : `unset ${env}`,
      };
const isCount: Rule = (value) =>
  /^[1-9]\d{0,5}$/.test(value)
    ? undefined
    : { why: `must be a whole number from 1; got ${quoteText(value)}`, tryThis: 'write it like 10' };
const isRate: Rule = (value, key) =>
  value === 'off' || isCount(value, key) === undefined
    ? undefined
    : { why: `must be a whole number from 1, or off; got ${quoteText(value)}`, tryThis: 'write it like 195' };
const rules: Readonly<Record<NonNullable<Key['kind']>, Rule>> = {
  url: urlFault,
  duration: isDuration,
  header: isName,
  token: isToken,
  count: isCount,
  rate: isRate,
  file: () => undefined,
};
const isOneOf = (words: readonly string[], value: string, { key }: Key): Fault | undefined => {
  if (words.includes(value)) return undefined;
  const close = nearest(value, words);
  return {
    why: `must be one of ${words.join(', ')}; got ${quoteText(value)}${close === undefined ? '' : ` (did you mean ${close}?)`}`,
    tryThis: close === undefined ? `opsctl config unset ${key}` : `opsctl config set ${key} ${close}`,
  };
};
/** Returns the problem of a setting's value; undefined if the value is valid. Pure. */
export const faultOf = (key: Key, value: string): Fault | undefined => {
  if (value === '') return { why: 'must not be empty', tryThis: `opsctl config unset ${key.key}` };
  if (key.words !== undefined) return isOneOf(key.words, value, key);
  return key.kind === undefined ? undefined : rules[key.kind](value, key);
};

/** Keys whose readers check the value and have their own error codes. */
const checkedByReader = new Set([
  'tracker.url',
  'labels.url',
  'timeout',
  'max_time',
  'rate_per_minute',
  'mock',
]);
/** Throws if a setting that a command reads has a value that it cannot have. The message names its origin. */
const assertUsable = (setting: Setting): void => {
  const key = keyNamed(setting.key);
  if (key === undefined || setting.origin === 'default' || checkedByReader.has(key.key)) return;
  const fault = faultOf(key, setting.value);
  if (fault === undefined) return;
  const [, name = setting.key] = /^(?:environment|flag) (.+)$/.exec(setting.origin) ?? [];
  throw new AppError('config', `${setting.key} (${setting.origin}) ${fault.why}`, {
    code: fault.code ?? 'SETTING_VALUE',
    problems: [problem(name, 'format', fault.why)],
    tryThis: [fault.tryThis],
  });
};
/** The same settings; reading one with a wrong value is an error before a request is sent. */
export const checkedSettings = (settings: Settings): Settings => ({
  ...settings,
  get: (key) => {
    const found = settings.get(key);
    if (found !== undefined) assertUsable(found);
    return found;
  },
});
