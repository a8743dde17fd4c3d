import { AppError } from '../core/problem.ts';
import { withEndpoints } from './access.ts';
import type { AuthContext } from './auth-context.ts';
import { type Account, withoutAccount } from './credential-store/account.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { type Revoked, processRevoke, revokeRequest, standardRevokeRequest } from './protocol/revoke.ts';
import { sendPatiently } from './protocol/send.ts';

/** Revokes one token at the service. The form of spec/sign-in#revoke first; servers of RFC 7009 get theirs when they ask for it. */
export const revokeToken = async (
  context: AuthContext,
  account: Account,
  token: string,
): Promise<Exclude<Revoked, 'wants-standard'>> => {
  const { endpoints, clientId, clientSecret } = await withEndpoints(context, account);
  const tokenClient = { endpoints, clientId, clientSecret };
  const first = processRevoke(
    await sendPatiently(context, 'revoke', revokeRequest(tokenClient, token)),
    context.host.now(),
  );
  if (first !== 'wants-standard') return first;
  const second = processRevoke(
    await sendPatiently(context, 'revoke', standardRevokeRequest(tokenClient, token)),
    context.host.now(),
  );
  if (second !== 'wants-standard') return second;
  throw new AppError('refused', 'revoke: the service refuses both the documented and the standard form', {
    code: 'REVOKE_REFUSED',
    tryThis: ['check --revoke-url'],
  });
};

/** The credential stays when the service does not confirm; the way out is named. */
const orLocally = (error: unknown): never => {
  if (!(error instanceof AppError) || error.category === 'interrupted') throw error;
  const { tryThis = [], ...detail } = error.detail;
  const local = 'opsctl logout --local (forgets the tokens here; they stay valid at the service)';
  throw new AppError(error.category, error.message, { ...detail, tryThis: [...tryThis, local] });
};

export type SignedOut = { readonly account: string; readonly revoked: boolean; readonly removed: boolean };

/** The refresh token takes its access tokens along; a failing network keeps the credential, so that nothing valid is forgotten. */
export const signOut = async (
  context: AuthContext,
  account: Account,
  isLocal: boolean,
): Promise<SignedOut> => {
  const token = account.refreshToken ?? account.accessToken;
  const revoked =
    !isLocal &&
    token !== undefined &&
    (await revokeToken(context, account, token).catch(orLocally)) !== undefined;
  await openCredentialStore(context).change((data) => withoutAccount(data, account.name));
  return { account: account.name, revoked, removed: true };
};
