import { pathPattern } from './path-pattern.ts';
import { bodyText } from './noted-body.ts';
import type { Noted } from './noted.ts';
import { isRecord } from '../core/shape.ts';

/** Which requests are meant; absent members match any. */
export type RequestQuery = {
  readonly method?: string;
  /** A path with `*` and `**`. */
  readonly path?: string;
  readonly status?: number;
  readonly service?: string;
  /** The tracker token it was sent with. */
  readonly token?: string;
  /** JSON: the body must contain it (objects may have more members). Other text: the body must contain it. */
  readonly body?: string;
};

/** `unknown`: the body was too large to be kept, so nobody can say. */
export type Verdict = 'match' | 'other' | 'unknown';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** Whether `value` has everything that `part` has: objects member by member, lists entry by entry. */
export const contains = (value: unknown, part: unknown): boolean => {
  if (Array.isArray(part))
    return (
      Array.isArray(value) && part.length === value.length && part.every((one, i) => contains(value[i], one))
    );
  if (!isRecord(part)) return Object.is(value, part);
  return isRecord(value) && Object.keys(part).every((key) => key in value && contains(value[key], part[key]));
};

const bodyVerdict = (noted: Noted, wanted: string): Verdict => {
  const text = bodyText(noted);
  if (text === undefined) return noted.bodyBytes === undefined ? 'other' : 'unknown';
  const part = parsed(wanted);
  const isFound = part === undefined ? text.includes(wanted) : contains(parsed(text), part);
  return isFound ? 'match' : 'other';
};

/** Decides for one request after another whether the query means it. */
export const requestMatcher = (query: RequestQuery): ((noted: Noted) => Verdict) => {
  const pattern = query.path === undefined ? undefined : pathPattern(query.path);
  const method = query.method?.toUpperCase();
  const isMeant = (noted: Noted): boolean =>
    (method === undefined || noted.method === method) &&
    (pattern === undefined || pattern.test(noted.path)) &&
    (query.status === undefined || noted.status === query.status) &&
    (query.service === undefined || noted.service === query.service) &&
    (query.token === undefined || noted.headers['tracker-token'] === query.token);
  return (noted) => {
    if (!isMeant(noted)) return 'other';
    return query.body === undefined ? 'match' : bodyVerdict(noted, query.body);
  };
};
