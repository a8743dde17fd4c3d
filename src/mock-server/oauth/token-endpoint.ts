import {
  type GrantType,
  isGrantType,
  deviceCode as deviceCodeType,
  jwtBearer as jwtBearerType,
  tokenExchange as tokenExchangeType,
} from '../../api-specs/oauth/grant-types.ts';
import { redeemDevice } from './device.ts';
import { clientCredentials, jwtBearer, tokenExchange } from './machine-grants.ts';
import { credentialsOf } from './rules/client-credentials.ts';
import { codeRules, exchangeRules } from './rules/code-exchange.ts';
import { formRules } from './rules/form.ts';
import { refreshRules, refreshTokenIsGiven, tokenAccountIsActive } from './rules/refresh.ts';
import { type ClientCall, type ExchangeCall, type TokenCall, checkRules } from './rules/rule.ts';
import { clientRules, identityRules } from './rules/token-client.ts';
import { askedScopes } from './known-scopes.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { noteUse } from './client-life.ts';
import { sha256 } from './digest.ts';
import { OAuthError } from './errors.ts';
import { emitTokenRevoked } from './security-events.ts';
import { issuerFor } from './issuer.ts';
import { idToken } from './id-token.ts';
import { jsonReply, oauthErrorReply } from './json-reply.ts';
import type { Signer } from './keys.ts';
import { type Params, readParams } from './params.ts';
import type { Auth, Client, Code } from './state.ts';
import { accessAnswer, issueFamily, readRefresh, refusedRefresh, revokeFamily } from './tokens.ts';
import { limits } from '../../core/limits.ts';

/** The parsed form; a body past the limit is not parsed. */
export const formOf = (request: MockRequest): Params =>
  readParams(request.body.length > limits.formBytes ? '' : Buffer.from(request.body).toString('utf8'));

/** RFC 6749 4.1.2: a code that comes a second time takes every token with it that the first time gave. */
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
  checkRules(refreshRules, { ...call, family });
  tokenAccountIsActive({ auth, owner: family.user });
  const asked = askedScopes(params.get('scope') ?? '');
  return jsonReply(200, accessAnswer(auth, family, asked.length > 0 ? asked : family.scopes, auth.env.now()));
};

/** One row for each grant type, so that a new one cannot be announced and then not answered. */
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

const answered = (
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
  return grantHandlers[grantType]({ ...call, ...(client === undefined ? {} : { client }) }, signer);
};

const refusalReply = (error: unknown): MockReply => {
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
    const reply = answered(auth, signer, keepRate, request, formOf(request));
    return reply instanceof Promise ? reply.catch(refusalReply) : reply;
  } catch (error) {
    return refusalReply(error);
  }
};
