/**
 * What a test proves. `npm test` reads the marks in the report of its run and requires a test that ran and passed for
 * each statement, defect, setting, guard, limit and exit code (`test/tooling/covered.mjs`).
 */
import { TestRunner } from 'vitest';
import type { exitCodes } from '../../src/core/problem.ts';
import type { limits } from '../../src/core/limits.ts';

export type Mark =
  | `spec/${string}#${string}`
  | `defect/${string}`
  | `setting/${string}`
  | `guard/${string}`
  | `limit/${keyof typeof limits}`
  | `exit/${keyof typeof exitCodes}`;

declare module 'vitest' {
  interface TaskMeta {
    /** The marks that the test proves. */
    holds?: readonly Mark[];
    /** The marks that some test of the whole run must prove. Only the list of the product sets them. */
    requires?: readonly string[];
    /** Optional marks that a test may prove. */
    knows?: readonly string[];
  }
}

/** Returns the options of a test or a suite: `test('title', covers('setting/tracker.url'), () => …)`. */
export const covers = (
  ...holds: readonly Mark[]
): { readonly meta: { readonly holds: readonly Mark[] } } => ({
  meta: { holds },
});

/** Adds marks for one row of a table. Call it in the test. */
export const markTest = (...marks: readonly Mark[]): void => {
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta === undefined) throw new Error('markTest was called outside a test');
  meta.holds = [...(meta.holds ?? []), ...marks];
};
