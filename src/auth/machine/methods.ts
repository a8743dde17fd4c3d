import { jwtBearer, tokenExchange, tokenTypes } from '../../api-specs/oauth/grant-types.ts';
import { AppError } from '../../core/problem.ts';
import type { AuthContext } from '../auth-context.ts';
import { scopeText } from '../scopes.ts';
import type { ServerOptions } from '../settings.ts';
import { identityToken } from './identity-token.ts';
import type { MachineMethodName } from '../../core/sign-in-words.ts';
import { type KeyFile, readKeyFile } from './key-file.ts';
import { privateKeyFrom, signJwt } from '../sign-jwt.ts';

/** What the operator said, by flags or settings. */
export type MachineOptions = {
  readonly method: MachineMethodName;
  /** Path or content of a key file, and where it was given. */
  readonly key?: { readonly value: string; readonly origin: string };
  readonly audience?: string;
  readonly scopes: readonly string[];
};
/** Fields of the token request, and what is known before it is sent. */
export type MachineGrant = {
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Whom the token will act for, as far as this side knows. */
  readonly name: string;
};
export type MachineMethod = {
  readonly summary: string;
  /** Settings that it cannot do without, in the words of the environment. */
  readonly needs: readonly string[];
  readonly needsClientSecret: boolean;
  /** What the key file says about the server, when there is one. */
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
      scope: scopeText(options.scopes),
    };
    const assertion = signJwt(privateKeyFrom(key.privateKey, origin), origin, claims, key.keyId);
    context.log.hide(assertion);
    return {
      name: key.email,
      fields: { grant_type: jwtBearer, assertion, scope: scopeText(options.scopes) },
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

/** RFC 8693: the CI's word for its job becomes a token of the service. */
const exchange: MachineMethod = {
  summary: "the CI's identity token is exchanged",
  needs: ['an identity token of the CI'],
  needsClientSecret: false,
  grant: async (context, options) => ({
    name: 'ci',
    fields: {
      grant_type: tokenExchange,
      subject_token: await identityToken(context, { audience: options.audience }),
      subject_token_type: tokenTypes.jwt,
      requested_token_type: tokenTypes.accessToken,
      audience: options.audience,
      scope: options.scopes.length === 0 ? undefined : scopeText(options.scopes),
    },
  }),
};

/** One row for each; `--method`, the settings, the messages and the documentation follow from it. */
export const machineMethods: Readonly<Record<MachineMethodName, MachineMethod>> = {
  'service-account': serviceAccount,
  'client-credentials': clientCredentials,
  'token-exchange': exchange,
};

export const isMachineMethod = (text: string): text is MachineMethodName =>
  Object.hasOwn(machineMethods, text);
