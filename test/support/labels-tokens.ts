import { fullScope } from '../../src/api-specs/oauth/endpoints.ts';
import { authState } from '../../src/mock-server/oauth/state.ts';
import { accessAnswer, issueFamily, revokeFamily } from '../../src/mock-server/oauth/tokens.ts';
import type { Environment } from '../../src/mock-server/service-set.ts';

export type GivenToken = {
  readonly token: string;
  readonly headers: { readonly authorization: string };
  revoke(): void;
};

/** Returns an access token of the embedded authorization server, as if the user had signed in and granted these scopes. */
export const grantedToken = (env: Environment, user: string, ...scopes: readonly string[]): GivenToken => {
  const auth = authState(env);
  return env.store.transact(() => {
    if (!auth.users.has(user)) {
      auth.users.put(user, {
        id: user,
        email: `${user}@example.com`,
        name: user,
        password: null,
        organization: null,
        state: 'active',
        kind: 'person',
        channels: 0,
        is_content_owner: false,
        created_at: 0,
      });
    }
    const full = scopes.map(fullScope);
    const { family } = issueFamily(auth, {
      asked: { client: '' },
      user,
      scopes: full,
      access_for_seconds: null,
    } as unknown as Parameters<typeof issueFamily>[1]);
    const token = accessAnswer(auth, family, full, env.now()).access_token;
    return {
      token,
      headers: { authorization: `Bearer ${token}` },
      revoke: () => env.store.transact(() => revokeFamily(auth, family)),
    };
  });
};
