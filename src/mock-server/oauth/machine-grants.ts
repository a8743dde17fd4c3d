import { cutText } from '../../core/problem.ts';
import { type JwtParts, readJwt } from '../../core/json.ts';
import { tokenTypes } from '../../api-specs/oauth/console-records.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest } from '../service-set.ts';
import { jsonReply, OAuthError, readParams } from './errors.ts';
import { audiencesOf, findUser, isSignedBy, issuerFor, type Jwk, type Signer } from './keys.ts';
import { checkRules, type ClientCall, readParam, type TokenCall } from './rules/rule.ts';
import {
  accountIsAServiceAccount,
  checkAssertionTimes,
  assertionRules,
  machineScopes,
  tokenAudiences,
} from './rules/token-client.ts';
import type { Auth, Trust, User } from './state.ts';
import { issueForMachine } from './tokens.ts';

/** `repo:acme/*` as in the trust policies of cloud providers; all other characters are literal. */
const fitsPattern = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  ).test(text);
/** The embedded CI under the name by which this request came. */
export const embeddedIssuer = (origin: string): string => origin + authPaths.ci;
const issuerOf = (trust: Trust, origin: string): string =>
  trust.issuer === 'embedded' ? embeddedIssuer(origin) : trust.issuer;
const keysIn = (text: string): readonly Jwk[] => {
  const { keys } = JSON.parse(text) as { keys?: unknown };
  return Array.isArray(keys) ? (keys as Jwk[]) : [];
};
/** OpenID Connect Discovery: metadata of the issuer, then its keys. A failure is the issuer's, not the token's. */
const fetchedKeys = async (auth: Auth, issuer: string): Promise<readonly Jwk[]> => {
  const read = async (url: string): Promise<string> => {
    const reply = await auth.env.host.network.request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      timeoutMs: 5000,
      maxReplyBytes: 256 * 1024,
    });
    if (reply.status !== 200) throw new Error(`HTTP ${reply.status}`);
    return reply.text();
  };
  try {
    const metadata = JSON.parse(await read(`${issuer}/.well-known/openid-configuration`)) as {
      issuer?: unknown;
      jwks_uri?: unknown;
    };
    if (metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string')
      throw new Error('its metadata contains another issuer or no keys');
    return keysIn(await read(metadata.jwks_uri));
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown cause';
    throw new OAuthError('invalid_request', cutText(`The keys of ${issuer} cannot be read: ${why}`, 400));
  }
};
const keysOf = (auth: Auth, trust: Trust, signer: Signer): readonly Jwk[] | Promise<readonly Jwk[]> => {
  if (trust.jwks !== null) return keysIn(trust.jwks);
  return trust.issuer === 'embedded' ? signer.publicKeys() : fetchedKeys(auth, trust.issuer);
};
/**
 * Returns the trust that matches an identity token, and the keys that must have signed it. The error names
 * the part of the three that did not match.
 */
const trustFor = async (
  auth: Auth,
  jwt: JwtParts | undefined,
  origin: string,
  signer: Signer,
): Promise<{ readonly trust: Trust; readonly keys: readonly Jwk[] }> => {
  const refuse = (text: string): OAuthError => new OAuthError('invalid_grant', cutText(text, 400));
  if (jwt === undefined) throw refuse('The subject token is not a signed JWT.');
  const [issuer, subject] = [String(jwt.claims.iss ?? ''), String(jwt.claims.sub ?? '')];
  const audiences = audiencesOf(jwt);
  const ofIssuer = [...auth.trusts.values()].filter((trust) => issuerOf(trust, origin) === issuer);
  if (ofIssuer.length === 0) throw refuse(`No trust names the issuer ${issuer || '(none)'}.`);
  const ofAudience = ofIssuer.filter((trust) => audiences.includes(trust.audience));
  if (ofAudience.length === 0)
    throw new OAuthError(
      'invalid_target',
      `The audience ${audiences.join(' ') || '(none)'} is not the one of the trust in ${issuer}.`.slice(
        0,
        400,
      ),
    );
  const trust = ofAudience.find((each) => fitsPattern(each.subject, subject));
  if (trust === undefined) throw refuse(`The subject ${subject || '(none)'} is not trusted.`);
  return { trust, keys: await keysOf(auth, trust, signer) };
};

