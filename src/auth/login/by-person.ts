import { AppError } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { signIn } from '../flow.ts';
import { machineHints } from '../machine/hints.ts';
import { signInWithDevice } from '../methods/device.ts';
import { claimLogin } from '../pending-login.ts';
import type { LoginServer } from '../settings.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin } from './asked.ts';
import { planFrom, waitFrom } from './plan.ts';
import { resultFor } from './result.ts';
import { serverOf } from './server.ts';
import { wanted } from './wanted-scopes.ts';

/** Somebody would have to open the address and answer: with --no-input that is refused at once. */
const expectsNobody = (context: Context, values: AskedLogin, server: LoginServer): void => {
  if (context.asksNothing !== true || values.scripted === true || (server.isMock && values.browser !== false))
    return;
  throw new AppError(
    'auth',
    'signing in with the browser needs a person, and --no-input forbids to ask one',
    {
      code: 'NO_INPUT',
      tryThis: machineHints(context),
    },
  );
};

export const interactive = async (context: Context, values: AskedLogin): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const lock = await claimLogin(context, values.replace === true);
  try {
    return resultFor(
      context,
      await signIn(context, await planFrom(context, server, values)),
      values['require-scopes'] === true,
    );
  } finally {
    await lock.release();
  }
};

export const withDevice = async (context: Context, values: AskedLogin): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const { scopes, account } = await wanted(context, server, values);
  const timeoutMs = waitFrom(values.timeout ?? '15m');
  const lock = await claimLogin(context, values.replace === true);
  try {
    const signedIn = await signInWithDevice(context, { server, scopes, account, timeoutMs });
    return resultFor(context, signedIn, values['require-scopes'] === true);
  } finally {
    await lock.release();
  }
};
