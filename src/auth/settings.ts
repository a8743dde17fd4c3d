import { parseUrl } from '../core/external-url.ts';
import { authPaths, demo } from '../api-specs/oauth/endpoints.ts';
import { isKeyContent, refuseLongSecret } from '../core/field.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import { redactedUrl } from '../core/redact-secrets.ts';
import { type ClientAuthentication, clientAuthentications } from '../core/shape.ts';
import { showHidden } from '../core/text.ts';
import { type AuthContext, safeText } from './auth-context.ts';
import { chosenAuthentication, type IssuerMetadata, readIssuer } from './protocol/discovery.ts';
import {
  endpointProblems,
  type Endpoints,
  endpointsFrom,
  isLoopback,
  serverKey,
  type ClientKey,
  isClientAuthentication,
} from './protocol/token-client.ts';
import { dpopAlgorithm, makeDpopKey } from './sign-jwt.ts';
import { warnOfReadableKey } from './read-secret.ts';

export type ServerOptions = {
  readonly issuer?: string;
  readonly authUrl?: string;
  readonly tokenUrl?: string;
  readonly revokeUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Bind the tokens to a key (default: the setting). */
  readonly dpop?: boolean;
  /** The key of an account whose tokens are renewed. */
  readonly dpopKey?: string;
};
/** The authorization server of this run and who we are there. */
export type LoginServer = {
  readonly endpoints: Endpoints;
  /** The key that separates accounts: the issuer, the URL, or `mock`. */
  readonly key: string;
  readonly isMock: boolean;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly clientAuth?: ClientAuthentication;
  readonly clientKey?: ClientKey;
  /** A new key for the tokens of this sign-in, if they have to be bound to one. */
  readonly dpopKey?: string;
  /** Known when the server was named by its issuer. */
  readonly metadata?: IssuerMetadata;
};
export const mockKey = 'mock';
/** The URL at which a user signs in with a browser. No other URL replaces it. */
export const authorizationEndpoint = ({ endpoints, key }: Pick<LoginServer, 'endpoints' | 'key'>): string => {
  if (endpoints.authorize !== undefined) return endpoints.authorize;
  throw new AppError('config', `the metadata of ${key} contain no authorization_endpoint`, {
    code: 'NO_AUTHORIZATION_ENDPOINT',
    tryThis: [
      ...(endpoints.device === undefined ? [] : ['opsctl login --method device']),
      'give --auth-url URL, if the server has an authorization endpoint that it does not publish',
      'opsctl login --method client-credentials|service-account|token-exchange (for machines)',
    ],
  });
};
export const embeddedEndpoints = (baseUrl: string): Endpoints => {
  const origin = new URL(baseUrl).origin;
  return {
    authorize: origin + authPaths.authorize,
    token: origin + authPaths.token,
    revoke: origin + authPaths.revoke,
    device: origin + authPaths.device,
  };
};
const noClient = (isMachine: boolean): AppError =>
  new AppError('config', 'the client ID is not set', {
    code: 'NO_CLIENT_ID',
    tryThis: isMachine
      ? ['OPSCTL_CLIENT_ID=ID', 'opsctl config set auth.client_id ID']
      : [
          'opsctl login --client-id ID',
          'opsctl config set auth.client_id ID',
          'OPSCTL_CLIENT_ID=ID opsctl login',
        ],
  });
