import { jwtBearer, tokenExchange, tokenTypes } from '../../api-specs/oauth/console-records.ts';
import { type RequestParams, valuesOf } from '../callback.ts';
import { demo, fullScope } from '../../api-specs/oauth/endpoints.ts';
import { isKeyContent } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { type MachineMethodName, machineMethodNames } from '../../core/shape.ts';
import { type AuthContext, type Instant, instantNow, scopesFrom, scopeText } from '../auth-context.ts';
import { keepAccount } from '../complete-login.ts';
import { issuerOf, receiveTokens } from '../issued-tokens.ts';
import { type Account, accountFrom, toAccountName } from '../credential-store/account.ts';
import { sendWithRetry } from '../protocol/send.ts';
import { clientRequest, type FormFields } from '../protocol/token-client.ts';
import type { TokenResponse } from '../protocol/token-response.ts';
import { tokenClientOf } from '../server-profiles.ts';
import { type LoginServer, loginServer, type ServerOptions } from '../settings.ts';
import { privateKeyFrom, signJwt } from '../sign-jwt.ts';
import { identityToken } from './identity-token.ts';
import { type KeyFile, readKeyFile } from '../read-secret.ts';

/** The operator's input, from flags or settings. */
export type MachineOptions = {
  readonly method: MachineMethodName;
  /** Path or content of a key file, and where it was given. */
  readonly key?: { readonly value: string; readonly origin: string };
  readonly audience?: string;
  readonly scopes: readonly string[];
  /** Additional fields of the token request, such as `resource` (RFC 8707); they may be repeated. */
  readonly params: RequestParams;
  /** Form of the token that is exchanged: a name or a URI of RFC 8693 3. */
  readonly subjectTokenType?: string;
  /** Audience that the identity token is requested for; the other audience if it is not set. */
  readonly subjectAudience?: string;
};
/** Fields of the token request, and the facts that are known before it is sent. */
type MachineGrant = {
  readonly fields: FormFields;
  /** Whom the token will act for, as far as this side knows. */
  readonly name: string;
};
export type MachineMethod = {
  readonly summary: string;
  /** Settings that it cannot do without, in the words of the environment. */
  readonly needs: readonly string[];
  readonly needsClientSecret: boolean;
  /** The server data of the key file, if there is one. */
  server?(context: AuthContext, options: MachineOptions): Promise<ServerOptions>;
  grant(context: AuthContext, options: MachineOptions, tokenEndpoint: string): Promise<MachineGrant>;
};
const missing = (method: MachineMethodName, what: string, tryThis: readonly string[]): AppError =>
  new AppError('config', `the sign-in method ${method} needs ${what}`, {
    code: 'METHOD_INCOMPLETE',
    tryThis,
  });
