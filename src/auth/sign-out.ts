import { AppError } from '../core/problem.ts';
import { withEndpoints } from './access.ts';
import type { AuthContext } from './auth-context.ts';
import { type Account, accountNamed, swapEnded, swapRemoved } from './credential-store/account.ts';
import { openCredentialStore } from './credential-store/store.ts';
import type { HttpRequest } from '../platform/host.ts';
import { isRevokeGuessed } from './endpoints.ts';
import { discover, safeUrl } from './protocol/discovery.ts';
import type { TokenClient } from './protocol/token-client.ts';
import { tokenClientOf } from './server-profiles.ts';
import {
  type Revoked,
  processRevoke,
  revokeRequest,
  standardRevokeRequest,
} from './protocol/token-response.ts';
import { sendPatiently } from './protocol/send.ts';

type Form = (client: TokenClient, token: string) => HttpRequest;
type Revocation = { readonly client: TokenClient; readonly forms: readonly Form[] };

/** What the server publishes about revocation: its endpoint and the form of the standard, in which no token stands in an address. */
const publishedRevocation = async (
  context: AuthContext,
  client: TokenClient,
  issuer: string | undefined,
): Promise<Revocation | 'none' | 'unknown'> => {
  const metadata = await discover(context.host, client.endpoints, context.signal, issuer);
  if (metadata === undefined) return 'unknown';
  const revoke = safeUrl(metadata.raw.revocation_endpoint);
  if (revoke === undefined) return 'none';
  const endpoints = { ...client.endpoints, revoke };
  return { client: { ...client, endpoints }, forms: [standardRevokeRequest, revokeRequest] };
};

const noRevocation = (server: string): AppError =>
  new AppError('not-found', `${server} publishes no revocation endpoint: nothing was revoked`, {
    code: 'NO_REVOCATION_ENDPOINT',
    tryThis: ['opsctl login --revoke-url URL, when the server has one that it does not publish'],
  });

const sendForms = async (
  context: AuthContext,
  { client, forms }: Revocation,
  token: string,
): Promise<Exclude<Revoked, 'wants-standard'>> => {
  for (const form of forms) {
    const received = await sendPatiently(context, 'revoke', form(client, token));
    const outcome = processRevoke(received, context.host.now());
    if (outcome !== 'wants-standard') return outcome;
  }
  throw new AppError('refused', 'revoke: the service refuses both the documented and the standard form', {
    code: 'REVOKE_REFUSED',
    tryThis: ['check --revoke-url, --client-id and the client secret'],
  });
};

const isWrongPlace = (error: unknown): boolean =>
  error instanceof AppError && (error.detail.httpStatus === 404 || error.detail.httpStatus === 405);

/**
 * Revokes one token: as the server publishes it when its metadata are known, else in the documented form, whose place may
 * have been guessed. A server that is known by its issuer follows the standard: there a token never stands in an address first.
 */
export const revokeToken = async (
  context: AuthContext,
  account: Pick<Account, 'endpoints' | 'clientId' | 'clientSecret' | 'clientAuth' | 'issuer' | 'server'>,
  token: string,
): Promise<Exclude<Revoked, 'wants-standard'>> => {
  const client = await tokenClientOf(context, await withEndpoints(context, account));
  const { issuer, server } = account;
  const isGuessed = isRevokeGuessed(client.endpoints);
  const published = issuer === undefined ? 'unknown' : await publishedRevocation(context, client, issuer);
  if (typeof published === 'object') return sendForms(context, published, token);
  if (published === 'none' && isGuessed) throw noRevocation(server);
  const forms =
    issuer === undefined ? [revokeRequest, standardRevokeRequest] : [standardRevokeRequest, revokeRequest];
  try {
    return await sendForms(context, { client, forms }, token);
  } catch (error) {
    if (!isWrongPlace(error) || !isGuessed) throw error;
    const found = await publishedRevocation(context, client, issuer);
    if (found === 'none') throw noRevocation(server);
    if (found === 'unknown') throw error;
    return sendForms(context, found, token);
  }
};

