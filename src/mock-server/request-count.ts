import { invalidArguments, problem } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import type { FoundRequests } from './request-log.ts';

/** How many requests are expected; both ends are included. */
export type Expectation = { readonly min: number; readonly max: number };

const POLL_MS = 50;

/** `2` is exactly two, `1+` at least one, `1-3` one to three. */
export const expectationFrom = (text: string | undefined): Expectation | undefined => {
  const [, from, mark] = /^(\d+)(\+|-\d+)?$/.exec(text ?? '') ?? [];
  if (from === undefined) return undefined;
  const min = Number(from);
  const max = mark === undefined ? min : mark === '+' ? Number.POSITIVE_INFINITY : Number(mark.slice(1));
  if (max < min)
    throw invalidArguments([
      problem('--expect', 'format', `must be a range from the smaller to the larger number; got ${text}`),
    ]);
  return { min, max };
};

const isWithin = (count: number, { min, max }: Expectation): boolean => count >= min && count <= max;

/** Asks until the expectation is met, can no longer be met, or `waitMs` have passed. */
export const awaitCount = async (
  host: Host,
  ask: () => Promise<FoundRequests>,
  expected: Expectation | undefined,
  waitMs: number,
  signal: AbortSignal,
): Promise<FoundRequests> => {
  const until = host.elapsed() + waitMs;
  for (;;) {
    const found = await ask();
    const isSettled = expected === undefined || found.matched >= Math.max(1, expected.min);
    if (isSettled || host.elapsed() >= until) return found;
    await host.sleep(POLL_MS, signal);
  }
};

const rangeText = ({ min, max }: Expectation): string => {
  if (min === max) return String(min);
  return max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`;
};

/** Whether the count proves the expectation; a count that may be incomplete proves only a minimum. */
export const judge = (
  { matched, forgotten, bodies_not_kept: unkept }: FoundRequests,
  expected: Expectation | undefined,
): { readonly isMet: boolean; readonly message: string | undefined; readonly doubts: readonly string[] } => {
  const doubts = [
    ...(forgotten === 0
      ? []
      : [`the log no longer holds the first ${forgotten} requests; clear it before a test`]),
    ...(unkept === 0
      ? []
      : [`${unkept} requests may match: their bodies are larger than 4 KiB and were not kept`]),
  ];
  if (expected === undefined) return { isMet: true, message: undefined, doubts };
  const isProven = doubts.length === 0 || expected.max === Number.POSITIVE_INFINITY;
  const isMet = isWithin(matched, expected) && isProven;
  const requests = matched === 1 ? 'request matches' : 'requests match';
  return { isMet, doubts, message: `${matched} ${requests}; expected ${rangeText(expected)}` };
};
