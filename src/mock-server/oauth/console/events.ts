import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { documentedEventTypes } from '../../../api-specs/oauth/events.ts';
import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { base64url } from '../digest.ts';
import { deliver, emitVerification } from '../security-events.ts';
import type { Auth, Subscription } from '../state.ts';
import { clientById, found } from './lookup.ts';
import { deliveryView, subscriptionView } from './views.ts';

type State = { readonly auth: Auth };

export const eventHandlers: Handlers<Pick<typeof consoleTable, 'events'>, State>['events'] = {
  list: ({ state: { auth } }) => [...auth.deliveries.values()].map(deliveryView),
  subscriptions: ({ state: { auth } }) => [...auth.subscriptions.values()].map(subscriptionView),
  subscribe: ({ state: { auth }, body }) => {
    const client = clientById(auth, body.client);
    if (!/^https?:\/\//.test(body.receiver))
      throw new HttpError(400, 'The receiver must be an HTTP address.', {
        problems: [problem('receiver', 'format', 'must start with http:// or https://')],
      });
    const subscription: Subscription = {
      id: base64url(auth.env.random(9)),
      client: client.id,
      url: body.receiver,
      types: body.types ?? documentedEventTypes,
      created_at: auth.env.now(),
    };
    auth.subscriptions.put(subscription.id, subscription);
    emitVerification(auth, subscription);
    return subscriptionView(subscription);
  },
  unsubscribe: ({ state: { auth }, params }) => {
    found(auth.subscriptions, params.subscription, 'subscription');
    auth.subscriptions.delete(params.subscription);
    return undefined;
  },
  resend: ({ state: { auth }, params }) => {
    const delivery = {
      ...found(auth.deliveries, params.delivery, 'delivery'),
      state: 'pending' as const,
      attempts: 0,
      done_at: null,
    };
    auth.deliveries.put(delivery.id, delivery);
    auth.env.later(() => deliver(auth, delivery.id));
    return deliveryView(delivery);
  },
};
