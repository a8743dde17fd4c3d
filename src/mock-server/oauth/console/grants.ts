import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { problem } from '../../../core/problem.ts';
import { scopeName } from '../../../api-specs/oauth/scopes.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { findUser } from '../passwords.ts';
import { emitTokenRevoked, emitTokensRevoked } from '../security-events.ts';
import type { Auth, Family } from '../state.ts';
import { familiesOf, revokeFamily } from '../tokens.ts';
import { found } from './lookup.ts';
import { grantView, sessionView, tokenView } from './views.ts';

type State = { readonly auth: Auth };
type All = Handlers<typeof consoleTable, State>;

const end = (auth: Auth, families: readonly Family[]): void => {
  for (const family of families) {
    revokeFamily(auth, family);
    emitTokenRevoked(auth, family);
  }
};
const matches = (auth: Auth, query: { user?: string | undefined; client?: string | undefined }) => {
  const user = query.user === undefined ? undefined : (findUser(auth, query.user)?.id ?? query.user);
  return (record: { user: string; client: string }) =>
    (user === undefined || record.user === user) &&
    (query.client === undefined || record.client === query.client);
};

export const grantHandlers: All['grants'] = {
  list: ({ state: { auth }, query }) => auth.grants.filter(matches(auth, query)).map(grantView),
  // spec/sign-in#states: "user revokes access": every refresh token of the pair becomes invalid.
  delete: ({ state: { auth }, params }) => {
    const grant = found(auth.grants, params.grant, 'grant');
    end(
      auth,
      familiesOf(auth, grant.user).filter(({ client }) => client === grant.client),
    );
    emitTokensRevoked(auth, grant.user, grant.client);
    auth.grants.delete(grant.id);
    return undefined;
  },
  // spec/sign-in#check-4.8: a token that carries the scope ends; the user has to be asked again.
  removeScope: ({ state: { auth }, params, body }) => {
    const grant = found(auth.grants, params.grant, 'grant');
    const name = scopeName(body.scope);
    if (!grant.scopes.some((scope) => scopeName(scope) === name)) {
      throw new HttpError(404, `The grant has no scope ${body.scope}.`, {
        problems: [problem('scope', 'rule', `is not one of ${grant.scopes.join(' ')}`)],
      });
    }
    const changed = { ...grant, scopes: grant.scopes.filter((scope) => scopeName(scope) !== name) };
    auth.grants.put(grant.id, changed);
    end(
      auth,
      familiesOf(auth, grant.user).filter(
        (family) =>
          family.client === grant.client && family.scopes.some((scope) => scopeName(scope) === name),
      ),
    );
    return grantView(changed);
  },
};

export const tokenHandlers: All['tokens'] = {
  list: ({ state: { auth }, query }) =>
    auth.families.filter(matches(auth, query)).map((family) => tokenView(auth, family)),
  revoke: ({ state: { auth }, params }) => {
    end(auth, [found(auth.families, params.token, 'refresh token')]);
    return undefined;
  },
};

export const sessionHandlers: All['sessions'] = {
  list: ({ state: { auth } }) => [...auth.sessions.values()].map(sessionView),
  delete: ({ state: { auth }, params }) => {
    const entry = [...auth.sessions.entries()].find(([, session]) => session.id === params.session);
    if (entry === undefined) throw new HttpError(404, `There is no session ${params.session}.`);
    auth.sessions.delete(entry[0]);
    return undefined;
  },
};
