import { exitCodes } from '../core/exit.ts';

/** `opsctl help exit-codes`. */
export const exitCodesText = (): string =>
  `${Object.values(exitCodes)
    .map(({ code, meaning }) => `${String(code).padStart(4)}  ${meaning}`)
    .join('\n')}\n`;
