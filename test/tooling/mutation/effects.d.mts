export type EffectMutant = {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
};
export declare const effectMutantsOf: (source: string) => EffectMutant[];
