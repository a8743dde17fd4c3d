import { openCredentialStore } from '../credential-store/store.ts';
import { readSecret } from '../read-secret.ts';
import { type LoginServer, type ServerOptions, loginServer } from '../settings.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin, AskedServer } from './asked.ts';

export const givenServer = async (context: Context, values: AskedServer): Promise<ServerOptions> => ({
  issuer: values.issuer,
  authUrl: values['auth-url'],
  tokenUrl: values['token-url'],
  revokeUrl: values['revoke-url'],
  clientId: values['client-id'],
  ...(values['client-secret-stdin'] === true
    ? { clientSecret: await readSecret(context.host, 'client-secret-stdin', /[^\x20-\x7e]/) }
    : {}),
});

/** A store that cannot be read would lose the tokens: said before anybody signs in. */
export const serverOf = async (context: Context, values: AskedLogin): Promise<LoginServer> => {
  const server = await loginServer(context, await givenServer(context, values));
  await openCredentialStore(context, server.key).read();
  return server;
};
