import type { EffectMutant } from './effects.mjs';

export type Equivalent = {
  readonly file: string;
  readonly kind: string;
  readonly text: string;
  readonly reason: string;
};
export declare const EQUIVALENT: readonly Equivalent[];
export declare const MOST_EQUIVALENT: number;
export declare const isEquivalent: (
  mutant: EffectMutant & { readonly file: string; readonly source: string },
) => boolean;
