import { AppError } from '../../core/problem.ts';
import type { AuthContext } from '../auth-context.ts';
import { identityHints } from './identity-token.ts';

/** Nobody can open a browser here: a CI job, or a program without a terminal. */
const isUnattended = ({ host }: Pick<AuthContext, 'host'>): boolean =>
  Boolean(host.env.CI) || !(host.terminal.stdin.isTty && host.terminal.stderr.isTty);

/** The sign-in methods that would work here, the one without a stored secret first. */
export const machineHints = (context: Pick<AuthContext, 'host'>): readonly string[] => {
  const { env } = context.host;
  const exchange = 'OPSCTL_AUTH_METHOD=token-exchange (exchanges the identity token of this CI job)';
  const hasIdentity =
    env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined || env.OPSCTL_IDENTITY_TOKEN !== undefined;
  const isCi = env.GITHUB_ACTIONS !== undefined || env.GITLAB_CI !== undefined;
  return [
    ...(hasIdentity ? [exchange] : isCi ? [`${exchange}; ${identityHints(context)[0]}`] : []),
    'OPSCTL_SERVICE_ACCOUNT_KEY=PATH (a service account signs in with its key file)',
    'OPSCTL_ACCESS_TOKEN=TOKEN',
    'opsctl login --start, and --finish where a person has a browser',
  ];
};

/** The embedded server lets a program without a browser or a terminal sign in, so there the usual line works. */
const isEmbedded = ({ settings }: Pick<AuthContext, 'settings'>): boolean =>
  ['auth.url', 'auth.issuer', 'auth.token_url', 'mock'].every((key) => settings.get(key) === undefined);

/** Adds them to the error that says that nobody is signed in. */
export const withMachineHints = async <T>(context: AuthContext, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const isOurs = error instanceof AppError && error.detail.code === 'NOT_SIGNED_IN';
    if (!isOurs || !isUnattended(context)) throw error;
    const { tryThis = [], ...detail } = error.detail;
    throw new AppError(error.category, error.message, {
      ...detail,
      tryThis: isEmbedded(context)
        ? [...tryThis, ...machineHints(context)]
        : [...machineHints(context), ...tryThis],
    });
  }
};
