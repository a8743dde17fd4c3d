/** `at`: where the mark of the place goes; `isValue`: a value stands there, not statements. */
export type Place = {
  readonly start: number;
  readonly end: number;
  readonly at: number;
  readonly isValue: boolean;
};
export declare const placesOf: (source: string) => readonly Place[];
export declare const marked: (source: string, markOf: (index: number) => string) => string;
