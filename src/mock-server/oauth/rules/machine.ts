import { scopeName } from '../../../api-specs/oauth/scopes.ts';
import { authPaths } from '../../../api-specs/oauth/endpoints.ts';
import { askedScopes, unknownScopes } from '../known-scopes.ts';
import { OAuthError } from '../errors.ts';
import { type Jwt, audiencesOf } from '../jwt.ts';
import type { Auth, User } from '../state.ts';
import type { Rule } from './rule.ts';

/** A JWT that somebody else signed, after its signature was checked. */
export type AssertionCall = {
  readonly auth: Auth;
  readonly jwt: Jwt;
  /** What the token is called in messages. */
  readonly what: string;
  /** This server's own names, as the client may have known them. */
  readonly audiences: readonly string[];
};

const skewS = 300;
const longestS = 3600;
const seconds = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const invalid = (text: string): OAuthError => new OAuthError('invalid_grant', text);

/** RFC 7523 3, 3: the audience is this server. */
const assertionIsForThisServer: Rule<AssertionCall> = ({ jwt, what, audiences }) => {
  const given = audiencesOf(jwt);
  if (!given.some((aud) => audiences.includes(aud)))
    throw invalid(
      `The audience of the ${what} is ${given.join(' ').slice(0, 200) || 'missing'}; it must be ${audiences[0]}.`,
    );
};

/** RFC 7523 3, 4: it has an end, which lies ahead and not far. */
export const assertionIsInTime: Rule<AssertionCall> = ({ auth, jwt, what }) => {
  const now = auth.env.now() / 1000;
  const [end, begin] = [seconds(jwt.claims.exp), seconds(jwt.claims.iat)];
  if (end === undefined) throw invalid(`The ${what} has no exp.`);
  if (end + skewS < now) throw invalid(`The ${what} has expired.`);
  if (end > now + longestS + skewS) throw invalid(`The ${what} lives longer than an hour.`);
  if (begin !== undefined && begin > now + skewS)
    throw invalid(`The ${what} was issued in the future: check the clock of the client.`);
};

/** spec/sign-in#data-api-3: service accounts, and only while they are active. */
export const accountIsAServiceAccount = (user: User | undefined, name: string): User => {
  if (user === undefined || user.state !== 'active' || user.kind !== 'service-account')
    throw new OAuthError('invalid_grant', `There is no active service account ${name.slice(0, 320)}.`);
  return user;
};

/** Scopes that a machine asks for; no person is there to choose. */
export const machineScopes = (auth: Auth, text: string, allowed: readonly string[] = []): string[] => {
  const asked = askedScopes(text);
  if (asked.length === 0) throw new OAuthError('invalid_scope', 'Missing scope: a machine names its scopes.');
  const unknown = unknownScopes(auth, asked);
  if (unknown.length > 0)
    throw new OAuthError('invalid_scope', `Unknown scope: ${unknown.join(' ').slice(0, 300)}`);
  const refused =
    allowed.length === 0 ? [] : asked.filter((scope) => !allowed.map(scopeName).includes(scopeName(scope)));
  if (refused.length > 0)
    throw new OAuthError('invalid_scope', `The trust does not allow: ${refused.join(' ').slice(0, 300)}`);
  return asked;
};

export const assertionRules: readonly Rule<AssertionCall>[] = [assertionIsForThisServer, assertionIsInTime];
export const tokenAudiences = (issuer: string): readonly string[] => [issuer + authPaths.token, issuer];