const answer = (
  call: TokenCall,
  user: User,
  scopes: readonly string[],
  more: Readonly<Record<string, string>> = {},
): MockReply => {
  const owner = { user: user.id, client: call.credentials.id ?? '' };
  const issued = call.auth.env.store.transact(() => issueForMachine(call.auth, owner, scopes, call.boundTo));
  return jsonReply(200, { ...issued, scope: scopes.join(' '), ...more });
};
/** RFC 6749 4.4: a confidential client acts for the service account that belongs to it. */
export const clientCredentials = (call: ClientCall): MockReply => {
  const { auth, client, params } = call;
  if (client.secret_hash === null || !client.service_account)
    throw new OAuthError(
      'unauthorized_client',
      'The client has no secret or no service account: client credentials are not for it.',
    );
  const user = accountIsAServiceAccount(findUser(auth, client.service_account), client.service_account);
  return answer(call, user, machineScopes(auth, readParam(params, 'scope') ?? ''));
};
const signedBy = (
  jwt: JwtParts | undefined,
  keys: readonly Readonly<Record<string, unknown>>[],
  what: string,
): JwtParts => {
  if (jwt === undefined) throw new OAuthError('invalid_grant', `The ${what} is not a signed JWT.`);
  if (!keys.some((key) => isSignedBy(jwt, key)))
    throw new OAuthError('invalid_grant', `The signature of the ${what} does not fit any known key.`);
  return jwt;
};
/** RFC 7523 2.1: a service account signs with a key that it was given. */
export const jwtBearer = (call: TokenCall): MockReply => {
  const { auth, params } = call;
  const what = 'assertion';
  const text = readParam(params, 'assertion');
  if (text === undefined) throw new OAuthError('invalid_request', 'Missing required field: assertion');
  const parsed = readJwt(text);
  const name = String(parsed?.claims.iss ?? '');
  const user = accountIsAServiceAccount(findUser(auth, name), name);
  const keys = [...auth.serviceKeys.values()].filter((key) => key.user === user.id).map(({ jwk }) => jwk);
  const jwt = signedBy(parsed, keys, what);
  const audiences = tokenAudiences(issuerFor(auth.env, call.request));
  checkRules(assertionRules, { auth, jwt, what, audiences });
  return answer(
    call,
    user,
    machineScopes(auth, readParam(params, 'scope') ?? String(jwt.claims.scope ?? '')),
  );
};
const subjectTypes: readonly string[] = [tokenTypes.jwt, tokenTypes.idToken];
/** RFC 8693: exchanges an identity token that a trust accepts for a token of a service account. */
export const tokenExchange = async (call: TokenCall, signer: Signer): Promise<MockReply> => {
  const { auth, params } = call;
  const what = 'subject token';
  const text = readParam(params, 'subject_token');
  if (text === undefined) throw new OAuthError('invalid_request', 'Missing required field: subject_token');
  const type = readParam(params, 'subject_token_type');
  if (type === undefined || !subjectTypes.includes(type))
    throw new OAuthError('invalid_request', `subject_token_type must be ${subjectTypes.join(' or ')}`);
  const wanted = readParam(params, 'requested_token_type');
  if (wanted !== undefined && wanted !== tokenTypes.accessToken)
    throw new OAuthError('invalid_request', `requested_token_type must be ${tokenTypes.accessToken}`);
  const parsed = readJwt(text);
  const own = issuerFor(auth.env, call.request);
  const { trust, keys } = await trustFor(auth, parsed, own, signer);
  const jwt = signedBy(parsed, keys, what);
  checkAssertionTimes({ auth, jwt, what, audiences: [] });
  const user = accountIsAServiceAccount(auth.users.get(trust.user), trust.user);
  return answer(call, user, machineScopes(auth, readParam(params, 'scope') ?? '', trust.scopes), {
    issued_token_type: tokenTypes.accessToken,
  });
};

export type Job = { readonly provider: 'github' | 'gitlab'; readonly project: string; readonly ref: string };
/** The claims of the two largest CI systems about a job. */
const claimsOf = ({ provider, project, ref }: Job): Record<string, string> =>
  provider === 'github'
    ? {
        sub: `repo:${project}:ref:refs/heads/${ref}`,
        repository: project,
        ref: `refs/heads/${ref}`,
        repository_owner: project.split('/')[0] ?? '',
      }
    : {
        sub: `project_path:${project}:ref_type:branch:ref:${ref}`,
        project_path: project,
        ref,
        ref_type: 'branch',
      };
const lifeS = 300;
export const subjectOf = (job: Job): string => claimsOf(job).sub ?? '';
export const identityToken = (
  auth: Auth,
  signer: Signer,
  origin: string,
  job: Job,
  audience: string,
): string => {
  const now = Math.floor(auth.env.now() / 1000);
  return signer.jwt('RS256', {
    iss: embeddedIssuer(origin),
    aud: audience,
    ...claimsOf(job),
    iat: now,
    nbf: now,
    exp: now + lifeS,
  });
};
const requestKind = 'ci-request+jwt';
/** The bearer token by which a job of GitHub asks for its identity token. */
export const requestToken = (auth: Auth, signer: Signer, job: Job): string =>
  signer.jwt('RS256', { ...job, exp: Math.floor(auth.env.now() / 1000) + 6 * 3600 }, requestKind);
const jobOf = (signer: Signer, bearer: string): Job | undefined => {
  const jwt = readJwt(bearer);
  const isOurs =
    jwt !== undefined &&
    jwt.header.typ === requestKind &&
    signer.publicKeys().some((key) => isSignedBy(jwt, key));
  return isOurs ? (jwt.claims as unknown as Job) : undefined;
};
/** An issuer of identity tokens for jobs: metadata, keys, and the address that jobs of GitHub ask. */
export const ciIssuer = (auth: Auth, signer: Signer, request: MockRequest): MockReply => {
  const origin = issuerFor(auth.env, request);
  if (request.path === `${authPaths.ci}/.well-known/openid-configuration`)
    return jsonReply(200, {
      issuer: embeddedIssuer(origin),
      jwks_uri: origin + authPaths.keys,
      subject_types_supported: ['public'],
      response_types_supported: ['id_token'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  if (request.path !== `${authPaths.ci}/token`) return jsonReply(404, { message: 'not found' });
  const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const job = jobOf(signer, bearer);
  if (job === undefined) return jsonReply(401, { message: 'the request token is not valid' });
  const audience = readParams(request.query).get('audience') ?? `https://ci.example/${job.project}`;
  return jsonReply(200, { count: 1, value: identityToken(auth, signer, origin, job, audience) });
};