const keyOf = (context: AuthContext, { key }: MachineOptions): Promise<KeyFile> => {
  if (key === undefined)
    throw missing('service-account', 'a key file', [
      'OPSCTL_SERVICE_ACCOUNT_KEY=PATH (or the content of the file)',
      'opsctl login --method service-account --key-file PATH',
    ]);
  return readKeyFile(context, key.value, key.origin);
};
const assertionLifeS = 300;
/** RFC 7523 2.1. */
const serviceAccount: MachineMethod = {
  summary: 'a service account signs with its key file',
  needs: ['OPSCTL_SERVICE_ACCOUNT_KEY'],
  needsClientSecret: false,
  server: async (context, options) => {
    const { tokenUri } = await keyOf(context, options);
    return tokenUri === undefined ? {} : { tokenUrl: tokenUri };
  },
  grant: async (context, options, tokenEndpoint) => {
    const key = await keyOf(context, options);
    const origin = options.key?.origin ?? '';
    const now = Math.floor(context.host.now() / 1000);
    const claims = {
      iss: key.email,
      sub: key.email,
      aud: options.audience ?? tokenEndpoint,
      iat: now,
      exp: now + assertionLifeS,
      jti: Buffer.from(context.host.random(16)).toString('base64url'),
      ...(options.scopes.length === 0 ? {} : { scope: scopeText(options.scopes) }),
    };
    const assertion = signJwt(privateKeyFrom(key.privateKey, origin), origin, claims, key.keyId);
    context.log.hide(assertion);
    return {
      name: key.email,
      fields: {
        grant_type: jwtBearer,
        assertion,
        scope: options.scopes.length === 0 ? undefined : scopeText(options.scopes),
      },
    };
  },
};
/** RFC 6749 4.4. */
const clientCredentials: MachineMethod = {
  summary: 'a client with a secret acts for itself',
  needs: ['OPSCTL_CLIENT_ID', 'OPSCTL_CLIENT_SECRET'],
  needsClientSecret: true,
  grant: async (_context, options) => ({
    name: 'client',
    fields: {
      grant_type: 'client_credentials',
      scope: options.scopes.length === 0 ? undefined : scopeText(options.scopes),
      audience: options.audience,
    },
  }),
};
const tokenTypePrefix = 'urn:ietf:params:oauth:token-type:';
const subjectTypeNames: readonly string[] = [
  'jwt',
  'id_token',
  'access_token',
  'refresh_token',
  'saml1',
  'saml2',
];
/** RFC 8693 3: the types by their last part; any other URI is sent unchanged. */
const subjectTypeOf = ({ subjectTokenType }: MachineOptions): string => {
  if (subjectTokenType === undefined) return tokenTypes.jwt;
  if (/^[a-z][a-z0-9+.-]*:./i.test(subjectTokenType)) return subjectTokenType;
  if (subjectTypeNames.includes(subjectTokenType)) return `${tokenTypePrefix}${subjectTokenType}`;
  throw new AppError('config', `unknown subject token type ${JSON.stringify(subjectTokenType)}`, {
    code: 'UNKNOWN_TOKEN_TYPE',
    tryThis: [`OPSCTL_SUBJECT_TOKEN_TYPE: one of ${subjectTypeNames.join(', ')}, or a URI`],
  });
};
const isJwtType = (type: string): boolean => type === tokenTypes.jwt || type === tokenTypes.idToken;
/** RFC 8693: the CI's word for its job becomes a token of the service. */
const exchange: MachineMethod = {
  summary: "the CI's identity token is exchanged",
  needs: ['an identity token of the CI'],
  needsClientSecret: false,
  grant: async (context, options) => ({
    name: 'ci',
    fields: {
      grant_type: tokenExchange,
      subject_token: await identityToken(context, {
        audience: options.subjectAudience ?? options.audience,
        isOpaque: !isJwtType(subjectTypeOf(options)),
      }),
      subject_token_type: subjectTypeOf(options),
      requested_token_type: tokenTypes.accessToken,
      audience: options.audience,
      scope: options.scopes.length === 0 ? undefined : scopeText(options.scopes),
    },
  }),
};
/** One row for each; `--method`, the settings, the messages and the documentation follow from it. */
const machineMethods: Readonly<Record<MachineMethodName, MachineMethod>> = {
  'service-account': serviceAccount,
  'client-credentials': clientCredentials,
  'token-exchange': exchange,
};
export const isMachineMethod = (text: string): text is MachineMethodName =>
  Object.hasOwn(machineMethods, text);

