import { createHash } from 'node:crypto';
import { isIdentityScope } from '../../api-specs/oauth/scopes.ts';
import type { Signer } from './keys.ts';
import type { Auth, Client, Code, User } from './state.ts';

/** The claims that the granted identity scopes open. */
export const userClaims = (user: User, scopes: readonly string[]): Record<string, unknown> => ({
  sub: user.id,
  ...(scopes.includes('email') ? { email: user.email, email_verified: true } : {}),
  ...(scopes.includes('profile') ? { name: user.name } : {}),
  ...(user.organization === null ? {} : { hd: user.organization }),
});

type SignedIn = Pick<Code, 'user' | 'scopes' | 'signed_in_at'> & {
  readonly asked: Pick<Code['asked'], 'nonce'>;
};

const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');

/** spec/sign-in#token-2: "returned only when an identity scope such as openid, profile or email was requested". */
export const idToken = (
  auth: Auth,
  signer: Signer,
  { client, code, issuer }: { readonly client: Client; readonly code: SignedIn; readonly issuer: string },
  accessToken: string,
): { id_token?: string } => {
  const user = auth.users.get(code.user);
  if (user === undefined || !code.scopes.some(isIdentityScope)) return {};
  const now = Math.floor(auth.env.now() / 1000);
  const claims = {
    iss: issuer,
    azp: client.id,
    aud: client.id,
    ...userClaims(user, code.scopes),
    at_hash: halfHash(accessToken),
    ...(code.asked.nonce === null ? {} : { nonce: code.asked.nonce }),
    auth_time: Math.floor(code.signed_in_at / 1000),
    iat: now,
    exp: now + auth.settings().access_token_seconds,
  };
  return { id_token: signer.jwt(client.id_token_alg, claims) };
};
