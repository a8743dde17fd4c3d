export type Failure = {
  readonly operation: string;
  /** Number of the history, or the effect at which the first process died. */
  readonly history: string;
  readonly broken: readonly string[];
  /** What repeats it. */
  readonly again: string;
  readonly trace?: readonly string[];
};
export type Figures = {
  readonly seed: number;
  histories: number;
  /** How often each fault was injected. */
  readonly faults: Record<string, number>;
  /** Operation → effects of a run that nothing disturbs, each of which was a place of a crash. */
  readonly effects: Record<string, number>;
  readonly failures: Failure[];
};
