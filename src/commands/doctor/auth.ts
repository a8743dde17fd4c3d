import { int, list, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { fails, type Finding } from '../../auth/doctor/finding.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { serverFlags } from '../authorization-server-flags.ts';

const flags = {
  ...serverFlags,
  scope: {
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'A scope that the client may ask for',
  },
  port: { field: int({ min: 1, max: 65535 }), value: 'port', summary: 'The port that login is to use' },
  'redirect-path': { field: str(200), value: 'path', summary: 'Path of the registered redirect URI' },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

/** Settings that are missing or wrong are a finding like any other: the machine's own checks are shown all the same. */
const settingsFinding = (error: unknown): Finding[] => {
  if (!(error instanceof AppError) || (error.category !== 'config' && error.category !== 'usage'))
    throw error;
  const { problems = [], tryThis = [] } = error.detail;
  return [
    fails(
      'settings',
      [error.message, ...problems.map(({ path, message }) => `${path} ${message}`)].join('; '),
      tryThis[0] ?? 'opsctl config list',
    ),
  ];
};
const serverRows = async (context: Context, values: Given): Promise<readonly Finding[]> => {
  const { serverFindings } = await import('../../auth/doctor/server.ts');
  const { probeFor } = await import('../../auth/probe.ts');
  const { loginServer } = await import('../../auth/settings.ts');
  const { givenServer } = await import('../../login/server.ts');
  const { fullScope } = await import('../../api-specs/oauth/scopes.ts');
  const server = await loginServer(context, await givenServer(context, values)).catch(settingsFinding);
  if (!('endpoints' in server)) return server;
  return serverFindings(
    context,
    probeFor(
      context.host,
      server,
      values.scope ?? [fullScope('media.readonly')],
      values['redirect-path'] ?? '',
      context.signal,
    ),
  );
};

/** Everything that signing in depends on; nobody has to sign in. */
export const signInFindings = async (context: Context, values: Given): Promise<readonly Finding[]> => {
  const { browserFinding, keychainFinding, portFindings, credentialStoreFinding } = await import(
    '../../auth/doctor/machine.ts'
  );
  return [
    ...(await portFindings(context, values.port ?? 0)),
    await browserFinding(context, context.isInteractive),
    await keychainFinding(context),
    await credentialStoreFinding(context),
    ...(await serverRows(context, values)),
  ];
};

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
