import { durationMs, longestMs } from './duration.ts';
import type { Format } from './field.ts';

type Rule = { readonly says: string; readonly hint?: string; holds(text: string): boolean };
const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const DATETIME =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$/;
const isDate = (text: string): boolean =>
  DATE.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
const matches = (pattern: RegExp) => (text: string) => pattern.test(text);

/** spec/tracker#values; spec/tracker#values for the patterns. */
export const formats: Readonly<Record<Format, Rule>> = {
  color: {
    says: 'must be a hexadecimal colour such as #1a2b3c',
    hint: 'names like red are not accepted',
    holds: matches(/^#[0-9a-fA-F]{6}$/),
  },
  date: { says: 'must be a date such as 2026-03-31', holds: isDate },
  datetime: {
    says: 'must be an ISO 8601 date and time such as 2026-03-31T12:30:00Z',
    holds: (text) => {
      const day = DATETIME.exec(text)?.[1];
      // Its year in UTC must have four digits too: an offset can leave the years 0000 to 9999.
      return day !== undefined && isDate(day) && /^\d/.test(new Date(text).toISOString());
    },
  },
  uuid: {
    says: 'must be a 36-character identifier such as 12345678-9012-3456-7890-123456789012',
    holds: matches(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/),
  },
  url: { says: 'must be a URL that starts with http:// or https://', holds: matches(/^https?:\/\/[^\s]+$/) },
  email: { says: 'must be an e-mail address', holds: matches(/^[^\s@]+@[^\s@]+$/) },
  int64: { says: 'must be a whole number written as text', holds: matches(/^-?\d{1,19}$/) },
  byte: {
    says: 'must be base64',
    holds: matches(/^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,4}={0,2})?$/),
  },
  fieldmask: {
    says: 'must be a comma-separated list of fields',
    holds: matches(/^(\*|[A-Za-z0-9_.]+(,[A-Za-z0-9_.]+)*)?$/),
  },
  duration: {
    says: 'must be a duration of at most 24 days',
    hint: 'write it like 30s, 5m, 1h30m or 500ms',
    holds: (text) => (durationMs(text) ?? Number.POSITIVE_INFINITY) <= longestMs,
  },
};

/** A day where a person gives a time is its first moment in UTC: `--deadline 2026-12-31`. */
export const momentOf = (text: string): string => (formats.date.holds(text) ? `${text}T00:00:00Z` : text);
