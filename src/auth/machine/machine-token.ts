import { demo } from '../../api-specs/oauth/demo.ts';
import { fullScope } from '../../api-specs/oauth/scopes.ts';
import { AppError } from '../../core/problem.ts';
import type { AuthContext } from '../auth-context.ts';
import { type Instant, instantNow } from '../clock.ts';
import { sendPatiently } from '../protocol/send.ts';
import { clientRequest } from '../protocol/client-authentication.ts';
import { tokenClientOf } from '../token-client-of.ts';
import type { TokenResponse } from '../protocol/token-response.ts';
import { issuerOf, receiveTokens } from '../receive-tokens.ts';
import { scopesFrom } from '../scopes.ts';
import { type LoginServer, loginServer, type ServerOptions } from '../settings.ts';
import { type MachineMethodName, machineMethodNames } from '../../core/sign-in-words.ts';
import { isMachineMethod, machineMethods, type MachineOptions } from './methods.ts';

export type MachineToken = {
  readonly method: MachineMethodName;
  readonly name: string;
  readonly server: LoginServer;
  readonly response: TokenResponse;
  readonly scopes: readonly string[];
  readonly asked: Instant;
};

const unknownMethod = (value: string, origin: string): AppError =>
  new AppError('config', `${origin} is ${JSON.stringify(value)}, which is no sign-in method`, {
    code: 'UNKNOWN_METHOD',
    tryThis: [`use one of: ${['browser', ...machineMethodNames].join(', ')}`],
  });

/** The method that the settings name; a service account's key names its own. Undefined is the browser, and stored accounts. */
export const configuredMethod = ({ settings }: AuthContext): MachineMethodName | undefined => {
  const named = settings.get('auth.method');
  if (named !== undefined) {
    if (named.value === 'browser') return undefined;
    if (!isMachineMethod(named.value)) throw unknownMethod(named.value, named.origin);
    return named.value;
  }
  return settings.get('auth.service_account_key') === undefined ? undefined : 'service-account';
};

/** Flags before settings. */
export const machineOptions = (
  context: AuthContext,
  method: MachineMethodName,
  given: { readonly keyFile?: string; readonly audience?: string; readonly scopes?: readonly string[] } = {},
): MachineOptions => {
  const key = context.settings.get('auth.service_account_key');
  const audience = given.audience ?? context.settings.get('auth.audience')?.value;
  const scopes = given.scopes ?? scopesFrom(context.settings.get('auth.scopes')?.value ?? '');
  return {
    method,
    scopes,
    ...(audience === undefined ? {} : { audience }),
    ...(given.keyFile === undefined
      ? key === undefined
        ? {}
        : { key: { value: key.value, origin: key.origin } }
      : { key: { value: given.keyFile, origin: `the file ${given.keyFile}` } }),
  };
};

/** The embedded server's scopes and audience are known; elsewhere the operator names them. */
const withDefaults = (options: MachineOptions, server: LoginServer): MachineOptions => {
  if (!server.isMock) return options;
  const scopes = options.scopes.length > 0 ? options.scopes : [fullScope('media.readonly')];
  const audience =
    options.method === 'token-exchange' ? (options.audience ?? demo.ci.audience) : options.audience;
  return { ...options, scopes, ...(audience === undefined ? {} : { audience }) };
};

const withoutSecret = (method: MachineMethodName): AppError =>
  new AppError('config', `the sign-in method ${method} needs a client secret`, {
    code: 'METHOD_INCOMPLETE',
    tryThis: ['OPSCTL_CLIENT_SECRET=SECRET', 'opsctl config set auth.client_secret --stdin'],
  });

/** One token for a machine. Nothing of it is stored. */
export const machineToken = async (
  context: AuthContext,
  options: MachineOptions,
  given: ServerOptions = {},
): Promise<MachineToken> => {
  const method = machineMethods[options.method];
  const named = { ...(await method.server?.(context, options)), ...given };
  const server = await loginServer(context, named, { needsClient: method.needsClientSecret });
  if (method.needsClientSecret && server.clientSecret === undefined && server.clientKey === undefined)
    throw withoutSecret(options.method);
  const complete = withDefaults(options, server);
  const { fields, name } = await method.grant(context, complete, server.endpoints.token);
  const asked = instantNow(context.host);
  const tokenClient = await tokenClientOf(context, server);
  const request = clientRequest(tokenClient, server.endpoints.token, fields);
  const received = await sendPatiently(context, options.method, request);
  const response = await receiveTokens(
    context,
    options.method,
    { ...tokenClient, clientId: server.clientId === '' ? 'none' : server.clientId },
    issuerOf(server),
    received,
    { kind: 'refresh', requested: complete.scopes },
  );
  context.log.hide(response.accessToken);
  const who = options.method === 'client-credentials' ? server.clientId : name;
  return { method: options.method, name: who, server, response, scopes: complete.scopes, asked };
};
