import type { Fields, NumberField, StringField } from '../../core/field.ts';
import { systemQuery } from '../../api-specs/labels/system.ts';
import { type Violation, LabelError, invalid } from './errors.ts';
import { type Selection, selectionFrom } from './partial.ts';
import { camel } from './proto-json.ts';

/** spec/labels#parameters "system parameters": every method takes them. */
export type System = {
  readonly fields?: Selection;
  readonly isPretty: boolean;
  readonly callback?: string;
  readonly token?: string;
};
const systemNames = Object.keys(systemQuery);
const LANGUAGE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;

const readBoolean = (name: string, text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw invalid(name, `must be true or false, got "${text}"`);
  return text === 'true';
};

/** Splits a query into system parameters and those of the method. `$fields` and the like name the same as without `$`. */
const split = (query: string): { system: Map<string, string>; own: [string, string][] } => {
  const system = new Map<string, string>();
  const own: [string, string][] = [];
  for (const [given, value] of new URLSearchParams(query)) {
    const name = given.startsWith('$') && systemNames.includes(given.slice(1)) ? given.slice(1) : given;
    if (!systemNames.includes(name)) own.push([given, value]);
    else if (system.has(name)) throw invalid(name, 'is given more than once');
    else system.set(name, value);
  }
  return { system, own };
};

export const systemFrom = (query: string): System => {
  const { system } = split(query);
  const alt = system.get('alt') ?? 'json';
  if (!['json', 'media'].includes(alt))
    throw invalid('alt', `must be json or media, got "${alt}"; protocol buffers are not served here`);
  const xgafv = system.get('$.xgafv');
  if (xgafv !== undefined && xgafv !== '1' && xgafv !== '2')
    throw invalid('$.xgafv', `must be 1 or 2, got "${xgafv}"`);
  if ((system.get('quotaUser') ?? '').length > 40)
    throw invalid('quotaUser', 'must have at most 40 characters');
  const callback = system.get('callback');
  if (callback !== undefined && !/^[\w$.]{1,100}$/.test(callback))
    throw invalid('callback', 'must be the name of a function');
  const fields = system.get('fields');
  return {
    ...(fields === undefined || fields === '' ? {} : { fields: selectionFrom(fields) }),
    isPretty: readBoolean('prettyPrint', system.get('prettyPrint') ?? 'true'),
    callback,
    token: system.get('access_token') ?? system.get('oauth_token'),
  };
};

const readOne = (field: Fields[string], name: string, text: string, bad: Violation[]): unknown => {
  const refuse = (type: string) =>
    bad.push({ field: name, description: `Invalid value at '${name}' (${type}), "${text}"` });
  if (field?.type === 'boolean') {
    if (text !== 'true' && text !== 'false') refuse('TYPE_BOOL');
    return text === 'true';
  }
  if (field?.type === 'integer') {
    const number = Number(text);
    if (!/^-?\d+$/.test(text) || Math.abs(number) > 2147483647) refuse('TYPE_INT32');
    else if (number < ((field as NumberField).min ?? number))
      bad.push({ field: name, description: `${name} must not be negative, got ${text}` });
    return number;
  }
  const words = (field as StringField).enum;
  if (words !== undefined && !words.includes(text)) refuse('TYPE_ENUM');
  if (name === 'languageCode' && text !== '' && !LANGUAGE.test(text))
    bad.push({ field: name, description: `"${text}" is not a BCP-47 tag` });
  return text;
};

/** The method's own parameters, with defaults; an unknown one, a repeated one or a bad value is 400 (spec/labels#errors). */
export const queryFrom = (fields: Fields, query: string): Record<string, unknown> => {
  const bad: Violation[] = [];
  const values: Record<string, unknown> = {};
  for (const [given, text] of split(query).own) {
    const name = Object.hasOwn(fields, given) ? given : camel(given);
    if (!Object.hasOwn(fields, name)) {
      const description = `Invalid JSON payload received. Unknown name "${given}": Cannot bind query parameter. Field '${given}' could not be found in request message.`;
      bad.push({ field: given, description });
    } else if (values[name] !== undefined)
      bad.push({ field: name, description: `Multiple values provided for non-repeated field '${name}'.` });
    else values[name] = readOne(fields[name] as Fields[string], name, text, bad);
  }
  if (bad.length > 0) {
    throw new LabelError('INVALID_ARGUMENT', bad.map((b) => b.description).join('\n'), {
      reason: 'INVALID_QUERY',
      fields: bad,
    });
  }
  for (const [name, field] of Object.entries(fields))
    if (values[name] === undefined && field.default !== undefined) values[name] = field.default;
  return values;
};

export const refuseWrongLanguage = (language: unknown): void => {
  if (typeof language === 'string' && language !== '' && !LANGUAGE.test(language))
    throw invalid('languageCode', `"${language}" is not a BCP-47 tag`);
};
