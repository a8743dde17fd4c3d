import { tracker } from '../../api-specs/tracker/index.ts';
import type { webhooks } from '../../api-specs/tracker/workspace.ts';
import { check } from '../../core/check.ts';
import { int, obj, oneOf, req } from '../../core/field.ts';
import type { ControlAnswer } from '../service-set.ts';
import type { Handlers } from '../table-service.ts';
import { deliverAgain, deliverToAll, eventOf } from './events.ts';
import type { StoredWebhook } from './row.ts';
import { appUrl, findRecord, newId, now, ownerId, type Tracker } from './state.ts';

export const webhookHandlers: Handlers<{ webhooks: typeof webhooks }, Tracker>['webhooks'] = {
  // spec/tracker#webhooks: 204; spec/program#choices: `Location` carries the id that a 204 cannot.
  create: ({ state, body, headers }) => {
    const at = now(state);
    const hook: StoredWebhook = {
      id: newId(state),
      entity_type: 'integration',
      type: 'generic',
      webhook_url: body.webhook_url,
      disabled: false,
      creator_id: ownerId(state),
      secret: body.secret ?? null,
      created_at: at,
      updated_at: at,
    };
    state.webhooks.put(hook.id, hook);
    headers.location = `${tracker.basePath}/integrations/webhook/${hook.id}`;
    return undefined;
  },
  get: ({ state, params }) => {
    const { secret, ...rest } = findRecord(state.webhooks, params['integration-public-id']);
    return { ...rest, has_secret: secret !== null };
  },
  delete: ({ state, params }) => {
    state.webhooks.delete(findRecord(state.webhooks, params['integration-public-id']).id);
    return undefined;
  },
};

const triggerInput = obj({
  event: req(
    oneOf('story.create', 'story.update', 'story.delete', 'epic.create', 'epic.update', 'epic.delete'),
  ),
  id: int(),
});
const resendInput = obj({ number: req(int({ min: 1 })) });
/** An event of an existing record, or of a synthetic one. The workspace does not change. */
const trigger = (state: Tracker, event: string, id: number | undefined): ControlAnswer => {
  if (state.webhooks.size === 0) return { status: 404, message: 'no webhook is registered' };
  const [kind = 'story', verb = 'update'] = event.split('.') as [
    'story' | 'epic',
    'create' | 'update' | 'delete',
  ];
  const records = kind === 'story' ? state.stories : state.epics;
  const record = id === undefined ? [...records.values()].at(-1) : records.get(id);
  if (id !== undefined && record === undefined) return { status: 404, message: `there is no ${kind} ${id}` };
  const { id: key, name } = record ?? { id: 0, name: `Example ${kind}` };
  const action = {
    id: key,
    entity_type: kind,
    action: verb,
    name,
    ...(kind === 'story' ? { story_type: 'feature' } : {}),
    app_url: appUrl(state, kind, key),
    ...(verb === 'update' ? { changes: { description: { old: '', new: 'Sent by hand' } } } : {}),
  };
  return { value: deliverToAll(state, eventOf(state, key, action, []), event).map(showDelivery) };
};
const showDelivery = <T extends { readonly body: string }>({ body: _body, ...rest }: T): Omit<T, 'body'> =>
  rest;
/** `mock webhooks …`: deliveries to webhooks, redelivery, and test events without a change. */
export const webhookControl =
  (state: Tracker) =>
  (path: string, input: unknown): ControlAnswer | undefined => {
    const checkInput = (
      field: ReturnType<typeof obj>,
      work: (given: any) => ControlAnswer,
    ): ControlAnswer => {
      const problems = check(field, input);
      return problems.length > 0 ? { status: 400, message: 'the body is not right', problems } : work(input);
    };
    switch (path) {
      case 'webhooks':
        return {
          value: [...state.webhooks.values()].map(({ secret, ...hook }) => ({
            ...hook,
            has_secret: secret !== null,
          })),
        };
      case 'webhooks/deliveries':
        return { value: state.sent.list };
      case 'webhooks/trigger':
        return checkInput(triggerInput, ({ event, id }) => trigger(state, event, id));
      case 'webhooks/resend':
        return checkInput(resendInput, ({ number }) => {
          const again = deliverAgain(state, number);
          return again === undefined
            ? { status: 404, message: `there is no delivery ${number} to a webhook that is still there` }
            : { value: showDelivery(again) };
        });
      default:
        return undefined;
    }
  };
