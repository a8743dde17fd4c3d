import { AppError } from '../../core/problem.ts';
import type { AuthContext } from '../auth-context.ts';
import type { Account } from '../credential-store/account.ts';
import { discover } from '../protocol/discovery.ts';
import type { LoginServer } from '../settings.ts';

type Expected = { readonly issuer: string; readonly jwksUri: string };

type Asked = { readonly issuer?: string | undefined; readonly 'jwks-url'?: string | undefined };

/** Who signs the events and with which keys: as given, else as the server publishes it. */
export const expectedOf = async (
  context: AuthContext,
  server: LoginServer,
  values: Asked,
): Promise<Expected> => {
  const metadata = await discover(context.host, server.endpoints, context.signal);
  const issuer: string | undefined = values.issuer ?? metadata?.issuer;
  const jwksUri: string | undefined = values['jwks-url'] ?? metadata?.jwksUri;
  if (issuer === undefined || jwksUri === undefined)
    throw new AppError('config', 'the server does not publish its issuer and keys', {
      code: 'NO_METADATA',
      tryThis: ['give --issuer and --jwks-url'],
    });
  return { issuer, jwksUri };
};

/** The clients that an event may be meant for: those of the stored accounts at this server too. */
export const audiencesOf = (server: LoginServer, accounts: readonly Account[]): string[] => [
  ...new Set([
    server.clientId,
    ...accounts.filter((account) => account.server === server.key).map(({ clientId }) => clientId),
  ]),
];
