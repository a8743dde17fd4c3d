import type { AuthContext } from '../auth-context.ts';
import { type AccessToken, accessToken } from '../token.ts';

/** A token that lasts for what the program does with it; `refused` is one that its server did not take. */
export const credentialToken = (
  context: AuthContext,
  account: string | undefined,
  refused?: string,
): Promise<AccessToken> => accessToken(context, { account, minTtlMs: 60_000, refused });
