import { AppError, usageError } from '../core/problem.ts';
import { endpointProblems, endpointsFrom, type Endpoints, serverKey } from './endpoints.ts';
import type { AuthContext } from './auth-context.ts';
import { authPaths } from '../api-specs/oauth/endpoints.ts';
import { demo } from '../api-specs/oauth/demo.ts';

export type ServerOptions = {
  readonly authUrl?: string;
  readonly tokenUrl?: string;
  readonly revokeUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
};
/** The authorization server of this run and who we are there. */
export type LoginServer = {
  readonly endpoints: Endpoints;
  /** Accounts are kept apart by it: the origin, or `mock`. */
  readonly key: string;
  readonly isMock: boolean;
  readonly clientId: string;
  readonly clientSecret?: string;
};

export const mockKey = 'mock';

export const embeddedEndpoints = (baseUrl: string): Endpoints => {
  const origin = new URL(baseUrl).origin;
  return {
    authorize: origin + authPaths.authorize,
    token: origin + authPaths.token,
    revoke: origin + authPaths.revoke,
  };
};

const noClient = (): AppError =>
  new AppError('config', 'the client ID is not set', {
    code: 'NO_CLIENT_ID',
    tryThis: [
      'opsctl login --client-id ID',
      'opsctl config set auth.client_id ID',
      'OPSCTL_CLIENT_ID=ID opsctl login',
    ],
  });

/** Flag before setting; with neither, the embedded server. */
export const loginServer = async (context: AuthContext, given: ServerOptions): Promise<LoginServer> => {
  const setting = (key: string): string | undefined => context.settings.get(key)?.value;
  const auth = given.authUrl ?? setting('auth.url');
  const clientSecret = given.clientSecret ?? setting('auth.client_secret');
  if (clientSecret !== undefined) context.log.hide(clientSecret);
  const secret = clientSecret === undefined ? {} : { clientSecret };
  if (auth === undefined) {
    if (given.tokenUrl !== undefined)
      throw usageError('--token-url needs --auth-url', [], ['add --auth-url']);
    const target = await context.target('auth');
    const clientId =
      given.clientId ?? setting('auth.client_id') ?? (target.isMock ? demo.clients.desktop : undefined);
    if (clientId === undefined) throw noClient();
    return {
      endpoints: embeddedEndpoints(target.baseUrl),
      key: target.isMock ? mockKey : new URL(target.baseUrl).origin,
      isMock: target.isMock,
      clientId,
      ...secret,
    };
  }
  const named = {
    auth,
    token: given.tokenUrl ?? setting('auth.token_url'),
    revoke: given.revokeUrl ?? setting('auth.revoke_url'),
  };
  const problems = endpointProblems(named);
  if (problems.length > 0) throw usageError('an address of the authorization server is wrong', problems);
  const endpoints = endpointsFrom(named);
  const clientId = given.clientId ?? setting('auth.client_id');
  if (clientId === undefined) throw noClient();
  return { endpoints, key: serverKey(endpoints), isMock: false, clientId, ...secret };
};
