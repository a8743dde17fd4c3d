export type Failure = {
  readonly operation: string;
  /** Number of the history, or number of the effect at which the first process crashed. */
  readonly history: string;
  readonly broken: readonly string[];
  /** The command that repeats the history. */
  readonly again: string;
  readonly trace?: readonly string[];
};
export type Figures = {
  readonly seed: number;
  histories: number;
  /** Number of injections per fault. */
  readonly faults: Record<string, number>;
  /** Number of effects per operation in a run without faults. Each effect was a crash position. */
  readonly effects: Record<string, number>;
  readonly failures: Failure[];
};
