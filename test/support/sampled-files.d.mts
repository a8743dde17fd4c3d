export type Group = { readonly why: string; readonly of: number; readonly files: readonly string[] };
export const groups: readonly Group[];
export function filesLeftOut(seed: string, from?: readonly Group[]): string[];
