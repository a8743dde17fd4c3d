import { bool, list, oneOf, str } from '../../core/field.ts';
import { defineCommand, type Flags, type ValuesOf } from '../../cli/command.ts';
import { serverFlags } from '../authorization-server-flags.ts';

const flags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'A scope that the client may ask for',
  },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI',
  },
  only: {
    effects: [],
    field: oneOf('rfc', 'service'),
    value: 'rfc|service',
    summary: 'Only the rules of the standards (RFCs), or only those of the service',
  },
  login: { effects: ['runs'], field: bool(), summary: 'Also sign in once, in the browser' },
  timeout: {
    effects: [],
    field: str(),
    value: 'duration',
    summary: 'How long to wait for the sign-in (default 5m)',
  },
  scripted: {
    effects: ['runs'],
    field: bool(),
    hidden: true,
    summary: 'Walk the pages of the embedded server without a browser',
  },
} as const satisfies Flags;
export type ConformanceValues = ValuesOf<typeof flags>;

export const conformance = defineCommand({
  path: ['auth', 'conformance'],
  summary: 'Check an authorization server against its specification and the standards',
  about:
    'Sends wrong and right requests to the three endpoints and prints what held. Nothing is changed at the server; with --login one sign-in is made, refreshed and revoked. Ends with 20 when a check fails.',
  flags,
  examples: [
    { line: 'opsctl auth conformance', says: 'The embedded server' },
    {
      line: 'opsctl auth conformance --auth-url https://accounts.example.com --token-url https://oauth2.example.com --client-id ID --scope SCOPE --only rfc',
      says: 'Another server',
    },
  ],
  run: async (context, values) => (await import('./run-conformance.ts')).runConformance(context, values),
});
