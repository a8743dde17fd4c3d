import { int, list, str } from '../core/field.ts';
import type { Result } from '../core/result.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../cli/command.ts';
import { signInFindings } from '../support/doctor/sign-in.ts';
import { serverFlags } from './authorization-server-flags.ts';

const flags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'A scope that the client may ask for',
  },
  port: { field: int({ min: 1, max: 65535 }), value: 'port', summary: 'The port that login is to use' },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const run = async (context: Context, values: Given): Promise<Result> => {
  const rows = await signInFindings(context, values);
  const failed = rows.filter(({ state }) => state === 'fail').length;
  const message = failed === 0 ? 'signing in should work here' : `${failed} of ${rows.length} checks fail`;
  return {
    kind: 'rows',
    rows,
    view: { columns: ['check', 'state', 'found', 'remedy'], name: 'check', message },
    exit: () => (failed > 0 ? 'no' : 'done'),
  };
};

export const doctorAuth = defineCommand({
  path: ['doctor', 'auth'],
  summary: 'Find out why signing in does not work here',
  about:
    'Checks ports, browser, keychain, stored credentials, clock, proxy, certificates and whether the server accepts the redirect URI, each with a remedy. Nobody has to sign in. Ends with 20 when a check fails.',
  flags,
  examples: [{ line: 'opsctl doctor auth', says: 'Every check with its remedy' }],
  run,
});
