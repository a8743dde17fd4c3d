import { durationMs } from '../../core/duration.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;

/** How often snapshots are taken, where a calendar can say it: so many minutes or hours that divide a whole, or a day. */
export type Calendar = { readonly cron: string; readonly systemd: string };

const pad = (n: number): string => String(n).padStart(2, '0');
/** A name always begins at the same minute, and different names at different ones: many clusters do not begin at once. */
const minuteOf = (name: string): number =>
  [...name].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 60, 7);

/** Cron and systemd calendars begin anew with each hour or day: a time that does not divide it would drift. Undefined for such a one. Pure. */
export const calendarOf = (everyMs: number, name: string): Calendar | undefined => {
  const minute = minuteOf(name);
  if (everyMs >= 5 * minuteMs && everyMs < hourMs && hourMs % everyMs === 0 && everyMs % minuteMs === 0) {
    const step = everyMs / minuteMs;
    return { cron: `*/${step} * * * *`, systemd: `*:00/${step}:00` };
  }
  if (everyMs === dayMs) return { cron: `${minute} 2 * * *`, systemd: `*-*-* 02:${pad(minute)}:00` };
  if (everyMs >= hourMs && everyMs < dayMs && dayMs % everyMs === 0 && everyMs % hourMs === 0) {
    const step = everyMs / hourMs;
    return { cron: `${minute} */${step} * * *`, systemd: `*-*-* 00/${step}:${pad(minute)}:00` };
  }
  return undefined;
};

const leastEveryMs = 5 * minuteMs;

/** The problem with a value of --every, as a sentence; undefined when it can be used. Pure. */
export const everyProblem = (text: string): string | undefined => {
  const ms = durationMs(text);
  if (ms === undefined) return 'is not a duration';
  return ms < leastEveryMs ? 'must be at least 5 minutes' : undefined;
};
