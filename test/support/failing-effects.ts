/**
 * Every effect of an engine fails once: it rejects, hangs until the run is aborted, or is the last one of its process. A run in
 * `npm test` tries some of them by its seed, a soak all of them.
 */
import { expect } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import type { Host } from '../../src/platform/host.ts';
import { slice } from './slice.ts';
import { type Fault, type Traced, failures } from './trace.ts';

export type Ended =
  | { readonly kind: 'ended'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'died' };
/** An engine with its world, which outlives its process. */
export type Bed = {
  /** One process; the fault is in it. */
  start(signal: AbortSignal): { readonly traced: Traced; readonly result: Promise<unknown> };
  /** What did not hold, as sentences of the invariants. Nothing fails any more: it may run the engine again. */
  check(ended: Ended, trace: readonly string[]): Promise<readonly string[]> | readonly string[];
};
export type MakeBed = (fault: Fault | undefined) => Promise<Bed>;

/** As after Ctrl-C: the longest that an engine may need to notice it, in its own time. */
const NOTICES_WITHIN_MS = 60_000;
const interruption = (): AppError => new AppError('interrupted', 'interrupted');

type Run = { readonly broken: readonly string[]; readonly effects: readonly string[] };
/** One run with one fault; `broken` is what did not hold. */
const runWith = async (make: MakeBed, fault: Fault | undefined): Promise<Run> => {
  const bed = await make(fault);
  const stop = new AbortController();
  const { traced, result } = bed.start(stop.signal);
  let abortedAt = Number.POSITIVE_INFINITY;
  void traced.hung.then((host: Host) => {
    abortedAt = host.elapsed();
    stop.abort(interruption());
  });
  const ended = await Promise.race<Ended>([
    traced.died.then(() => ({ kind: 'died' })),
    result.then(
      (value) => ({ kind: 'ended', value }),
      (error: unknown) => ({ kind: 'failed', error }),
    ),
  ]);
  const tookMs = traced.host.elapsed() - abortedAt;
  const late = tookMs > NOTICES_WITHIN_MS ? [`the run ended ${tookMs} ms after it was interrupted`] : [];
  return { broken: [...late, ...(await bed.check(ended, traced.entries))], effects: traced.effects };
};

/** Names the faults of which some invariant does not hold. `count`: how many are tried outside a soak, by the seed of the run unless one is given. */
export const expectEachEffectMayFail = async (make: MakeBed, count: number, seed?: number): Promise<void> => {
  const { broken, effects: names } = await runWith(make, undefined);
  expect(broken, 'without a fault').toEqual([]);
  expect(names.length).toBeGreaterThan(0);
  const faults = names.flatMap((_, i) => failures.map((failure): Fault => ({ effect: i + 1, failure })));
  // A stride, so that the slice is from the whole run.
  const stride = Math.max(1, Math.floor(faults.length / count));
  const spread = faults
    .map((fault, i) => ({ fault, order: (i % stride) * faults.length + i }))
    .sort((a, b) => a.order - b.order)
    .map(({ fault }) => fault);
  const found: string[] = [];
  for (const fault of slice(spread, count, seed === undefined ? {} : { seed }))
    for (const sentence of (await runWith(make, fault)).broken)
      found.push(`${fault.failure} effect ${fault.effect} (${names[fault.effect - 1]}): ${sentence}`);
  expect(found).toEqual([]);
};
