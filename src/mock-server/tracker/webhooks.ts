import { tracker } from '../../api-specs/tracker/index.ts';
import type { webhooks } from '../../api-specs/tracker/webhooks.ts';
import type { Handlers } from '../table-service.ts';
import { found, newId, now, ownerId } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredWebhook } from './row.ts';

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
    const { secret, ...rest } = found(state.webhooks, params['integration-public-id']);
    return { ...rest, has_secret: secret !== null };
  },
  delete: ({ state, params }) => {
    state.webhooks.delete(found(state.webhooks, params['integration-public-id']).id);
    return undefined;
  },
};
