import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import type { CheckedCallback } from './callback.ts';
import { type Instant, instantNow } from './clock.ts';
import { type Account, accountFrom, accountNameFrom } from './credential-store/account.ts';
import { keepAccount } from './keep-account.ts';
import type { Attempt, LoginPlan } from './login-plan.ts';
import type { Secrets } from './pkce.ts';
import { discover } from './protocol/discovery.ts';
import { exchangeRequest } from './protocol/exchange.ts';
import { sendCode } from './protocol/send.ts';
import type { TokenClient } from './protocol/token-client.ts';
import type { TokenResponse } from './protocol/token-response.ts';
import { issuerOf, receiveTokens } from './receive-tokens.ts';
import { isIdentity } from './scopes.ts';
import { tokenClientOf } from './token-client-of.ts';

const mixUp = (why: string): AppError =>
  new AppError('auth', why, {
    code: 'ISSUER_MISMATCH',
    tryThis: ['check --issuer, --auth-url and --token-url'],
  });

/** RFC 9207 2.4: the issuer of the answer is the server that was asked, and a server that announces it names it. */
const checkIssuer = (callback: CheckedCallback, issuer: string, announcesIss: boolean): void => {
  const given = callback.params.get('iss');
  if (given !== null && given !== issuer)
    throw mixUp('the answer comes from another issuer than the server names (mix-up)');
  // A code that was typed alone came without its address.
  if (given === null && announcesIss && callback.source === 'redirect')
    throw mixUp('the answer does not name its issuer, although the server announces that it does');
};

const tokenClientFor = async (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes'>,
  callback: CheckedCallback,
): Promise<TokenClient> => {
  const { server } = plan;
  const base = await tokenClientOf(context, server);
  const given = callback.params.get('iss') ?? undefined;
  const isNeeded = plan.scopes.some(isIdentity) || given !== undefined;
  const metadata =
    server.metadata ??
    (isNeeded ? await discover(context.host, server.endpoints, context.signal) : undefined);
  if (metadata === undefined) return { ...base, ...(given === undefined ? {} : { issuer: given }) };
  checkIssuer(callback, metadata.issuer, metadata.announcesIss);
  return { ...base, issuer: metadata.issuer, jwksUri: metadata.jwksUri };
};

const accountOf = (
  plan: Pick<LoginPlan, 'server' | 'account'>,
  attempt: Pick<Attempt, 'requested'>,
  answer: TokenResponse,
  asked: Instant,
): Account => {
  const { endpoints, clientId, clientSecret, clientAuth, key, metadata } = plan.server;
  const name = plan.account ?? accountNameFrom(answer);
  const owner = { name, signIn: '', server: key, endpoints, clientId, clientSecret, clientAuth };
  return accountFrom({ ...owner, issuer: metadata?.issuer }, answer, attempt.requested, asked);
};

/** Code to stored account; the network is asked once, because a code is good for one use. */
export const complete = async (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes' | 'account' | 'base' | 'params'>,
  attempt: Pick<Attempt, 'redirectUri' | 'requested'> & {
    readonly secrets: Pick<Secrets, 'verifier' | 'nonce'>;
  },
  callback: CheckedCallback,
): Promise<Account> => {
  const { host, log } = context;
  log.hide(callback.code);
  const tokenClient = await tokenClientFor(context, plan, callback);
  const asked = instantNow(host);
  const read = await sendCode(
    context,
    'code exchange',
    exchangeRequest(
      tokenClient,
      callback,
      attempt.redirectUri,
      attempt.secrets.verifier,
      plan.params?.resource,
    ),
  );
  const nonce = attempt.requested.some(isIdentity) ? attempt.secrets.nonce : undefined;
  const answer = await receiveTokens(context, 'code exchange', tokenClient, issuerOf(plan.server), read, {
    kind: 'exchange',
    nonce,
    requested: attempt.requested,
  });
  return keepAccount(context, accountOf(plan, attempt, answer, asked), {
    name: plan.account,
    base: plan.base,
  });
};