const setting = (context: AuthContext, key: string): string | undefined => context.settings.get(key)?.value;
/** A PEM file, or its content as CI systems hold it. */
export const clientKeyOf = async (context: AuthContext): Promise<ClientKey | undefined> => {
  const given = context.settings.get('auth.client_key');
  if (given === undefined) return undefined;
  const isContent = isKeyContent(given.value);
  const pem = isContent ? given.value : await context.host.files.read(given.value).catch(() => undefined);
  if (pem === undefined)
    throw new AppError('config', `the private key ${given.value} (${given.origin}) cannot be read`, {
      code: 'BAD_PRIVATE_KEY',
      tryThis: ['OPSCTL_CLIENT_KEY=PATH of a PEM file'],
    });
  if (!isContent) await warnOfReadableKey(context, given.value);
  refuseLongSecret('config', `the private key (${given.origin})`, pem);
  context.log.hide(pem);
  const keyId = setting(context, 'auth.client_key_id');
  return { pem, origin: given.origin, ...(keyId === undefined ? {} : { keyId }) };
};
/** The method from a setting, otherwise from the metadata of the server, otherwise from the document. */
const authenticationOf = (
  context: AuthContext,
  metadata: IssuerMetadata | undefined,
  has: { readonly secret: boolean; readonly key: boolean },
): ClientAuthentication | undefined => {
  const named = context.settings.get('auth.client_auth');
  if (named === undefined)
    return metadata === undefined
      ? has.key
        ? 'private_key_jwt'
        : undefined
      : chosenAuthentication(metadata, has);
  if (isClientAuthentication(named.value)) return named.value;
  throw new AppError('config', `${named.origin} is ${JSON.stringify(named.value)}`, {
    code: 'UNKNOWN_CLIENT_AUTH',
    tryThis: [`use one of: ${clientAuthentications.join(', ')}`],
  });
};
/** Whether tokens have to be bound. A typing error must not turn the protection off. */
export const dpopSetting = ({ settings }: AuthContext): boolean => {
  const given = settings.get('auth.dpop');
  if (given === undefined || given.value === 'false') return false;
  if (given.value === 'true') return true;
  throw new AppError('config', `${given.origin} is ${JSON.stringify(given.value)}`, {
    code: 'UNKNOWN_DPOP',
    tryThis: ['use true or false'],
  });
};
/** RFC 9449 5.1: a server that lists its algorithms must list the one of the key. */
const wantsDpop = (
  context: AuthContext,
  given: ServerOptions,
  metadata: IssuerMetadata | undefined,
): boolean => {
  if (!(given.dpop ?? dpopSetting(context))) return false;
  const algorithms = metadata?.dpopAlgorithms;
  if (algorithms === undefined || algorithms.includes(dpopAlgorithm)) return true;
  throw new AppError(
    'config',
    `the server accepts no DPoP proofs with ${dpopAlgorithm}; its metadata lists ${algorithms.map((each) => safeText(each, 20)).join(', ') || 'no algorithm'}`,
    {
      code: 'DPOP_ALGORITHM',
      tryThis: [`enable ${dpopAlgorithm} for DPoP at the server`, 'opsctl login --no-dpop'],
    },
  );
};
type Needs = {
  /** False for grants without a client: the embedded server and other servers then get no client ID. */
  readonly needsClient: boolean;
  /** A machine never meets the page of the authorization endpoint: the token endpoint is enough. */
  readonly isMachine?: boolean;
};
type Identity = Pick<LoginServer, 'clientId' | 'clientSecret' | 'clientAuth' | 'clientKey' | 'dpopKey'>;
const identityOf = async (
  context: AuthContext,
  given: ServerOptions,
  { needsClient, isMachine = false }: Needs,
  metadata: IssuerMetadata | undefined,
  embeddedId?: string,
): Promise<Identity> => {
  const otherwise = needsClient ? embeddedId : '';
  const clientId = given.clientId ?? setting(context, 'auth.client_id') ?? otherwise;
  if (clientId === undefined) throw noClient(isMachine);
  const clientSecret = given.clientSecret ?? setting(context, 'auth.client_secret');
  if (clientSecret !== undefined) context.log.hide(clientSecret);
  const clientKey = await clientKeyOf(context);
  const dpopKey = given.dpopKey ?? (wantsDpop(context, given, metadata) ? makeDpopKey() : undefined);
  const has = { secret: clientSecret !== undefined, key: clientKey !== undefined };
  const clientAuth = authenticationOf(context, metadata, has);
  return {
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(clientAuth === undefined ? {} : { clientAuth }),
    ...(clientKey === undefined ? {} : { clientKey }),
    ...(dpopKey === undefined ? {} : { dpopKey }),
  };
};
const checkIssuer = (issuer: string): void => {
  const url = parseUrl(issuer);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url));
  if (isSafe && url.search === '' && url.hash === '') return;
  throw usageError('invalid URL of the issuer', [
    problem(
      '--issuer',
      'format',
      `must be an https URL without query and fragment; got ${showHidden(redactedUrl(issuer))}`,
    ),
  ]);
};
const byIssuer = async (
  context: AuthContext,
  issuer: string,
  given: ServerOptions,
  needs: Needs,
): Promise<LoginServer> => {
  checkIssuer(issuer);
  const metadata = await readIssuer(context, issuer);
  const { authUrl, tokenUrl, revokeUrl } = given;
  const endpoints = {
    ...metadata.endpoints,
    ...(authUrl === undefined ? {} : { authorize: authUrl }),
    ...(tokenUrl === undefined ? {} : { token: tokenUrl }),
    ...(revokeUrl === undefined ? {} : { revoke: revokeUrl }),
  };
  const identity = await identityOf(context, given, needs, metadata);
  return { endpoints, key: metadata.issuer.replace(/\/$/, ''), isMock: false, ...identity, metadata };
};
const useEmbeddedServer = async (
  context: AuthContext,
  given: ServerOptions,
  needs: Needs,
): Promise<LoginServer> => {
  const target = await context.target('auth');
  const embeddedId = target.isMock ? demo.clients.desktop : undefined;
  return {
    endpoints: embeddedEndpoints(target.baseUrl),
    key: target.isMock ? mockKey : new URL(target.baseUrl).origin,
    isMock: target.isMock,
    ...(await identityOf(context, given, needs, undefined, embeddedId)),
  };
};
/** Flags precede settings, and URLs precede the issuer. Without any of them, the embedded server is used. */
export const loginServer = async (
  context: AuthContext,
  given: ServerOptions,
  needs: Needs = { needsClient: true },
): Promise<LoginServer> => {
  const auth = given.authUrl ?? setting(context, 'auth.url');
  const tokenUrl = given.tokenUrl ?? setting(context, 'auth.token_url');
  const issuer = given.issuer ?? (given.authUrl === undefined ? setting(context, 'auth.issuer') : undefined);
  if (issuer !== undefined) return byIssuer(context, issuer, given, needs);
  const authorize = auth ?? (needs.isMachine === true ? tokenUrl : undefined);
  if (authorize === undefined) {
    if (given.tokenUrl !== undefined)
      throw usageError('--token-url needs --auth-url', [], ['add --auth-url']);
    return useEmbeddedServer(context, given, needs);
  }
  const named = {
    auth: authorize,
    token: tokenUrl,
    revoke: given.revokeUrl ?? setting(context, 'auth.revoke_url'),
  };
  const problems = endpointProblems(named);
  if (problems.length > 0) throw usageError('invalid URL of the authorization server', problems);
  const endpoints = endpointsFrom(named);
  const identity = await identityOf(context, given, needs, undefined);
  return { endpoints, key: serverKey(endpoints), isMock: false, ...identity };
};

/** The server from the settings; undefined if they do not name one. */
export const configuredServer = (context: AuthContext): string | undefined => {
  const auth = context.settings.get('auth.url')?.value;
  if (auth !== undefined) return serverKey(endpointsFrom({ auth }));
  return context.settings.get('auth.issuer')?.value.replace(/\/$/, '');
};
