/** Paths of folders and files, by area. */
export declare const AREAS: Readonly<Record<string, readonly string[]>>;
export declare const nearestOf: (
  distance: (test: string, file: string) => number,
  tests: readonly string[],
  files: readonly string[],
) => string[];
