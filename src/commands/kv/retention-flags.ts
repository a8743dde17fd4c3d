import type { Flags, ValuesOf } from '../../cli/command.ts';
import { parseDuration } from '../../core/duration.ts';
import { int, str } from '../../core/field.ts';
import type { Retention } from '../../kv/snapshots/catalog.ts';

const count = (summary: string) => ({ field: int({ min: 1, max: 10_000 }), summary, value: 'n' }) as const;

export const retentionFlags = {
  'keep-last': count('Keep the newest n snapshots'),
  'keep-daily': count('Keep the newest of each of the last n days (UTC) that have one'),
  'keep-weekly': count('Keep the newest of each of the last n weeks (UTC) that have one'),
  'max-age': {
    field: str(32, { min: 1 }),
    summary: 'Keep nothing older, like 90d; the newest verified snapshot stays all the same',
    value: 'duration',
  },
} as const satisfies Flags;

export type RetentionValues = ValuesOf<typeof retentionFlags>;

const longestAgeMs = 100 * 366 * 86_400_000;

/** Undefined without any of the flags: then nothing is pruned. */
export const retentionOf = (values: RetentionValues): Retention | undefined => {
  const names = ['keep-last', 'keep-daily', 'keep-weekly', 'max-age'] as const;
  if (names.every((name) => values[name] === undefined)) return undefined;
  const age = values['max-age'];
  return {
    keepLast: values['keep-last'],
    keepDaily: values['keep-daily'],
    keepWeekly: values['keep-weekly'],
    ...(age === undefined ? {} : { maxAgeMs: parseDuration(age, '--max-age', longestAgeMs) }),
  };
};
