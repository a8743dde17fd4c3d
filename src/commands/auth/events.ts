import { bool, int, str } from '../../core/field.ts';
import { defineCommand, type Flags, type ValuesOf } from '../../cli/command.ts';
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
  run: async (context, values) => (await import('./run-events.ts')).runEvents(context, values),
});
