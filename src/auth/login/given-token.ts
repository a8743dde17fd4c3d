import { recordResult, type Result } from '../../core/result.ts';
import { instantNow } from '../clock.ts';
import { describeAccount } from '../describe.ts';
import { keepAccount } from '../keep-account.ts';
import { readSecret } from '../read-secret.ts';
import { scopesFrom } from '../scopes.ts';
import { loginServer } from '../settings.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin } from './asked.ts';
import { givenServer } from './server.ts';

export const storeGivenToken = async (context: Context, values: AskedLogin): Promise<Result> => {
  const token = await readSecret(context.host, 'token-stdin');
  context.log.hide(token);
  // A given token is sent as it is; no client is needed to use it.
  const server = await loginServer(
    context,
    await givenServer(context, {
      ...values,
      'client-id': values['client-id'] ?? 'none',
      'client-secret-stdin': false,
    }),
  );
  const scopes = (values.scope ?? []).flatMap(scopesFrom);
  const { wallMs: obtainedMs, boot: obtainedBoot } = instantNow(context.host);
  const { key, endpoints, clientId } = server;
  const given = { name: 'token', server: key, endpoints, clientId, requested: scopes, granted: scopes };
  const account = await keepAccount(
    context,
    { ...given, obtainedMs, obtainedBoot, accessToken: token },
    { name: values.account, replaces: true },
  );
  return recordResult(describeAccount(account, instantNow(context.host)), {
    message: `token stored as account ${account.name}`,
    name: 'account',
  });
};
