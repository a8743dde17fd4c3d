import { AppError } from '../../core/problem.ts';
import { type Finding, fails } from '../../auth/finding.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedServer } from '../../auth/login/asked.ts';

type Given = AskedServer & {
  readonly scope?: readonly string[] | undefined;
  readonly port?: number | undefined;
  readonly 'redirect-path'?: string | undefined;
};

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
  const { serverFindings } = await import('../../auth/doctor.ts');
  const { probeFor } = await import('../../auth/probe.ts');
  const { loginServer } = await import('../../auth/settings.ts');
  const { givenServer } = await import('../../auth/login/server.ts');
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
    '../../auth/machine.ts'
  );
  return [
    ...(await portFindings(context, values.port ?? 0)),
    await browserFinding(context, context.isInteractive),
    await keychainFinding(context),
    await credentialStoreFinding(context),
    ...(await serverRows(context, values)),
  ];
};
