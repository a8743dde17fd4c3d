import type { Reach } from './reach.d.mts';

/** Paths of folders and files, by area. */
export declare const AREAS: Readonly<Record<string, readonly string[]>>;
export type Distance = (test: string, file: string) => number;
export declare const isUnitTest: (file: string) => boolean;
export declare const sceneFor: (
  file: string,
) => { readonly test: string; readonly pattern: string } | undefined;
export declare const makeTestHash: (root: string) => (test: string) => string;
export declare const makeMayReach: (root: string, files: readonly string[]) => (test: string) => boolean;
export declare const makeDistance: (root: string) => Distance;
export declare const nearestOf: (
  distance: Distance,
  tests: readonly string[],
  files: readonly string[],
  count?: number,
) => string[];
export declare const makeTestsFor: (
  distance: Distance,
  reach: Reach,
  tests: readonly string[],
  most?: number,
) => (at: { readonly file: string; readonly start: number }) => string[];
