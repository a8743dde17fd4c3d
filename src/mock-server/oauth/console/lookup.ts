import { HttpError } from '../../http-error.ts';
import type { Collection } from '../../store.ts';
import { findUser } from '../passwords.ts';
import type { Auth, Client, User } from '../state.ts';

export const found = <T>(records: Collection<T>, key: string | number, what: string): T => {
  const record = records.get(key);
  if (record === undefined) throw new HttpError(404, `There is no ${what} ${key}.`);
  return record;
};
export const clientById = (auth: Auth, id: string): Client => found(auth.clients, id, 'client');
export const userByName = (auth: Auth, name: string): User => {
  const user = findUser(auth, name);
  if (user === undefined) throw new HttpError(404, `There is no user ${name}.`);
  return user;
};
