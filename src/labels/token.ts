import { AppError } from '../core/problem.ts';
import type { Context, Target } from '../cli/command.ts';
import { type Asked, least, scopesOf } from './refusal.ts';

/** The target has no token: nobody is signed in, or at another place, where the token has to stay. */
export const whyNoToken = async (context: Context, target: Target, to: Asked): Promise<AppError> => {
  const [{ accessToken }, { checkPlace }] = await Promise.all([
    import('../auth/token.ts'),
    import('../auth/bearer.ts'),
  ]);
  try {
    checkPlace(target, await accessToken(context, { scopes: scopesOf(to) }), 'labels');
  } catch (error) {
    if (
      !(error instanceof AppError) ||
      error.detail.code !== 'NOT_SIGNED_IN' ||
      error.detail.tryThis?.[0] !== 'opsctl login'
    )
      throw error;
    return new AppError('auth', error.message, {
      ...error.detail,
      tryThis: [`opsctl login --add-scope ${least(scopesOf(to), to)}`],
    });
  }
  return new AppError('auth', 'the label service has no access token', {
    code: 'NOT_SIGNED_IN',
    tryThis: ['OPSCTL_LABELS_TOKEN=…'],
  });
};

/** A token of `opsctl login` that looked good from here and was refused: revoked early, or the clocks differ. */
export const renewed = async (context: Context, refused: string): Promise<string | undefined> => {
  if (context.settings.get('labels.token') !== undefined) return undefined;
  const { accessToken } = await import('../auth/token.ts');
  const { token, account } = await accessToken(context, { refused });
  if (account === undefined || token === refused) return undefined;
  context.log.hide(token);
  return token;
};
