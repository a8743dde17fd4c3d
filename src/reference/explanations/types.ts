import type { Category } from '../../core/problem.ts';

/** Possible causes, the fix, and a command or file line that applies the fix. */
export type Explanation = {
  readonly causes: readonly string[];
  readonly fix: string;
  readonly example: string;
};
/** An error code. The category decides the exit code. */
export type ErrorExplanation = Explanation & { readonly category: Category; readonly meaning: string };
/** A preflight check. */
export type GuardExplanation = Explanation & { readonly meaning: string; readonly reason: string };
/** A setting. */
export type SettingExplanation = { readonly effect: string; readonly example: string };
