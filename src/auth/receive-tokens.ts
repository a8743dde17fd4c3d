import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import { revokeToken } from './sign-out.ts';
import { bodyOf } from './protocol/read-response.ts';
import {
  type HttpResponse,
  type TokenClient,
  type Tolerance,
  toleranceLine,
} from './protocol/token-client.ts';
import { type Checks, processTokenResponse, type TokenResponse } from './protocol/token-response.ts';
import type { LoginServer } from './settings.ts';

/** The side of the server that issued the tokens. */
export type Issuer = Parameters<typeof revokeToken>[1];

export const issuerOf = (server: LoginServer): Issuer => ({
  server: server.key,
  endpoints: server.endpoints,
  clientId: server.clientId,
  ...(server.clientSecret === undefined ? {} : { clientSecret: server.clientSecret }),
  ...(server.clientAuth === undefined ? {} : { clientAuth: server.clientAuth }),
  ...(server.metadata === undefined ? {} : { issuer: server.metadata.issuer }),
});

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/**
 * Revokes tokens that opsctl does not keep, because they would otherwise stay valid at the server. A failure
 * is only reported.
 */
export const revokeDiscarded = async (
  context: AuthContext,
  issuer: Issuer,
  tokens: readonly (string | undefined)[],
): Promise<void> => {
  for (const token of new Set(tokens)) {
    if (token === undefined) continue;
    context.log.hide(token);
    try {
      await revokeToken(context, issuer, token);
    } catch (error) {
      context.log.warn(
        `A token that opsctl discarded could not be revoked and stays valid at the server (${error instanceof AppError ? error.message : 'the revocation failed'}).`,
      );
      return;
    }
  }
};

const reported = new WeakMap<AuthContext['log'], Set<string>>();
/** With `-v`: each deviation of the server once per command. */
export const reportDeviations = (
  { log }: Pick<AuthContext, 'log'>,
  what: string,
  deviations: readonly Tolerance[],
): void => {
  const before = reported.get(log) ?? new Set();
  reported.set(log, before);
  for (const name of deviations)
    if (!before.has(name)) {
      before.add(name);
      log.debug(toleranceLine(what, name));
    }
};

/** Checks a token response. Tokens in a rejected response are revoked: the code or the refresh token that bought them is spent. */
export const receiveTokens = async (
  context: AuthContext,
  what: string,
  tokenClient: TokenClient,
  issuer: Issuer,
  received: HttpResponse,
  checks: Checks,
): Promise<TokenResponse> => {
  try {
    const response = await processTokenResponse(
      what,
      tokenClient,
      received,
      checks,
      context.host,
      context.signal,
    );
    reportDeviations(context, what, response.deviations ?? []);
    return response;
  } catch (error) {
    const body = bodyOf(received);
    const { refresh_token: refresh, access_token: access } = (
      typeof body === 'object' && body !== null ? body : {}
    ) as Readonly<Record<string, unknown>>;
    await revokeDiscarded(context, issuer, [textOf(refresh), textOf(access)]);
    throw error;
  }
};
