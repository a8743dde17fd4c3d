import { durationText } from '../core/format.ts';
import { isIdentity, missing } from './scopes.ts';
import type { Instant } from './auth-context.ts';
import { type Account, isFresh, lifeLeftMs } from './credential-store/account.ts';

const time = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

/** An account without its secrets, as every command shows it. */
export const describeAccount = (account: Account, now: Instant) => {
  const leftMs = lifeLeftMs(account, now);
  return {
    account: account.name,
    email: account.email ?? null,
    subject: account.subject ?? null,
    server: account.server,
    client_id: account.clientId,
    method: account.method?.name ?? null,
    token_type: account.tokenType ?? 'Bearer',
    signed_in:
      account.ended === undefined &&
      ((account.refreshToken !== undefined && account.refreshFailure === undefined) ||
        account.method !== undefined ||
        isFresh(account, now)),
    scopes: account.granted,
    missing_scopes: missingScopes(account),
    expires_at: time(leftMs === undefined ? undefined : now.wallMs + leftMs),
    expires_in: leftMs === undefined ? null : Math.max(0, Math.floor(leftMs / 1000)),
    has_refresh_token: account.refreshToken !== undefined,
    refresh_expires_at: time(account.refreshExpiresMs),
    ended: account.ended ?? null,
    refresh_failure: account.refreshFailure?.code ?? null,
  };
};

/**
 * Servers may omit identity scopes from the response, or use other names for them. The id_token shows them.
 */
export const missingScopes = (account: Account): string[] =>
  missing(account.requested, account.granted).filter(
    (scope) => !isIdentity(scope) || account.idToken === undefined,
  );

export const lifeText = (account: Account, now: Instant): string => {
  const leftMs = lifeLeftMs(account, now);
  return leftMs === undefined
    ? 'token without a known end'
    : `token valid for ${durationText(Math.max(0, leftMs))}`;
};

export const scopeLines = (account: Account): string[] => {
  const gone = new Set(missingScopes(account));
  const all = [...new Set([...account.requested, ...account.granted])];
  return all.map((scope) => `  ${gone.has(scope) ? '✗ not granted' : '✓ granted    '}  ${scope}`);
};
