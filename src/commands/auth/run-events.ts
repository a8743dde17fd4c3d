import { AppError } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { listenForEvents, type Received, type ReceiverOptions } from '../../auth/events/receiver.ts';
import { loginServer, type LoginServer } from '../../auth/settings.ts';
import type { Account } from '../../auth/credential-store/account.ts';
import { storedEverywhere } from '../../auth/server-profiles.ts';
import { discover } from '../../auth/protocol/discovery.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { Context } from '../../cli/command.ts';
import type { EventsValues } from './events.ts';

/** Received events in the order of their arrival, as they arrive. */
const queue = (signal: AbortSignal, most: number) => {
  const waiting: Received[] = [];
  let wake: () => void = () => undefined;
  signal.addEventListener('abort', () => wake(), { once: true });
  return {
    push: (event: Received): void => {
      waiting.push(event);
      wake();
    },
    async *events(): AsyncGenerator<Received> {
      for (let given = 0; given < most; ) {
        const next = waiting.shift();
        if (next !== undefined) {
          given++;
          yield next;
          continue;
        }
        if (signal.aborted) throw signal.reason;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
};

const subscribe = async (
  context: Context,
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

type Expected = { readonly issuer: string; readonly jwksUri: string };

/** Who signs the events and with which keys: as given, else as the server publishes it. */
const expectedOf = async (context: Context, server: LoginServer, values: EventsValues): Promise<Expected> => {
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
const audiencesOf = (server: LoginServer, accounts: readonly Account[]): string[] => [
  ...new Set([
    server.clientId,
    ...accounts.filter((account) => account.server === server.key).map(({ clientId }) => clientId),
  ]),
];

type Listening = { readonly url: string; close(): Promise<void> };

/** Listens, and has the embedded server deliver there when that is asked for. */
const listenAsAsked = async (
  context: Context,
  server: LoginServer,
  values: EventsValues,
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
      ? subscribe(context, new URL(server.endpoints.authorize).origin, server.clientId, url)
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

export const runEvents = async (context: Context, values: EventsValues): Promise<Result> => {
  const accounts = (await storedEverywhere(context)).flatMap(({ data }) => data.accounts);
  const server = await loginServer(context, {
    authUrl: values['auth-url'],
    tokenUrl: values['token-url'],
    clientId: values['client-id'] ?? accounts[0]?.clientId,
  });
  const expected = await expectedOf(context, server, values);
  const received = queue(context.signal, values.count ?? Number.POSITIVE_INFINITY);
  const onEvent = (event: Received) => {
    for (const effect of event.effects)
      context.log.info(`${effect.event}: ${effect.did} of account ${effect.account}`);
    received.push(event);
  };
  const audiences = audiencesOf(server, accounts);
  const listening = await listenAsAsked(context, server, values, {
    ...expected,
    server: server.key,
    audiences,
    onEvent,
  });
  context.log.info(`Receiving security events of ${expected.issuer} at ${listening.url}`);
  const rows = (async function* () {
    try {
      yield* received.events();
    } finally {
      await listening.close();
    }
  })();
  return { kind: 'rows', rows, view: { columns: ['issued_at', 'types', 'effects'] } };
};