export type MachineToken = {
  readonly method: MachineMethodName;
  readonly name: string;
  readonly server: LoginServer;
  readonly response: TokenResponse;
  readonly scopes: readonly string[];
  readonly asked: Instant;
};
const unknownMethod = (value: string, origin: string): AppError =>
  new AppError('config', `${origin} is ${JSON.stringify(value)}, which is not a sign-in method`, {
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
/** What a sign-in without a person sets itself. */
const tokenParams: ReadonlySet<string> = new Set([
  ...['grant_type', 'client_id', 'client_secret', 'client_assertion', 'client_assertion_type'],
  ...['assertion', 'subject_token', 'subject_token_type', 'scope'],
]);
/** RFC 8693 2.1 and RFC 8707 2: fields that a setting adds to the token request. */
const configuredParams = ({ settings }: AuthContext): RequestParams => {
  const resources = scopesFrom(settings.get('auth.resource')?.value ?? '');
  const others = settings.get('auth.token_params');
  const params = [...new URLSearchParams(others?.value ?? '')];
  const own = params.find(([name]) => tokenParams.has(name));
  if (own !== undefined)
    throw new AppError('config', `${others?.origin} cannot set ${own[0]}; the sign-in sets it itself`, {
      code: 'OWN_PARAMETER',
      tryThis: ['use the setting or the flag for it: opsctl login --help'],
    });
  return [...resources.map((resource) => ['resource', resource] as const), ...params];
};
/** The fields of the method, and the additional ones in their place. */
const withParams = (fields: FormFields, params: RequestParams): FormFields => ({
  ...fields,
  ...Object.fromEntries(params.map(([name]) => [name, valuesOf(params, name)])),
});
/** Flags before settings. */
export const machineOptions = (
  context: AuthContext,
  method: MachineMethodName,
  given: {
    readonly keyFile?: string;
    readonly audience?: string;
    readonly scopes?: readonly string[];
    readonly params?: RequestParams;
  } = {},
): MachineOptions => {
  const key = context.settings.get('auth.service_account_key');
  const audience = given.audience ?? context.settings.get('auth.audience')?.value;
  const scopes = given.scopes ?? scopesFrom(context.settings.get('auth.scopes')?.value ?? '');
  const subjectTokenType = context.settings.get('auth.subject_token_type')?.value;
  const subjectAudience = context.settings.get('auth.subject_audience')?.value;
  return {
    method,
    scopes,
    params: given.params ?? configuredParams(context),
    ...(subjectTokenType === undefined ? {} : { subjectTokenType }),
    ...(subjectAudience === undefined ? {} : { subjectAudience }),
    ...(audience === undefined ? {} : { audience }),
    ...(given.keyFile === undefined
      ? key === undefined
        ? {}
        : { key: { value: key.value, origin: key.origin } }
      : { key: { value: given.keyFile, origin: `the file ${given.keyFile}` } }),
  };
};
/**
 * The scopes and the audience of the embedded server are known. For other servers, the operator specifies
 * them.
 */
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
/** Returns one token for a machine. It is not stored. */
export const machineToken = async (
  context: AuthContext,
  options: MachineOptions,
  given: ServerOptions = {},
): Promise<MachineToken> => {
  const method = machineMethods[options.method];
  const named = { ...(await method.server?.(context, options)), ...given };
  const server = await loginServer(context, named, {
    needsClient: method.needsClientSecret,
    isMachine: true,
  });
  if (method.needsClientSecret && server.clientSecret === undefined && server.clientKey === undefined)
    throw withoutSecret(options.method);
  const complete = withDefaults(options, server);
  const { fields, name } = await method.grant(context, complete, server.endpoints.token);
  const asked = instantNow(context.host);
  const tokenClient = await tokenClientOf(context, server);
  const request = clientRequest(tokenClient, server.endpoints.token, withParams(fields, complete.params));
  const received = await sendWithRetry(context, options.method, request, tokenClient.prover);
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

/**
 * Stores the data to sign the machine in again: the access token and the path of the key. The key itself and
 * the identity token of the CI are never written.
 */
export const machineLogin = async (
  context: AuthContext,
  options: MachineOptions,
  given: ServerOptions,
  account: string | undefined,
): Promise<Account> => {
  const token = await machineToken(context, options, given);
  const { endpoints, key, clientId, clientSecret, clientAuth, metadata, dpopKey } = token.server;
  const isPath = options.key !== undefined && !isKeyContent(options.key.value);
  const keyFile = isPath ? options.key?.value : undefined;
  const method = {
    name: token.method,
    scopes: token.scopes,
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(options.audience === undefined ? {} : { audience: options.audience }),
    ...(options.params.length === 0 ? {} : { params: options.params }),
  };
  const owner = {
    name: toAccountName(token.name),
    signIn: '',
    server: key,
    endpoints,
    clientId,
    clientSecret,
    clientAuth,
    issuer: metadata?.issuer,
    dpopKey,
    method,
  };
  const made = accountFrom(owner, token.response, token.scopes, token.asked);
  return keepAccount(context, made, {
    ...{ name: account, replaces: true },
    unreadKeys: token.response.unreadKeys,
  });
};
