import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { finishDetachedLogin, startDetachedLogin } from '../detached-login.ts';
import { readSecret } from '../read-secret.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin } from './asked.ts';
import { planFrom } from './plan.ts';
import { resultFor } from './result.ts';
import { givenServer, serverOf } from './server.ts';

export const finish = async (context: Context, values: AskedLogin, given: string): Promise<Result> => {
  const pasted = given === '-' ? await readSecret(context.host, 'finish') : given;
  const { clientSecret } = await givenServer(context, values);
  return resultFor(
    context,
    await finishDetachedLogin(context, pasted, clientSecret),
    values['require-scopes'] === true,
  );
};

/** The address is opened after this command has ended: the server must still be there then. */
export const begin = async (context: Context, values: AskedLogin): Promise<Result> => {
  const server = await serverOf(context, values);
  if (server.isMock && (await context.target('auth')).isPassing === true)
    throw new AppError(
      'config',
      '--start: the embedded server ends with this command, so nobody could open the address',
      {
        code: 'MOCK_ENDS',
        tryThis: [
          'opsctl mock serve in another terminal, then this again',
          'opsctl login --no-browser (waits, and takes the address as a line)',
        ],
      },
    );
  const started = await startDetachedLogin(context, await planFrom(context, server, values));
  return recordResult(started, {
    message: `login started; it can be finished until ${started.expires_at}`,
    text: '',
  });
};
