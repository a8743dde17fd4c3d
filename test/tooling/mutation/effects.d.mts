import type { Change } from '../syntax.d.mts';

export type EffectMutant = Change & { readonly kind: string };
export declare const effectMutantsOf: (source: string) => EffectMutant[];
