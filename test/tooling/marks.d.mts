/** A position that a run can reach. `at` is the offset of its mark; `isValue` is true for a value and false for statements. */
export type Place = {
  readonly start: number;
  readonly end: number;
  readonly at: number;
  readonly isValue: boolean;
};
export declare const placesOf: (source: string) => readonly Place[];
export declare const marked: (source: string, markOf: (index: number) => string) => string;
