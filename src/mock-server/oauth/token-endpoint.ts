import { splitScopes } from '../../api-specs/oauth/scopes.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { noteUse } from './client-life.ts';
import { credentialsOf } from './rules/credentials.ts';
import { sha256 } from './digest.ts';
import { TokenRefusal } from './errors.ts';
import { emitTokenRevoked } from './security-events.ts';
import { issuerFor } from './issuer.ts';
import { idToken } from './id-token.ts';
import { jsonReply, tokenRefusal } from './json-reply.ts';
import type { Signer } from './keys.ts';
import { type Params, readParams } from './params.ts';
import { bodyIsAForm } from './rules/body-is-a-form.ts';
import { bodyIsSmall, mostBytes } from './rules/body-is-small.ts';
import { codeIsGiven } from './rules/code-is-given.ts';
import { codeIsInTime } from './rules/code-is-in-time.ts';
import { codeIsOfTheClient } from './rules/code-is-of-the-client.ts';
import { credentialsAgree } from './rules/credentials-agree.ts';
import { formIsWellFormed } from './rules/form-is-well-formed.ts';
import { grantTypeIsKnown } from './rules/grant-type-is-known.ts';
import { integrityIsVerified } from './rules/integrity-is-verified.ts';
import { redirectIsTheSame } from './rules/redirect-is-the-same.ts';
import { refreshScopeIsGranted } from './rules/refresh-scope-is-granted.ts';
import { refreshTokenIsGiven } from './rules/refresh-token-is-given.ts';
import { refreshTokenIsLive } from './rules/refresh-token-is-live.ts';
import { refreshTokenIsOfTheClient } from './rules/refresh-token-is-of-the-client.ts';
import { type RequestCall, type Rule, broken } from './rules/rule.ts';
import { signInIsRecent } from './rules/sign-in-is-recent.ts';
import { secretIsRight } from './rules/secret-is-right.ts';
import { tokenAccountIsActive } from './rules/token-account-is-active.ts';
import type { ClientCall, ExchangeCall, RefreshCall, TokenCall } from './rules/token-call.ts';
import { tokenClientIsGiven } from './rules/token-client-is-given.ts';
import { tokenClientIsKnown } from './rules/token-client-is-known.ts';
import { tokenClientIsNotDeleted } from './rules/token-client-is-not-deleted.ts';
import { tokenConnectionIsSafe } from './rules/token-connection-is-safe.ts';
import { tokenMethodIsPost } from './rules/token-method-is-post.ts';
import { verifierIsWellFormed } from './rules/verifier-is-well-formed.ts';
import { verifierMatchesTheChallenge } from './rules/verifier-matches-the-challenge.ts';
import type { Auth, Code } from './state.ts';
import { accessAnswer, issueFamily, readRefresh, refusedRefresh, revokeFamily } from './tokens.ts';

const formRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  bodyIsAForm,
  formIsWellFormed,
];
const identityRules: readonly Rule<TokenCall>[] = [
  grantTypeIsKnown,
  credentialsAgree,
  tokenClientIsGiven,
  tokenClientIsKnown,
];
const clientRules: readonly Rule<ClientCall>[] = [
  tokenClientIsNotDeleted,
  secretIsRight,
  integrityIsVerified,
];
const codeRules: readonly Rule<ClientCall>[] = [codeIsGiven, verifierIsWellFormed];
const exchangeRules: readonly Rule<ExchangeCall>[] = [
  codeIsOfTheClient,
  codeIsInTime,
  redirectIsTheSame,
  verifierMatchesTheChallenge,
];
const refreshRules: readonly Rule<RefreshCall>[] = [
  refreshTokenIsOfTheClient,
  refreshTokenIsLive,
  signInIsRecent,
  refreshScopeIsGranted,
];

/** The parsed form; a body past the limit is not parsed. */
export const formOf = (request: MockRequest): Params =>
  readParams(request.body.length > mostBytes ? '' : Buffer.from(request.body).toString('utf8'));

/** RFC 6749 4.1.2: a code that comes a second time takes every token with it that the first time gave. */
const usedAgain = ({ auth }: ExchangeCall, code: Code): never => {
  const family = code.used === null ? undefined : auth.families.get(code.used);
  if (family !== undefined) {
    auth.env.store.transact(() => {
      revokeFamily(auth, family);
      emitTokenRevoked(auth, family);
    });
  }
  throw new TokenRefusal('invalid_grant', 'The code was used already.');
};

const exchange = (call: ClientCall, signer: Signer): MockReply => {
  const { auth, client, params } = call;
  broken(codeRules, call);
  const code = auth.codes.get(sha256(params.get('code') ?? ''));
  if (code === undefined) throw new TokenRefusal('invalid_grant', 'Malformed auth code.');
  const exchangeCall = { ...call, code };
  if (code.used !== null && code.asked.client === client.id) usedAgain(exchangeCall, code);
  broken(exchangeRules, exchangeCall);
  tokenAccountIsActive({ auth, owner: code.user });
  const { family, refreshToken } = auth.env.store.transact(() => {
    const issued = issueFamily(auth, code);
    auth.codes.put(code.hash, { ...code, used: issued.family.id });
    return issued;
  });
  const answer = accessAnswer(auth, family, family.scopes, family.issued_at);
  return jsonReply(200, {
    ...answer,
    refresh_token: refreshToken,
    ...idToken(
      auth,
      signer,
      { client, code, issuer: issuerFor(auth.env, call.request) },
      answer.access_token,
    ),
  });
};

const refresh = (call: ClientCall): MockReply => {
  const { auth, params } = call;
  refreshTokenIsGiven(call);
  const family = readRefresh(auth, params.get('refresh_token') ?? '');
  if (family === undefined) throw refusedRefresh(auth, family);
  broken(refreshRules, { ...call, family });
  tokenAccountIsActive({ auth, owner: family.user });
  const asked = splitScopes(params.get('scope') ?? '');
  return jsonReply(200, accessAnswer(auth, family, asked.length > 0 ? asked : family.scopes, auth.env.now()));
};

/** doc1 Endpoints 2 and 3: `POST /token`. */
export const tokenEndpoint = (
  auth: Auth,
  signer: Signer,
  keepRate: () => void,
  request: MockRequest,
): MockReply => {
  const params = formOf(request);
  try {
    broken(formRules, { auth, request, params });
    keepRate();
    const call = { auth, request, params, credentials: credentialsOf(request, params) };
    broken(identityRules, call);
    const client = auth.clients.get(call.credentials.id ?? '');
    if (client === undefined) throw new Error('the client was checked and is not there');
    const clientCall = { ...call, client };
    broken(clientRules, clientCall);
    noteUse(auth, client);
    return params.get('grant_type') === 'refresh_token' ? refresh(clientCall) : exchange(clientCall, signer);
  } catch (error) {
    if (error instanceof TokenRefusal) return tokenRefusal(error);
    throw error;
  }
};
