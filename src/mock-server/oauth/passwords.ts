import { scryptSync } from 'node:crypto';
import { base64url, sameText } from './digest.ts';
import type { Auth, User } from './state.ts';

const derive = (password: string, salt: string): string =>
  base64url(scryptSync(password.normalize('NFC'), salt, 32, { N: 4096 }));

export const hashedPassword = (auth: Auth, password: string): NonNullable<User['password']> => {
  const salt = base64url(auth.env.random(12));
  return { salt, hash: derive(password, salt) };
};
/** Takes the same time for an unknown user. */
export const passwordIsRight = (user: User | undefined, password: string): boolean => {
  const stored = user?.password ?? { salt: 'none', hash: '' };
  return sameText(derive(password, stored.salt), stored.hash) && user !== undefined;
};

/** A user by sub or e-mail address; the address in any case. */
export const findUser = (auth: Auth, name: string): User | undefined => {
  const byId = auth.users.get(name);
  if (byId !== undefined) return byId;
  const email = name.trim().toLowerCase();
  return (
    auth.users.find((user) => user.email.toLowerCase() === email && user.state !== 'deleted') ??
    auth.users.find((user) => user.email.toLowerCase() === email)
  );
};
