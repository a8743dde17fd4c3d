import type { MachineMethodName } from '../../core/sign-in-words.ts';
import type { Result } from '../../core/result.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { machineLogin } from '../machine/machine-login.ts';
import { configuredMethod, machineOptions } from '../machine/machine-token.ts';
import { isMachineMethod } from '../machine/methods.ts';
import { scopesFrom } from '../scopes.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin } from './asked.ts';
import { interactive, withDevice } from './by-person.ts';
import { begin, finish } from './detached.ts';
import { storeGivenToken } from './given-token.ts';
import { resultFor } from './result.ts';
import { givenServer } from './server.ts';

/** A method without a person and without a question; the settings may name it as well. */
const machineMethodOf = (context: Context, values: AskedLogin): MachineMethodName | undefined => {
  if (values.method === undefined) return values.start === true ? undefined : configuredMethod(context);
  return isMachineMethod(values.method) ? values.method : undefined;
};
const asMachine = async (
  context: Context,
  values: AskedLogin,
  method: MachineMethodName,
): Promise<Result> => {
  const options = machineOptions(context, method, {
    keyFile: values['key-file'],
    audience: values.audience,
    scopes: values.scope?.flatMap(scopesFrom),
  });
  const given = await givenServer(context, values);
  return resultFor(context, await machineLogin(context, options, given, values.account), false);
};

export const runLogin = async (context: Context, values: AskedLogin): Promise<Result> => {
  await openCredentialStore(context).read();
  if (values['token-stdin'] === true) return storeGivenToken(context, values);
  const machine = values.finish === undefined ? machineMethodOf(context, values) : undefined;
  if (machine !== undefined) return asMachine(context, values, machine);
  if (values.finish !== undefined) return finish(context, values, values.finish);
  if (values.method === 'device') return withDevice(context, values);
  return values.start === true ? begin(context, values) : interactive(context, values);
};
