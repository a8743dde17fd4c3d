import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { AppError } from '../../core/problem.ts';
import type { AuthContext } from '../auth-context.ts';
import type { Account } from '../credential-store/account.ts';
import { discover } from '../protocol/discovery.ts';
import type { LoginServer } from '../settings.ts';
import { listenForEvents, type ReceiverOptions } from './receiver.ts';

/** Has the embedded server deliver its events to this address, until the function that it gives is called. */
const subscribe = async (
  context: AuthContext,
  origin: string,
  client: string,
  url: string,
): Promise<() => Promise<void>> => {
  const base = `${origin}${authPaths.console}/events/subscriptions`;
  const headers = { 'content-type': 'application/json' };
  const reply = await context.host.network.request({
    method: 'POST',
    url: base,
    headers,
    body: JSON.stringify({ client, receiver: url }),
  });
  const { id } = JSON.parse(await reply.text()) as { id?: string };
  if (reply.status >= 400 || id === undefined)
    throw new AppError(
      'refused',
      `the embedded server did not accept the subscription (HTTP ${reply.status})`,
      { httpStatus: reply.status },
    );
  return async () => {
    await (
      await context.host.network.request({ method: 'DELETE', url: `${base}/${encodeURIComponent(id)}` })
    ).text();
  };
};
type Asked = { readonly port?: number | undefined; readonly subscribe?: boolean | undefined };
type Listening = { readonly url: string; close(): Promise<void> };
/** Listens, and registers the receiver at the embedded server if requested. */
export const receiveEvents = async (
  context: AuthContext,
  server: LoginServer,
  values: Asked,
  expected: Omit<ReceiverOptions, 'host' | 'port'>,
): Promise<Listening> => {
  const listener = await listenForEvents(context, {
    ...expected,
    host: '127.0.0.1',
    port: values.port ?? 0,
  });
  const url = `http://127.0.0.1:${listener.port}/`;
  const subscribed =
    values.subscribe === true
      ? subscribe(context, new URL(server.endpoints.token).origin, server.clientId, url)
      : undefined;
  const unsubscribe = await subscribed?.catch(async (error: unknown) => {
    await listener.close();
    throw error;
  });
  return {
    url,
    close: async () => {
      await unsubscribe?.().catch(() => undefined);
      await listener.close();
    },
  };
};

type Expected = { readonly issuer: string; readonly jwksUri: string };
type ExpectedEvents = { readonly issuer?: string | undefined; readonly 'jwks-url'?: string | undefined };
/** The issuer of the events and its keys: as configured, otherwise as published by the server. */
export const expectedOf = async (
  context: AuthContext,
  server: LoginServer,
  values: ExpectedEvents,
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
/** The clients that an event may concern, including those of the stored accounts at this server. */
export const audiencesOf = (server: LoginServer, accounts: readonly Account[]): string[] => [
  ...new Set([
    server.clientId,
    ...accounts.filter((account) => account.server === server.key).map(({ clientId }) => clientId),
  ]),
];
