import { durationText } from '../../core/duration.ts';
import { missing } from '../../auth/scopes.ts';
import { type Account, isFresh } from '../../auth/credential-store/account.ts';
import { isIdentity } from '../../auth/scopes.ts';

const time = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

/** An account without its secrets, as every command shows it. */
export const describeAccount = (account: Account, nowMs: number) => ({
  account: account.name,
  email: account.email ?? null,
  subject: account.subject ?? null,
  server: account.server,
  client_id: account.clientId,
  signed_in: account.ended === undefined && (account.refreshToken !== undefined || isFresh(account, nowMs)),
  scopes: account.granted,
  missing_scopes: missingScopes(account),
  expires_at: time(account.accessExpiresMs),
  expires_in:
    account.accessExpiresMs === undefined
      ? null
      : Math.max(0, Math.floor((account.accessExpiresMs - nowMs) / 1000)),
  has_refresh_token: account.refreshToken !== undefined,
  refresh_expires_at: time(account.refreshExpiresMs),
  ended: account.ended ?? null,
});
export type Described = ReturnType<typeof describeAccount>;

/** Servers may leave identity scopes out of the answer, or name them otherwise; the id_token shows them. */
export const missingScopes = (account: Account): string[] =>
  missing(account.requested, account.granted).filter(
    (scope) => !isIdentity(scope) || account.idToken === undefined,
  );

export const lifeText = (account: Account, nowMs: number): string =>
  account.accessExpiresMs === undefined
    ? 'token without a known end'
    : `token valid for ${durationText(Math.max(0, account.accessExpiresMs - nowMs))}`;

export const scopeLines = (account: Account): string[] => {
  const gone = new Set(missingScopes(account));
  const all = [...new Set([...account.requested, ...account.granted])];
  return all.map((scope) => `  ${gone.has(scope) ? '✗ not granted' : '✓ granted    '}  ${scope}`);
};
