import { help, int, req, str, url } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { webhook } from './workspace-records.ts';

const id = { 'integration-public-id': req(help(int(), 'The webhook integration')) } as const;

/** spec/tracker#webhooks. The registration answers without a body; `Location` names the new record (spec/program#choices). */
export const webhooks = {
  create: op({
    method: 'POST',
    path: '/integrations/webhook',
    summary: 'Register a webhook',
    cites: 'spec/tracker#webhooks',
    body: {
      webhook_url: req(help(url(2048), 'Where events are sent')),
      secret: help(str(128, { min: 1 }), 'Key of the signature'),
    },
    ok: 204,
    cli: {
      examples: ['opsctl tracker webhooks create --webhook-url https://hooks.example/in --secret "$SECRET"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/integrations/webhook/{integration-public-id}',
    summary: 'Show a webhook',
    cites: 'spec/tracker#webhooks',
    params: id,
    ok: 200,
    returns: webhook,
    cli: { columns: ['id', 'webhook_url', 'disabled', 'has_secret'] },
  }),
  delete: op({
    method: 'DELETE',
    path: '/integrations/webhook/{integration-public-id}',
    summary: 'Delete a webhook',
    cites: 'spec/tracker#webhooks',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete webhook {integration}? No more events are sent to it.' },
  }),
} as const satisfies Resource;
