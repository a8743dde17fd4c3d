import { AppError } from '../core/problem.ts';
import { mockKey } from './settings.ts';
import type { AccessToken } from './token.ts';
import type { AuthContext } from './auth-context.ts';

/** A token of one place must not be sent to another, and the embedded API must not be taken for a real one. */
export const checkPlace = (
  target: { readonly baseUrl: string; readonly isMock: boolean },
  { account, server, origin }: AccessToken,
  service: 'api' | 'labels' = 'api',
): void => {
  const from = account?.server ?? server;
  if (from === undefined || (from === mockKey) === target.isMock) return;
  const who = account === undefined ? origin : `account ${account.name}`;
  if (target.isMock)
    throw new AppError('config', `${who} is signed in at ${from}, but ${service}.url is not set`, {
      code: service === 'api' ? 'NO_API_URL' : 'NO_LABELS_URL',
      tryThis: [`opsctl config set ${service}.url URL`, `or set OPSCTL_${service.toUpperCase()}_URL`],
    });
  throw new AppError(
    'auth',
    `${who} is signed in at the embedded server only, and ${new URL(target.baseUrl).host} is another service`,
    {
      code: 'NOT_SIGNED_IN',
      tryThis: ['opsctl login --auth-url URL --token-url URL --client-id ID'],
    },
  );
};

/** The header that lets a request to the data API in; none when nobody is signed in, and then the service says so. */
export const bearerHeader = async (context: AuthContext): Promise<Record<string, string>> => {
  const { accessToken } = await import('./token.ts');
  const target = await context.target('api');
  if (target.headers.authorization !== undefined) return {};
  try {
    const token = await accessToken(context);
    checkPlace(target, token);
    return { authorization: `Bearer ${token.token}` };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'NOT_SIGNED_IN') return {};
    throw error;
  }
};
