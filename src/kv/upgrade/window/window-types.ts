import type { ImpactProbe } from './window.ts';
import type { Until } from './until.ts';

/** What is asked before each member is stopped, beside the guards. */
export type Window = {
  /** False: the run holds there. The signal takes the question back. */
  readonly confirmEach?: ((member: string, withdrawn: AbortSignal) => Promise<boolean>) | undefined;
  readonly until?: Until | undefined;
  readonly probes: readonly ImpactProbe[];
  /** How long all pauses before one member may take together. */
  readonly pauseAtMostMs: number;
  /** How long members took in earlier runs of this cluster. */
  readonly earlierMs: readonly number[];
};
