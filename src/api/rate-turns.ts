/** spec/tracker#limits: the service refuses from the 200th request in 60 s on; the default of opsctl is 195. */
export const WINDOW_MS = 60_000;
/** How soon to look again at requests whose end is not known. */
const LOOK_AGAIN_MS = 250;

export type Line =
  /** Asks for a place: the place in the file is the place in the queue. */
  | { readonly kind: 'ticket'; readonly atMs: number; readonly id: string }
  /** The head of its answer has arrived, so the service has counted it at this time or before; one window later where none came. */
  | { readonly kind: 'done'; readonly atMs: number; readonly id: string }
  /** Nothing was sent and nothing will be. */
  | { readonly kind: 'dropped'; readonly atMs: number; readonly id: string }
  | { readonly kind: 'blocked'; readonly untilMs: number }
  | { readonly kind: 'open'; readonly untilMs: number };

const withId = { t: 'ticket', d: 'done', x: 'dropped' } as const;

/** Lines are `t|d|x <ms> <id>`, `b <ms>` (nobody before then) and `o <ms>` (everybody until then). Torn lines are left out. */
export const parseLines = (text: string): Line[] =>
  text.split('\n').flatMap((line): Line[] => {
    const [word = '', ms, id] = line.split(' ');
    const at = Number(ms);
    if (!Number.isFinite(at) || ms === undefined) return [];
    if (word === 'b') return [{ kind: 'blocked', untilMs: at }];
    if (word === 'o') return [{ kind: 'open', untilMs: at }];
    const kind = Object.hasOwn(withId, word) ? withId[word as keyof typeof withId] : undefined;
    return kind === undefined || id === undefined ? [] : [{ kind, atMs: at, id }];
  });

export type Rule = {
  readonly limit: number;
  readonly windowMs: number;
  /** Whether the process of a ticket may still send, or wait for an answer. */
  readonly isAlive: (id: string) => boolean;
};

/** When the places of the requests that have ended are free again. */
const endsOf = (lines: readonly Line[], windowMs: number): ReadonlyMap<string, number> => {
  const ended = new Map<string, number>();
  for (const line of lines) {
    if (line.kind === 'done') ended.set(line.id, line.atMs + windowMs);
    if (line.kind === 'dropped') ended.set(line.id, 0);
  }
  return ended;
};

/** When the place of each ticket ahead is free again; unknown while its request is under way. */
const releases = (lines: readonly Line[], id: string, { windowMs, isAlive }: Rule): number[] => {
  const ended = endsOf(lines, windowMs);
  const found: number[] = [];
  let openUntil = 0;
  for (const line of lines) {
    if (line.kind === 'open') openUntil = line.untilMs;
    if (line.kind !== 'ticket') continue;
    if (line.id === id) return found;
    if (line.atMs < openUntil) continue;
    // A process that died may have sent its request; it cannot have sent it later than it lived.
    found.push(
      ended.get(line.id) ?? (isAlive(line.id) ? Number.POSITIVE_INFINITY : line.atMs + 2 * windowMs),
    );
  }
  return [];
};

const isPassedByOpening = (lines: readonly Line[], id: string): boolean => {
  let openUntil = 0;
  for (const line of lines) {
    if (line.kind === 'open') openUntil = line.untilMs;
    if (line.kind === 'ticket' && line.id === id) return line.atMs < openUntil;
  }
  return false;
};

/**
 * When this ticket may be used; in the future: when to look again. The service counts a request between its departure and its
 * answer, so a place is free one window after the answer and not before. Of all requests in one window the last that was
 * admitted found fewer than `limit` of them under way or ended within a window: never more than `limit` are seen. Pure.
 */
export const turnOf = (lines: readonly Line[], id: string, nowMs: number, rule: Rule): number => {
  const blocked = Math.max(0, ...lines.map((line) => (line.kind === 'blocked' ? line.untilMs : 0)));
  if (isPassedByOpening(lines, id)) return Math.max(nowMs, blocked);
  const held = releases(lines, id, rule).filter((at) => at > nowMs);
  const excess = held.length - (rule.limit - 1);
  if (excess <= 0) return Math.max(nowMs, blocked);
  const at = held.sort((a, b) => a - b)[excess - 1] ?? nowMs;
  return Math.max(at === Number.POSITIVE_INFINITY ? nowMs + LOOK_AGAIN_MS : at, blocked);
};
