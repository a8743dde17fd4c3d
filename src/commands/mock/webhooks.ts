import { int, oneOf, req } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import { defineCommand, type Command } from '../../cli/command.ts';

const columns = ['number', 'webhook_id', 'event', 'status', 'attempts', 'answer', 'at'];

const deliveries = defineCommand({
  path: ['mock', 'webhooks', 'deliveries'],
  summary: 'List what the running server sent to webhooks, newest last',
  about: 'The last 1,000 are kept while the server runs, with the exact body.',
  examples: [
    { line: 'opsctl mock webhooks deliveries --jq ".[-1].body | fromjson"', says: 'The newest event' },
  ],
  run: async (context) => {
    const { requireServer, steer } = await import('./remote.ts');
    requireServer(context);
    return rowsResult(await steer(context, (ask) => ask('GET', 'webhooks/deliveries')), { columns });
  },
});

const resend = defineCommand({
  path: ['mock', 'webhooks', 'resend'],
  noDryRun: 'opsctl mock webhooks deliveries',
  summary: 'Send a delivery again, byte for byte',
  args: [{ name: 'number', field: req(int({ min: 1 })), summary: 'Its number in the list of deliveries' }],
  run: async (context, values) => {
    const { requireServer, steer } = await import('./remote.ts');
    requireServer(context);
    const again = await steer(context, (ask) => ask('POST', 'webhooks/resend', { number: values.number }));
    return rowsResult([again], { columns });
  },
});

const trigger = defineCommand({
  path: ['mock', 'webhooks', 'trigger'],
  noDryRun: 'opsctl mock webhooks deliveries',
  summary: 'Send an event to all webhooks without a change in the workspace',
  args: [
    {
      name: 'event',
      field: req(
        oneOf('story.create', 'story.update', 'story.delete', 'epic.create', 'epic.update', 'epic.delete'),
      ),
      summary: 'What is said to have happened',
    },
  ],
  flags: { id: { field: int(), summary: 'The story or epic (default: the newest)', value: 'id' } },
  examples: [
    { line: 'opsctl mock webhooks trigger story.update', says: 'Test a receiver without touching a story' },
  ],
  run: async (context, values) => {
    const { requireServer, steer } = await import('./remote.ts');
    requireServer(context);
    const body = { event: values.event, ...(values.id === undefined ? {} : { id: values.id }) };
    return rowsResult(await steer(context, (ask) => ask('POST', 'webhooks/trigger', body)), { columns });
  },
});

/** `opsctl mock webhooks …` */
export const webhookCommands: readonly Command[] = [deliveries, resend, trigger];
