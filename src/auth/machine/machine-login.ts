import type { AuthContext } from '../auth-context.ts';
import type { Account } from '../credential-store/account.ts';
import { accountFrom } from '../credential-store/account.ts';
import { keepAccount } from '../keep-account.ts';
import type { ServerOptions } from '../settings.ts';
import { machineToken } from './machine-token.ts';
import type { MachineOptions } from './methods.ts';

/**
 * Stores what is needed to sign the machine in again: the access token, and where the key lies. The key itself, and the
 * identity token of the CI, are never written.
 */
export const machineLogin = async (
  context: AuthContext,
  options: MachineOptions,
  given: ServerOptions,
  account: string | undefined,
): Promise<Account> => {
  const token = await machineToken(context, options, given);
  const { endpoints, key, clientId, clientSecret, clientAuth, metadata } = token.server;
  const isPath = options.key !== undefined && !options.key.value.trimStart().startsWith('{');
  const keyFile = isPath ? options.key?.value : undefined;
  const method = {
    name: token.method,
    scopes: token.scopes,
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(options.audience === undefined ? {} : { audience: options.audience }),
  };
  const owner = {
    name: token.name.replace(/[^\w.@+-]/g, '-').slice(0, 80),
    signIn: '',
    server: key,
    endpoints,
    clientId,
    clientSecret,
    clientAuth,
    issuer: metadata?.issuer,
    method,
  };
  const made = accountFrom(owner, token.response, token.scopes, token.asked);
  return keepAccount(context, made, { name: account, replaces: true });
};
