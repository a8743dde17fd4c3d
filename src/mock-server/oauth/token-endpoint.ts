import { credentialsOf } from './rules/client-credentials.ts';
import { codeRules, exchangeRules } from './rules/code-exchange.ts';
import { formRules, mostBytes } from './rules/form.ts';
import { refreshRules, refreshTokenIsGiven, tokenAccountIsActive } from './rules/refresh.ts';
import { type ClientCall, type ExchangeCall, checkRules } from './rules/rule.ts';
import { clientRules, identityRules } from './rules/token-client.ts';
import { splitScopes } from '../../api-specs/oauth/scopes.ts';
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
import type { Auth, Code } from './state.ts';
import { accessAnswer, issueFamily, readRefresh, refusedRefresh, revokeFamily } from './tokens.ts';

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
  const asked = splitScopes(params.get('scope') ?? '');
  return jsonReply(200, accessAnswer(auth, family, asked.length > 0 ? asked : family.scopes, auth.env.now()));
};

/** spec/sign-in#exchange and spec/sign-in#refresh: `POST /token`. */
export const tokenEndpoint = (
  auth: Auth,
  signer: Signer,
  keepRate: () => void,
  request: MockRequest,
): MockReply => {
  const params = formOf(request);
  try {
    checkRules(formRules, { auth, request, params });
    keepRate();
    const call = { auth, request, params, credentials: credentialsOf(request, params) };
    checkRules(identityRules, call);
    const client = auth.clients.get(call.credentials.id ?? '');
    if (client === undefined) throw new Error('the client was checked and is not there');
    const clientCall = { ...call, client };
    checkRules(clientRules, clientCall);
    noteUse(auth, client);
    return params.get('grant_type') === 'refresh_token' ? refresh(clientCall) : exchange(clientCall, signer);
  } catch (error) {
    if (error instanceof OAuthError) return oauthErrorReply(error);
    throw error;
  }
};
