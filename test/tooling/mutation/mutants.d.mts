import type { Change } from '../syntax.d.mts';

export declare const mutantsOf: (source: string) => readonly Change[];
export declare const generator: (seed: number) => () => number;
