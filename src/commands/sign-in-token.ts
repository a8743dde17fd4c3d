import { AppError } from '../core/problem.ts';
import type { Reach } from '../cli/command.ts';
import type { Environment } from './configured-target.ts';

/**
 * The token of a sign-in, for services that take one when no other is set. A token never leaves the side it came from:
 * one of the embedded server stays there, and one of a real server never goes to the mock.
 */
export const signedIn = async (
  env: Environment,
  reach: Reach['reach'],
  isMock: boolean,
): Promise<Record<string, string>> => {
  const [{ accessToken }, { mockKey }] = await Promise.all([
    import('../auth/token.ts'),
    import('../auth/settings.ts'),
  ]);
  const signal = env.signal ?? new AbortController().signal;
  try {
    const { token, account } = await accessToken({ ...env, signal, target: reach });
    if (account === undefined ? isMock : (account.server === mockKey) !== isMock) return {};
    env.log.hide(token);
    return { authorization: `Bearer ${token}` };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'NOT_SIGNED_IN') return {};
    throw error;
  }
};
