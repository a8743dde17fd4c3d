/** `04:00`, `04:00 Europe/Berlin`, `04:00Z`, `04:00+02:00`, or an RFC 3339 time. */
const clockPattern = /^([01]?\d|2[0-3]):([0-5]\d)\s*(Z|[+-]\d\d:\d\d|[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*)?$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const dayMs = 86_400_000;

const isZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};

/** How far a zone's clock is from UTC at that moment. */
const offsetMs = (at: number, zone: string): number => {
  const fixed = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null)
    return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  if (zone === 'Z') return 0;
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at);
  const number = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(
    number('year'),
    number('month') - 1,
    number('day'),
    number('hour'),
    number('minute'),
    number('second'),
  );
  return local - Math.floor(at / 1000) * 1000;
};

/** The next moment after `nowMs` at which the clock of that zone shows the time; in a night with a changed clock, the first such moment. */
const nextClock = (nowMs: number, hour: number, minute: number, zone: string): number => {
  const localNow = nowMs + offsetMs(nowMs, zone);
  const midnight = Math.floor(localNow / dayMs) * dayMs;
  for (let day = 0; ; day += 1) {
    const local = midnight + day * dayMs + (hour * 60 + minute) * 60_000;
    // The offset that holds then, not now: two steps find it, as it changes at most once in a night.
    const at = local - offsetMs(local - offsetMs(local, zone), zone);
    if (at > nowMs) return at;
  }
};

export type Until = {
  readonly atMs: number;
  readonly zone: string /** As it was typed. */;
  readonly text: string;
};

/** The end of a window; a sentence about what is wrong with the text otherwise. Pure. */
export const parseUntil = (text: string, nowMs: number, localZone: string): Until | string => {
  const trimmed = text.trim();
  if (timePattern.test(trimmed)) {
    const atMs = Date.parse(trimmed);
    if (Number.isNaN(atMs)) return 'is not a time';
    return atMs > nowMs ? { atMs, zone: 'Z', text: trimmed } : 'is in the past';
  }
  const found = clockPattern.exec(trimmed);
  if (found === null) return 'must be HH:MM, HH:MM ZONE or an RFC 3339 time';
  const zone = found[3] ?? localZone;
  const isFixed = zone === 'Z' || /^[+-]/.test(zone);
  if (!isFixed && !isZone(zone)) return `names no known time zone: ${zone}`;
  return { atMs: nextClock(nowMs, Number(found[1]), Number(found[2]), zone), zone, text: trimmed };
};

/** `04:00 (Europe/Berlin)`, as its clock shows it. Pure. */
export const untilText = ({ atMs, zone }: Pick<Until, 'atMs' | 'zone'>): string =>
  `${new Date(atMs + offsetMs(atMs, zone)).toISOString().slice(11, 16)} (${zone === 'Z' ? 'UTC' : zone})`;
