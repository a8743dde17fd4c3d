import {
  deviceCode as deviceCodeType,
  type GrantType,
  isGrantType,
  jwtBearer as jwtBearerType,
  tokenExchange as tokenExchangeType,
} from '../../api-specs/oauth/console-records.ts';
import { limits } from '../../core/limits.ts';
import type { MockReply, MockRequest } from '../service-set.ts';
import { redeemDevice } from './device.ts';
import { parseScopes, jsonReply, OAuthError, oauthErrorReply, type Params, readParams } from './errors.ts';
import { noteUse, idToken, issuerFor, sha256, type Signer } from './keys.ts';
import { clientCredentials, jwtBearer, tokenExchange } from './machine-grants.ts';
import { ProofError, proofKeyOf } from './pushed-requests.ts';
import { checkRules, type ClientCall, type ExchangeCall, readParam, type TokenCall } from './rules/rule.ts';
import {
  clientRules,
  codeRules,
  credentialsOf,
  exchangeRules,
  formRules,
  identityRules,
  refreshRules,
  refreshTokenIsGiven,
  revocationRules,
  tokenAccountIsActive,
} from './rules/token-client.ts';
import { emitTokenRevoked } from './security-events.ts';
import type { Auth, Client, Code, Family } from './state.ts';
import {
  accessAnswer,
  isLive,
  issueFamily,
  readAccess,
  readRefresh,
  refusedRefresh,
  revokeFamily,
} from './tokens.ts';

/** The parsed form; a body past the limit is not parsed. */
const formOf = (request: MockRequest): Params =>
  readParams(request.body.length > limits.formBytes ? '' : Buffer.from(request.body).toString('utf8'));
/** RFC 6749 4.1.2: a second use of a code revokes every token from its first use. */
const usedAgain = ({ auth }: ExchangeCall, code: Code): never => {
  const family = code.used === null ? undefined : auth.families.get(code.used);
  if (family !== undefined) {
    auth.env.store.transact(() => {
      revokeFamily(auth, family);
      emitTokenRevoked(auth, family);
    });
  }
  throw new OAuthError('invalid_grant', 'The code was used already.');
};
const exchange = (call: ClientCall, signer: Signer): MockReply => {
  const { auth, client, params } = call;
  checkRules(codeRules, call);
  const code = auth.codes.get(sha256(params.get('code') ?? ''));
  if (code === undefined) throw new OAuthError('invalid_grant', 'Malformed auth code.');
  const exchangeCall = { ...call, code };
  if (code.used !== null && code.asked.client === client.id) usedAgain(exchangeCall, code);
  checkRules(exchangeRules, exchangeCall);
  tokenAccountIsActive({ auth, owner: code.user });
  const { family, refreshToken } = auth.env.store.transact(() => {
    const issued = issueFamily(auth, code, call.boundTo);
    auth.codes.put(code.hash, { ...code, used: issued.family.id });
    return issued;
  });
  const answer = accessAnswer(auth, family, family.scopes, family.issued_at, call.boundTo);
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
  checkRules(refreshRules, { ...call, family });
  tokenAccountIsActive({ auth, owner: family.user });
  const asked = parseScopes(params.get('scope') ?? '');
  const scopes = asked.length > 0 ? asked : family.scopes;
  return jsonReply(200, accessAnswer(auth, family, scopes, auth.env.now(), call.boundTo));
};
/** One row per grant type, so that every announced grant type has a handler. */
const grantHandlers: Readonly<
  Record<
    GrantType,
    (call: TokenCall & { readonly client?: Client }, signer: Signer) => MockReply | Promise<MockReply>
  >
