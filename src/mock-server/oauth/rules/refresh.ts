import { askedScopes } from '../known-scopes.ts';
import { OAuthError } from '../errors.ts';
import type { Auth } from '../state.ts';
import { isLive, refusedRefresh } from '../tokens.ts';
import { type ClientCall, type RefreshCall, type Rule, given } from './rule.ts';

/** spec/sign-in#refresh: refresh_token. */
export const refreshTokenIsGiven: Rule<ClientCall> = ({ params }) => {
  if (given(params, 'refresh_token') === undefined)
    throw new OAuthError('invalid_request', 'Missing required field: refresh_token');
};

/** RFC 6749 6: bound to the client it was issued to. */
const refreshTokenIsOfTheClient: Rule<RefreshCall> = ({ client, family }) => {
  if (family.client !== client.id)
    throw new OAuthError('invalid_grant', 'The refresh token was issued to another client.');
};

/** spec/sign-in#states: refresh of a revoked, expired or pushed-out token fails with invalid_grant. */
const refreshTokenIsLive: Rule<RefreshCall> = ({ auth, family }) => {
  if (!isLive(auth, family)) throw refusedRefresh(auth, family);
};

/** spec/sign-in#check-6.18: a policy asks for a new sign-in after some time; the token itself is not over. Off unless a setting gives the time. */
const signInIsRecent: Rule<RefreshCall> = ({ auth, family }) => {
  const seconds = auth.settings().reauth_after_seconds;
  if (seconds === null || auth.env.now() < family.issued_at + seconds * 1000) return;
  throw new OAuthError('invalid_grant', 'reauth related error (invalid_rapt)', undefined, {}, 'invalid_rapt');
};

/** RFC 6749 6: a refresh may ask for fewer scopes, never for more. */
const refreshScopeIsGranted: Rule<RefreshCall> = ({ params, family }) => {
  const more = askedScopes(given(params, 'scope') ?? '').filter((scope) => !family.scopes.includes(scope));
  if (more.length > 0)
    throw new OAuthError('invalid_scope', 'The scope was not granted to this refresh token.');
};

/** spec/sign-in#errors-6: "user account deleted or disabled". */
export const tokenAccountIsActive: Rule<{ readonly auth: Auth; readonly owner: string }> = ({
  auth,
  owner,
}) => {
  if (auth.users.get(owner)?.state !== 'active')
    throw new OAuthError('invalid_grant', 'The account has been deleted or disabled.');
};

/** spec/sign-in#refresh: what holds of a refresh token that is known. */
export const refreshRules: readonly Rule<RefreshCall>[] = [
  refreshTokenIsOfTheClient,
  refreshTokenIsLive,
  signInIsRecent,
  refreshScopeIsGranted,
];
