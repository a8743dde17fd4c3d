import { Buffer } from 'node:buffer';
import { AppError, type Category } from './problem.ts';

/** No token, password or client secret of a known service is longer; what is longer is a wrong file. */
export const SECRET_LIMIT_BYTES = 8192;

/** Refuses a secret that is too long to be one; nothing of it is repeated. `name` is the flag, variable or file. */
export const refuseLongSecret = (category: Category, name: string, secret: string): void => {
  const bytes = Buffer.byteLength(secret);
  if (bytes <= SECRET_LIMIT_BYTES) return;
  throw new AppError(
    category,
    `${name} has ${bytes} bytes; a secret has at most ${SECRET_LIMIT_BYTES}: is it the wrong file or variable?`,
    { code: 'SECRET_TOO_LONG' },
  );
};
