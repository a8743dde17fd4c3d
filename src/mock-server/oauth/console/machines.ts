import { generateKeyPairSync } from 'node:crypto';
import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { authPaths } from '../../../api-specs/oauth/endpoints.ts';
import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { embeddedIssuer, identityToken, type Job, requestToken, subjectOf } from '../machine-grants.ts';
import { base64url, makeSigner } from '../keys.ts';
import type { Auth, ServiceKey, Trust, User } from '../state.ts';
import { findRecord, userByName } from './views.ts';

type State = { readonly auth: Auth };
type All = Handlers<Pick<typeof consoleTable, 'serviceKeys' | 'trusts' | 'ci'>, State>;
const newId = (auth: Auth): string => base64url(auth.env.random(9));
const time = (ms: number): string => new Date(ms).toISOString();

/** spec/sign-in#data-api-3: keys and trusts are for service accounts only. */
const serviceAccount = (auth: Auth, name: string): User => {
  const user = userByName(auth, name);
  if (user.kind === 'service-account') return user;
  throw new HttpError(409, `${user.email} is a person, not a service account.`, {
    problems: [problem('user', 'rule', 'must be a service account')],
  });
};

export const serviceKeyHandlers: All['serviceKeys'] = {
  list: ({ state: { auth } }) =>
    [...auth.serviceKeys.values()].map(({ id, user, created_at: at }) => ({
      id,
      user,
      created_at: time(at),
    })),
  create: ({ state: { auth }, body }) => {
    const user = serviceAccount(auth, body.user);
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const id = newId(auth);
    const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: id, alg: 'RS256', use: 'sig' };
    const key: ServiceKey = { id, user: user.id, jwk, created_at: auth.env.now() };
    auth.serviceKeys.put(id, key);
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    return {
      type: 'service_account',
      client_email: user.email,
      client_id: user.id,
      private_key_id: id,
      private_key: pem,
      token_uri: auth.env.origin() + authPaths.token,
    };
  },
  delete: ({ state: { auth }, params }) => {
    findRecord(auth.serviceKeys, params.key, 'service key');
    auth.serviceKeys.delete(params.key);
    return undefined;
  },
};

const trustView = (trust: Trust) => ({
  ...trust,
  scopes: [...trust.scopes],
  created_at: time(trust.created_at),
});
const isKeySet = (text: string): boolean => {
  try {
    return Array.isArray((JSON.parse(text) as { keys?: unknown }).keys);
  } catch {
    return false;
  }
};

export const trustHandlers: All['trusts'] = {
  list: ({ state: { auth } }) => [...auth.trusts.values()].map(trustView),
  create: ({ state: { auth }, body }) => {
    const user = serviceAccount(auth, body.user);
    if (body.jwks !== undefined && !isKeySet(body.jwks))
      throw new HttpError(400, 'The keys are not a JSON Web Key Set.', {
        problems: [problem('jwks', 'format', 'must be {"keys": [...]}')],
      });
    const trust: Trust = {
      id: newId(auth),
      issuer: body.issuer.replace(/\/+$/, ''),
      audience: body.audience,
      subject: body.subject,
      user: user.id,
      scopes: body.scopes ?? [],
      jwks: body.jwks ?? null,
      created_at: auth.env.now(),
    };
    auth.trusts.put(trust.id, trust);
    return trustView(trust);
  },
  delete: ({ state: { auth }, params }) => {
    findRecord(auth.trusts, params.trust, 'trust');
    auth.trusts.delete(params.trust);
    return undefined;
  },
};

const environmentOf = (auth: Auth, job: Job, audience: string): Record<string, string> => {
  const signer = makeSigner(auth);
  const origin = auth.env.origin();
  return job.provider === 'github'
    ? {
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        ACTIONS_ID_TOKEN_REQUEST_URL: `${origin}${authPaths.ci}/token?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken(auth, signer, job),
      }
    : {
        CI: 'true',
        GITLAB_CI: 'true',
        OPSCTL_IDENTITY_TOKEN: identityToken(auth, signer, origin, job, audience),
      };
};

export const ciHandlers: All['ci'] = {
  job: ({ state: { auth }, body }) => {
    const job: Job = {
      provider: body.provider,
      project: body.project ?? 'demo/app',
      ref: body.ref ?? 'main',
    };
    return {
      issuer: embeddedIssuer(auth.env.origin()),
      subject: subjectOf(job),
      environment: environmentOf(auth, job, body.audience ?? auth.env.origin()),
    };
  },
};
