import { Buffer } from 'node:buffer';
import { AppError, type Category } from './problem.ts';
import { limits } from './limits.ts';

/** Refuses a secret that is too long to be one; nothing of it is repeated. `name` is the flag, variable or file. */
export const refuseLongSecret = (category: Category, name: string, secret: string): void => {
  const bytes = Buffer.byteLength(secret);
  if (bytes <= limits.secretBytes) return;
  throw new AppError(
    category,
    `${name} has ${bytes} bytes; a secret has at most ${limits.secretBytes}: is it the wrong file or variable?`,
    { code: 'SECRET_TOO_LONG' },
  );
};
