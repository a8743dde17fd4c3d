import type { Result } from '../../core/result.ts';
import { audiencesOf, expectedOf } from '../../auth/events/expected.ts';
import { listenAsAsked } from '../../auth/events/listen.ts';
import { queue } from '../../auth/events/queue.ts';
import type { Received } from '../../auth/events/receiver.ts';
import { storedEverywhere } from '../../auth/server-profiles.ts';
import { loginServer } from '../../auth/settings.ts';
import type { Context } from '../../cli/command.ts';
import type { EventsValues } from './events.ts';

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
