/**
 * Every effect of an engine fails once: it rejects, hangs until the run is aborted, or is the last effect of its process.
 * A run in `npm test` tries some of the effects, selected by its seed. A soak tries all of them.
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
/** An engine with its world, which exists longer than the process of the engine. */
export type Bed = {
  /** Starts one process with the fault. */
  start(signal: AbortSignal): { readonly traced: Traced; readonly result: Promise<unknown> };
  /** Returns the violated invariants as sentences. The fault no longer applies, so the check may run the engine again. */
  check(ended: Ended, trace: readonly string[]): Promise<readonly string[]> | readonly string[];
};
export type MakeBed = (fault: Fault | undefined) => Promise<Bed>;

/** Maximum time in which an engine must react to an interruption, such as Ctrl-C, measured by the clock of the engine. */
const NOTICES_WITHIN_MS = 60_000;
const interruption = (): AppError => new AppError('interrupted', 'interrupted');

type Run = { readonly broken: readonly string[]; readonly effects: readonly string[] };
/** Runs the engine with at most one fault. `broken` lists the violated invariants. */
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

/**
 * Reports the faults that violate an invariant. `count` is the number of faults to try outside a soak. The seed of the run
 * selects them unless `seed` is set.
 */
export const expectEachEffectMayFail = async (make: MakeBed, count: number, seed?: number): Promise<void> => {
  const { broken, effects: names } = await runWith(make, undefined);
  expect(broken, 'without a fault').toEqual([]);
  expect(names.length).toBeGreaterThan(0);
  const faults = names.flatMap((_, i) => failures.map((failure): Fault => ({ effect: i + 1, failure })));
  // A stride distributes the slice over the whole run.
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
