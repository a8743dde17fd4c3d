import { mebibytes } from '../guards/guard.ts';
import type { Detail } from '../run.ts';

/** `took_ms: 22` → `took 22 ms`; `size_bytes` and `_seconds` likewise; a flag is its name, or `not` and its name. */
const word = (key: string, value: unknown): string => {
  const name = (unit: string): string => key.slice(0, key.length - unit.length).replaceAll('_', ' ');
  if (typeof value === 'boolean') return `${value ? '' : 'not '}${name('')}`;
  if (typeof value !== 'number')
    return `${name('')} ${Array.isArray(value) ? value.join(', ') : String(value)}`;
  // What a stop measures: from the signal until the process was gone.
  if (key === 'took_ms') return `its process ended after ${value} ms`;
  if (key.endsWith('_ms')) return `${name('_ms')} ${value} ms`;
  if (key.endsWith('_seconds')) return `${name('_seconds')} ${value} s`;
  if (key.endsWith('_bytes')) return mebibytes(value);
  return `${name('')} ${value}`;
};

/** What a step did, in a few words for people; undefined when there is nothing to say. */
export const detailText = (detail: Detail | undefined): string | undefined => {
  const words = Object.entries(detail ?? {}).flatMap(([key, value]) =>
    value === undefined ? [] : [word(key, value)],
  );
  return words.length === 0 ? undefined : words.join(', ');
};
