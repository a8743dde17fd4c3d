import type { AuthContext } from './auth-context.ts';
import { type ClientKey, clientAssertion } from './protocol/client-authentication.ts';
import type { TokenClient } from './protocol/token-client.ts';
import { clientKeyOf } from './settings.ts';

type Owner = Pick<TokenClient, 'endpoints' | 'clientId' | 'clientSecret' | 'clientAuth'> & {
  readonly clientKey?: ClientKey;
  readonly metadata?: { readonly issuer: string; readonly jwksUri?: string };
};

/** The client of one request: a secret that is only in the settings is taken from there, and a key signs anew each time. */
export const tokenClientOf = async (context: AuthContext, owner: Owner): Promise<TokenClient> => {
  const { endpoints, clientId, clientAuth, metadata } = owner;
  const clientSecret = owner.clientSecret ?? context.settings.get('auth.client_secret')?.value;
  const key =
    clientAuth === 'private_key_jwt' ? (owner.clientKey ?? (await clientKeyOf(context))) : undefined;
  const assertion =
    key === undefined
      ? undefined
      : clientAssertion(context, { clientId, tokenEndpoint: endpoints.token }, key);
  return {
    endpoints,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(clientAuth === undefined ? {} : { clientAuth }),
    ...(assertion === undefined ? {} : { assertion }),
    ...(metadata === undefined ? {} : { issuer: metadata.issuer }),
    ...(metadata?.jwksUri === undefined ? {} : { jwksUri: metadata.jwksUri }),
  };
};
