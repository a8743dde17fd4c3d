import type { SourceChange } from './build.mjs';

export type Bug = SourceChange & { readonly name: string; readonly operation: string };
export const WITHIN: number;
export const bugs: readonly Bug[];
export function huntFor(
  bug: Bug,
  seed: string,
  histories: number,
): Promise<{ readonly played: number; readonly broken?: string }>;
