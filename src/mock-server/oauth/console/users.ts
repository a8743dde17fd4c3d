import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { hashedPassword } from '../passwords.ts';
import {
  emitAccount,
  emitAccountDisabled,
  emitSessionsRevoked,
  emitTokenRevoked,
} from '../security-events.ts';
import type { Auth, User } from '../state.ts';
import { familiesOf, issueForMachine, revokeFamily } from '../tokens.ts';
import { userByName } from './lookup.ts';
import { userView } from './views.ts';

type State = { readonly auth: Auth };
/** facts: a sub is digits, never used again. */
const newSub = (auth: Auth): string =>
  `1${String(auth.env.store.next('auth.users')).padStart(5, '0')}${[...auth.env.random(15)].map((byte) => byte % 10).join('')}`;

export type UserDraft = Pick<User, 'email'> &
  Partial<Pick<User, 'name' | 'organization' | 'kind' | 'channels' | 'is_content_owner' | 'id'>> & {
    readonly password?: string | undefined;
  };
/** A user from checked values; shared by the console and the seed. */
export const userFrom = (auth: Auth, body: UserDraft): User => ({
  id: body.id ?? newSub(auth),
  email: body.email,
  name: body.name ?? body.email.split('@')[0] ?? body.email,
  password: body.password === undefined ? null : hashedPassword(auth, body.password),
  organization: body.organization ?? null,
  state: 'active',
  kind: body.kind ?? 'person',
  channels: body.channels ?? 1,
  is_content_owner: body.is_content_owner ?? false,
  created_at: auth.env.now(),
});

const emailIsUnused = (auth: Auth, email: string): void => {
  const taken = auth.users.find(
    (user) => user.email.toLowerCase() === email.toLowerCase() && user.state !== 'deleted',
  );
  if (taken !== undefined)
    throw new HttpError(409, `There is a user ${email} already.`, {
      problems: [problem('email', 'rule', 'is used by another account')],
    });
};
const endSessions = (auth: Auth, user: User): void => {
  for (const [key, session] of [...auth.sessions.entries()]) {
    if (!session.users.includes(user.id)) continue;
    const users = session.users.filter((id) => id !== user.id);
    if (users.length === 0) auth.sessions.delete(key);
    else auth.sessions.put(key, { ...session, users });
  }
};
/** spec/sign-in#check-6.17: a new password may end what was granted under the old one. */
const passwordChanged = (auth: Auth, user: User): void => {
  emitAccount(auth, user, 'credentialChangeRequired');
  if (!auth.settings().revoke_on_password_change) return;
  for (const family of familiesOf(auth, user.id)) {
    revokeFamily(auth, family);
    emitTokenRevoked(auth, family);
  }
};
const notDeleted = (user: User): User => {
  if (user.state === 'deleted') throw new HttpError(409, `${user.email} is deleted.`);
  return user;
};
const put = (auth: Auth, user: User): User => {
  auth.users.put(user.id, user);
  return user;
};

const serviceToken = (auth: Auth, user: User, scopes: readonly string[]) => {
  if (user.kind !== 'service-account')
    throw new HttpError(409, `${user.email} is a person; tokens of people come from a sign-in.`);
  return issueForMachine(auth, { user: user.id, client: '' }, scopes);
};

export const userHandlers: Handlers<Pick<typeof consoleTable, 'users'>, State>['users'] = {
  list: ({ state: { auth } }) => [...auth.users.values()].map(userView),
  create: ({ state: { auth }, body }) => {
    emailIsUnused(auth, body.email);
    if (body.kind !== 'service-account' && body.password === undefined) {
      throw new HttpError(400, 'A person needs a password.', {
        problems: [problem('password', 'required', 'is required for a person')],
      });
    }
    return userView(put(auth, userFrom(auth, body)));
  },
  update: ({ state: { auth }, params, body: { password, ...body } }) => {
    const user = userByName(auth, params.user);
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    if (password !== undefined) passwordChanged(auth, user);
    return userView(
      put(auth, {
        ...user,
        ...given,
        ...(password === undefined ? {} : { password: hashedPassword(auth, password) }),
      }),
    );
  },
  // spec/sign-in#errors-6: tokens of a deleted account end with it.
  delete: ({ state: { auth }, params }) => {
    const user = userByName(auth, params.user);
    const gone = put(auth, { ...user, state: 'deleted' });
    endSessions(auth, user);
    for (const family of familiesOf(auth, user.id)) revokeFamily(auth, family);
    emitAccount(auth, user, 'accountPurged');
    return userView(gone);
  },
  disable: ({ state: { auth }, params }) => {
    const user = put(auth, { ...notDeleted(userByName(auth, params.user)), state: 'disabled' });
    endSessions(auth, user);
    emitAccountDisabled(auth, user);
    return userView(user);
  },
  enable: ({ state: { auth }, params }) => {
    const user = notDeleted(userByName(auth, params.user));
    emitAccount(auth, user, 'accountEnabled');
    return userView(put(auth, { ...user, state: 'active' }));
  },
  signOut: ({ state: { auth }, params }) => {
    const user = userByName(auth, params.user);
    endSessions(auth, user);
    emitSessionsRevoked(auth, user);
    return userView(user);
  },
  token: ({ state: { auth }, params, body }) =>
    serviceToken(auth, userByName(auth, params.user), body.scopes),
};
