import { AppError, problem } from './problem.ts';

const UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Timers of the platform hold 32 bits of milliseconds: a longer one would end at once. */
export const longestMs = 2 ** 31 - 1;

/** `90s`, `1h30m`, `500ms`, or a bare number of seconds, as milliseconds; undefined for anything else. */
export const durationMs = (text: string): number | undefined => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) return undefined;
  return parts.reduce((sum, part) => sum + Number(part[1]) * (UNIT[part[2] ?? ''] ?? 0), 0);
};

/** The same for a text that must be one. `longest` is for spans that no timer waits for. Throws a usage error that names where it came from. */
export const parseDuration = (text: string, from?: string, longest = longestMs): number => {
  const ms = durationMs(text);
  if (ms !== undefined && ms <= longest) return ms;
  const why =
    ms === undefined ? 'is not a duration' : `is longer than ${Math.floor(longest / 86_400_000)} days`;
  throw new AppError('usage', `${from === undefined ? '' : `${from}: `}${JSON.stringify(text)} ${why}`, {
    ...(from === undefined
      ? {}
      : { problems: [problem(from, 'format', `${why}; got ${JSON.stringify(text)}`)] }),
    tryThis: ['write it like 30s, 5m, 1h30m or 500ms'],
  });
};

/** A time span as people read it: `320 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export const durationText = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
};

/** `2026-03-31 12:00:05 UTC`. */
export const momentText = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