/** The credential stays when the service does not confirm; the way out is named. */
const orLocally = (error: unknown): never => {
  if (!(error instanceof AppError) || error.category === 'interrupted') throw error;
  const { tryThis = [], ...detail } = error.detail;
  const local = 'opsctl logout --local (forgets the tokens here; they stay valid at the service)';
  throw new AppError(error.category, error.message, { ...detail, tryThis: [...tryThis, local] });
};

export type SignedOut = {
  readonly account: string;
  readonly revoked: boolean;
  /** False when somebody signed in to the account meanwhile: that sign-in stays. */
  readonly removed: boolean;
};

/** A rotated token is followed to its successor; a server that rotates at every step would never end. */
const maxRotations = 5;

/** RFC 7009 2.2.1: a server that revokes no refresh tokens revokes the access token at least. */
const revokeStored = async (context: AuthContext, account: Account): Promise<true> => {
  const { refreshToken, accessToken } = account;
  try {
    await revokeToken(context, account, refreshToken ?? accessToken ?? '');
  } catch (error) {
    const isOther = error instanceof AppError && error.detail.code === 'UNSUPPORTED_TOKEN_TYPE';
    if (!isOther || refreshToken === undefined || accessToken === undefined) throw error;
    await revokeToken(context, account, accessToken);
    context.log.warn(
      `${account.server} revokes access tokens only: the refresh token of ${account.name} stays valid there.`,
    );
  }
  return true;
};
/** A server without revocation is no reason to stay signed in here: what stays valid there is named. */
const orUnrevoked = (context: AuthContext, account: Account, error: unknown): false => {
  if (!(error instanceof AppError) || error.detail.code !== 'NO_REVOCATION_ENDPOINT') return orLocally(error);
  const kinds = [
    account.refreshToken === undefined ? [] : ['the refresh token'],
    account.accessToken === undefined ? [] : ['the access token'],
  ].flat();
  context.log.warn(
    `${account.server} has no revocation endpoint: ${kinds.join(' and ')} of ${account.name} can be used at the server until they expire. Remove the access of the application in the settings of your account there to end it now.`,
  );
  return false;
};
/** The refresh token takes its access tokens along; a failing network keeps the credential, so that nothing valid is forgotten. */
export const signOut = async (context: AuthContext, read: Account, isLocal: boolean): Promise<SignedOut> => {
  const credentials = openCredentialStore(context, read.server);
  let account = read;
  let revoked = false;
  for (let rotation = 0; rotation < maxRotations; rotation++) {
    const token = account.refreshToken ?? account.accessToken;
    if (!isLocal && token !== undefined) {
      const current = account;
      revoked = await revokeStored(context, current).catch((error: unknown) =>
        orUnrevoked(context, current, error),
      );
    }
    const { data, outcome } = await credentials.swap((latest) => swapRemoved(latest, account));
    if (outcome === 'replaced') {
      context.log.warn(`Account ${read.name} was signed in anew meanwhile; that sign-in stays.`);
      return { account: read.name, revoked, removed: false };
    }
    const newer = accountNamed(data, read.name);
    if (outcome !== 'refreshed' || newer === undefined) return { account: read.name, revoked, removed: true };
    account = newer;
  }
  throw new AppError('network', `account ${read.name} is refreshed by other commands all the time`, {
    code: 'ACCOUNT_BUSY',
    retryable: true,
    tryThis: ['end the commands that use it, then opsctl logout again'],
  });
};

/** Revokes one token and drops what is stored of its sign-in; the account stays in the list. */
export const revokeSignIn = async (
  context: AuthContext,
  account: Account,
  token: string,
): Promise<{ readonly revoked: Awaited<ReturnType<typeof revokeToken>>; readonly account: Account }> => {
  const revoked = await revokeToken(context, account, token);
  const why = 'revoked with opsctl auth revoke';
  const { data } = await openCredentialStore(context, account.server).swap((latest) =>
    swapEnded(latest, account, why),
  );
  return { revoked, account: accountNamed(data, account.name) ?? account };
};
