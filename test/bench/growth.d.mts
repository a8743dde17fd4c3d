type Growth = { readonly exponent: number; readonly isOver: boolean; readonly text: string };
export const MOST_GROWTH: number;
export const exponentOf: (points: readonly (readonly [size: number, cost: number])[]) => number;
export const growthOf: (
  points: readonly (readonly [size: number, cost: number])[],
  options?: { readonly base?: number; readonly limit?: number; readonly noise?: number },
) => Growth;
export const exceed: (
  figure?: { readonly isTime?: boolean },
  env?: Readonly<Record<string, string | undefined>>,
) => void;
export const printGrowth: (
  name: string,
  points: readonly (readonly [size: number, cost: number])[],
  options?: { readonly isTime?: boolean; readonly base?: number; readonly limit?: number },
) => void;
