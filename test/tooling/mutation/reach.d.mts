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
