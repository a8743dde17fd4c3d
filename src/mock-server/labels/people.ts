import { createHash } from 'node:crypto';
import type { Environment } from '../service.ts';

/** spec/labels#parameters: customers/<id>, the caller's own by default. */
export const CUSTOMER = 'customers/C01opsctl';
/** The one who calls when any token is taken, and the first user of the authorization server. */
export const OWNER = 'people/100000000000000000001';
/** Makes the demo labels that the caller did not make. */
export const COLLEAGUE = 'people/100000000000000000002';

/** Everybody the demo knows; addresses that are not here become people or groups with an id made of the address. */
const directory: Readonly<Record<string, string>> = {
  'owner@example.com': OWNER,
  'colleague@example.com': COLLEAGUE,
  'reader@example.com': 'people/100000000000000000003',
  // The demo users of the authorization server, also while nobody has asked that server anything yet.
  'ada@demo.example': 'people/100001000000000000001',
  'bob@demo.example': 'people/100002000000000000002',
  'all-staff@example.com': 'groups/01staffgroup',
  'legal-team@example.com': 'groups/02legalteam',
};

const digits = (text: string): string =>
  BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 16)}`)
    .toString()
    .padStart(20, '1');

/** spec/labels#permissions: an address names a user or a group; a group's says so by "group", "team" or "staff" before the @. */
export const principalOf = (email: string): string => {
  const address = email.toLowerCase();
  const known = directory[address];
  if (known !== undefined) return known;
  const isGroup = /(^|[-._])(group|team|staff|list)([-._]|@)/.test(address);
  return isGroup
    ? `groups/${createHash('sha256').update(address).digest('hex').slice(0, 12)}`
    : `people/${digits(address)}`;
};

export const emailOf = (principal: string): string | undefined =>
  Object.entries(directory).find(([, known]) => known === principal)?.[0];

type AuthUser = {
  readonly id: string;
  readonly email: string;
  readonly kind: string;
  readonly state: string;
};
const authUsers = (env: Environment): AuthUser[] =>
  [...env.store.collection<AuthUser>('auth.users').values()].filter((u) => u.kind === 'person');
/** The first user of the authorization server administers labels; the others do not. */
export const isFirstUser = (env: Environment, user: string): boolean => authUsers(env)[0]?.id === user;
export const personOfUser = (
  env: Environment,
  user: { readonly id: string; readonly email: string },
): string => (isFirstUser(env, user.id) ? OWNER : principalOf(user.email));

/** spec/program#choices: capabilities are answered for any known user: by person id, user id or address. */
export const knownPerson = (env: Environment, id: string): string | undefined => {
  const user = authUsers(env).find((u) => u.id === id || u.email === id);
  if (user !== undefined) return personOfUser(env, user);
  if (id.includes('@')) return directory[id.toLowerCase()];
  const person = `people/${id}`;
  if (Object.values(directory).includes(person)) return person;
  return authUsers(env)
    .map((u) => personOfUser(env, u))
    .find((p) => p === person);
};