> = {
  authorization_code: (call, signer) => exchange(withClient(call), signer),
  refresh_token: (call) => refresh(withClient(call)),
  client_credentials: (call) => clientCredentials(withClient(call)),
  [jwtBearerType]: (call) => jwtBearer(call),
  [tokenExchangeType]: (call, signer) => tokenExchange(call, signer),
  [deviceCodeType]: (call, signer) => redeemDevice(withClient(call), signer),
};
const withClient = (call: TokenCall & { readonly client?: Client }): ClientCall => {
  const { client } = call;
  if (client === undefined) throw new Error('the client was checked and is not there');
  return { ...call, client };
};
const answerToken = (
  auth: Auth,
  signer: Signer,
  keepRate: () => void,
  request: MockRequest,
  params: Params,
): MockReply | Promise<MockReply> => {
  checkRules(formRules, { auth, request, params });
  keepRate();
  const call = { auth, request, params, credentials: credentialsOf(request, params) };
  checkRules(identityRules, call);
  const client = call.credentials.id === undefined ? undefined : auth.clients.get(call.credentials.id);
  if (client !== undefined) {
    checkRules(clientRules, { ...call, client });
    noteUse(auth, client);
  }
  const grantType = params.get('grant_type') ?? '';
  if (!isGrantType(grantType)) throw new Error('the grant type was checked and is not known');
  const boundTo = proofKeyOf(auth, request);
  return grantHandlers[grantType](
    {
      ...call,
      ...(client === undefined ? {} : { client }),
      ...(boundTo === undefined ? {} : { boundTo }),
    },
    signer,
  );
};
const refusalReply = (error: unknown): MockReply => {
  if (error instanceof ProofError)
    return oauthErrorReply(new OAuthError(error.code, error.message, 400, error.headers));
  if (error instanceof OAuthError) return oauthErrorReply(error);
  throw error;
};
/** spec/sign-in#exchange and spec/sign-in#refresh: `POST /token`. */
export const tokenEndpoint = (
  auth: Auth,
  signer: Signer,
  keepRate: () => void,
  request: MockRequest,
): MockReply | Promise<MockReply> => {
  try {
    const reply = answerToken(auth, signer, keepRate, request, formOf(request));
    return reply instanceof Promise ? reply.catch(refusalReply) : reply;
  } catch (error) {
    return refusalReply(error);
  }
};

/** spec/sign-in#revoke has the token in the query; RFC 7009 has it in the body. Both are read. */
const tokenOf = (query: Params, body: Params): string => {
  if (query.repeated.includes('token'))
    throw new OAuthError('invalid_request', 'Field given more than once: token');
  const token = readParam(query, 'token') ?? readParam(body, 'token');
  if (token === undefined) throw new OAuthError('invalid_request', 'Missing required parameter: token');
  return token;
};
/**
 * spec/sign-in#revoke: "The token is an access token or a refresh token." Revoking an access token also
 * revokes its refresh token.
 */
const familyOf = (auth: Auth, token: string): Family => {
  const family = readRefresh(auth, token) ?? readAccess(auth, token)?.family;
  if (
    family === undefined ||
    family.revoked_at !== null ||
    (readRefresh(auth, token) && !isLive(auth, family))
  ) {
    throw new OAuthError('invalid_token', 'Token expired or revoked');
  }
  // spec/sign-in#check-7.13: a token of a service account has no user who could revoke it.
  if (family.client === '') throw new OAuthError('invalid_token', 'Token is not revocable.');
  return family;
};
/** `POST /revoke`: 200, or 400 with an error code. No client authentication, any content type (spec/sign-in#check-7.9, spec/sign-in#check-7.10). */
export const revokeEndpoint = (auth: Auth, keepRate: () => void, request: MockRequest): MockReply => {
  const body = formOf(request);
  try {
    checkRules(revocationRules, { auth, request, params: body });
    keepRate();
    const family = familyOf(auth, tokenOf(readParams(request.query), body));
    auth.env.store.transact(() => {
      revokeFamily(auth, family);
      emitTokenRevoked(auth, family);
    });
    return jsonReply(200, {});
  } catch (error) {
    if (error instanceof OAuthError) return oauthErrorReply(error);
    throw error;
  }
};
