import type { Context } from '../../api/context.ts';
import type { Received } from '../../auth/events/receiver.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import type { Result } from '../../core/result.ts';
import { serverFlags } from './account.ts';

const flags = {
  listen: { field: bool(), required: true, summary: 'Listen until interrupted' },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Port on 127.0.0.1 (default: a free port)',
  },
  count: { field: int({ min: 1 }), value: 'n', summary: 'Exit after N events' },
  subscribe: { field: bool(), summary: 'Subscribe this receiver at the embedded server' },
  issuer: {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Issuer (default: from the server metadata)',
  },
  'jwks-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: "URL of the issuer's keys (default: from the server metadata)",
  },
  'auth-url': serverFlags['auth-url'],
  'token-url': serverFlags['token-url'],
  'client-id': serverFlags['client-id'],
} as const satisfies Flags;
type EventsValues = ValuesOf<typeof flags>;
export const events = defineCommand({
  path: ['auth', 'events'],
  noDryRun: 'opsctl auth events --help',
  summary: 'Listen for security events and remove revoked credentials',
  about:
    'Receives signed event tokens (sessions-revoked, token-revoked, account-disabled), verifies their signature, issuer and audience, and prints one line per event. Stops on Ctrl-C or after --count events.',
  flags,
  examples: [
    {
      line: 'opsctl auth events --listen --port 8473',
      says: 'Listen behind a reverse proxy that the service can reach',
    },
    {
      line: 'opsctl auth events --listen --subscribe --count 1',
      says: 'Listen for events of the running embedded server (opsctl mock serve)',
    },
  ],
  run: async (context, values) => runEvents(context, values),
});

const runEvents = async (context: Context, values: EventsValues): Promise<Result> => {
  const [{ audiencesOf, expectedOf, queue, receiveEvents }, { storedEverywhere }, { loginServer }] =
    await Promise.all([
      import('../../auth/events/receiver.ts'),
      import('../../auth/server-profiles.ts'),
      import('../../auth/settings.ts'),
    ]);
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
  const listening = await receiveEvents(context, server, values, {
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
