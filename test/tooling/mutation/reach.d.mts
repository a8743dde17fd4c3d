/** What one run of a test reached: for each file, its hash at that time and the numbers of its positions. */
export interface Measurement {
  hash: string;
  ms?: number;
  reached: Record<string, { hash: string; ids: number[] }>;
}
export declare const isMeasured: (
  stored: Measurement | undefined,
  hash: string,
  sources: ReadonlyMap<string, { hash: string }>,
) => boolean;
export type Position = { readonly file: string; readonly start: number };
export type Reach = {
  /** Tests that fail without a mutant. */
  readonly failed: readonly string[];
  readonly ms: (test: string) => number;
  /** Returns whether the position runs when its module is loaded. */
  readonly isLoaded: (at: Position) => boolean;
  readonly reachedBy: (at: Position) => readonly string[];
  readonly reachedIn: (file: string) => readonly string[];
};
export declare const takeReach: (parts: {
  readonly copy: string;
  readonly files: readonly string[];
  readonly tests: readonly string[];
  /** The file with the results of earlier runs. */
  readonly path: string;
  readonly hashTest: (test: string) => string;
}) => Promise<Reach>;
