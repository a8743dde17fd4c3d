import type { Context } from '../../api/context.ts';
import { audiencesOf, expectedOf, listenAsAsked } from '../../auth/events/listen.ts';
import { queue, type Received } from '../../auth/events/receiver.ts';
import { storedEverywhere } from '../../auth/server-profiles.ts';
import { loginServer } from '../../auth/settings.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import type { Result } from '../../core/result.ts';
import { serverFlags } from '../authorization-server-flags.ts';

const flags = {
  listen: { field: bool(), required: true, summary: 'Listen until interrupted' },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Port on 127.0.0.1 (default: a free one)',
  },
  count: { field: int({ min: 1 }), value: 'n', summary: 'End after this many events' },
  subscribe: { field: bool(), summary: 'Subscribe this receiver at the embedded server' },
  issuer: {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Issuer (default: read from the metadata of the server)',
  },
  'jwks-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Keys of the issuer (default: read from the metadata)',
  },
  'auth-url': serverFlags['auth-url'],
  'token-url': serverFlags['token-url'],
  'client-id': serverFlags['client-id'],
} as const satisfies Flags;
export type EventsValues = ValuesOf<typeof flags>;
export const events = defineCommand({
  path: ['auth', 'events'],
  noDryRun: 'opsctl auth events --help',
  summary: 'Receive security events and drop the credentials that they revoke',
  about:
    'Listens for signed event tokens (sessions-revoked, token-revoked, account-disabled), checks their signature with the published keys of the server, their issuer and their audience, and prints one line for each. Ends with Ctrl-C, or after --count events.',
  flags,
  examples: [
    {
      line: 'opsctl auth events --listen --port 8473',
      says: 'Behind a reverse proxy that the service can reach',
    },
    {
      line: 'opsctl auth events --listen --subscribe --count 1',
      says: 'With the running embedded server (opsctl mock serve)',
    },
  ],
  run: async (context, values) => runEvents(context, values),
});

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
