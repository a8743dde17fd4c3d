export declare const nearestOf: (
  distance: (test: string, file: string) => number,
  tests: readonly string[],
  files: readonly string[],
) => string[];
