import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { issuerFor } from './issuer.ts';
import { jsonReply } from './json-reply.ts';
import { isSignedBy, parseJwt } from './jwt.ts';
import type { Signer } from './keys.ts';
import { readParams } from './params.ts';
import type { Auth } from './state.ts';
import { embeddedIssuer } from './trust.ts';

export type Job = { readonly provider: 'github' | 'gitlab'; readonly project: string; readonly ref: string };

/** What the two big CI systems say about a job. */
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
  const jwt = parseJwt(bearer);
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
