import type * as rec from '../../../api-specs/oauth/console-records.ts';
import { generateKeyPairSync } from 'node:crypto';
import { type clientFields, clientTypeRows } from '../../../api-specs/oauth/console-records.ts';
import type { Values, Value } from '../../../core/field.ts';
import { problem } from '../../../core/problem.ts';
import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { HttpError } from '../../body.ts';
import type { Handlers } from '../../table-service.ts';
import {
  clientLife,
  ownershipProblem,
  base64url,
  sha256,
  makeSigner,
  effectiveState,
  emptyMetrics,
  findUser,
} from '../keys.ts';
import { bundleHasNoWildcard, type ClientDraft, clientRules, teamIdIsSet } from '../rules/rule.ts';
import type {
  Auth,
  Client,
  ServiceKey,
  Trust,
  User,
  Delivery,
  Family,
  Grant,
  Policy,
  Project,
  Session,
  StoreItem,
  Subscription,
  Warning,
} from '../state.ts';
import { authPaths } from '../../../api-specs/oauth/endpoints.ts';
import { embeddedIssuer, identityToken, type Job, requestToken, subjectOf } from '../machine-grants.ts';
import type { Collection } from '../../store.ts';

/** One handler for each row of the console's table. */
export type ConsoleHandlers = Handlers<typeof consoleTable, State>;

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));
export const projectView = (project: Project): Value<typeof rec.project> => ({
  ...project,
  created_at: time(project.created_at),
});
export const integrityView = (auth: Auth, client: Client): Value<typeof rec.integrity> => ({
  state: client.integrity.state,
  effective_state: effectiveState(auth, client),
  effective_at: time(client.integrity.effective_at),
  was_used: client.integrity.was_used,
  metrics: { ...(auth.metrics.get(client.id) ?? emptyMetrics) },
});
export const clientView = (
  auth: Auth,
  client: Client,
  secret: string | null = null,
): Value<typeof rec.client> => {
  const { secret_hash: hash, verified_by: by, ...plain } = client;
  const life = clientLife(auth, client);
  const isDeleted = life.state === 'deleted';
  return {
    ...plain,
    redirect_uris: [...client.redirect_uris],
    service_account: client.service_account || null,
    state: life.state,
    has_secret: hash !== null,
    secret,
    is_verified: by !== null,
    verified_by: by,
    integrity: integrityView(auth, client),
    created_at: time(client.created_at),
    last_used_at: time(client.last_used_at),
    deleted_at: isDeleted ? time(life.at) : null,
    deleted_because: isDeleted ? life.because : null,
    restorable_until: isDeleted ? time(life.restorableUntil) : null,
  };
};
export const userView = ({ password: _, ...user }: User): Value<typeof rec.user> => ({
  ...user,
  created_at: time(user.created_at),
});
export const sessionView = (session: Session): Value<typeof rec.session> => ({
  id: session.id,
  users: [...session.users],
  created_at: time(session.created_at),
  seen_at: time(session.seen_at),
});
export const grantView = (grant: Grant): Value<typeof rec.grant> => ({
  ...grant,
  scopes: [...grant.scopes],
  granted_at: time(grant.granted_at),
});
export const tokenView = (auth: Auth, family: Family): Value<typeof rec.token> => ({
  id: family.id,
  user: family.user,
  client: family.client,
  scopes: [...family.scopes],
  state:
    family.stopped_at !== null || family.revoked_at !== null
      ? 'stopped'
      : family.ends_at !== null && family.ends_at <= auth.env.now()
        ? 'expired'
        : 'live',
  issued_at: time(family.issued_at),
  ends_at: timeOrNull(family.ends_at),
});
export const policyView = (policy: Policy): Value<typeof rec.policy> => ({
  ...policy,
  blocked_scopes: [...policy.blocked_scopes],
  clients: [...policy.clients],
  created_at: time(policy.created_at),
});
export const storeItemView = (item: StoreItem): Value<typeof rec.storeItem> => ({
  ...item,
  accounts: [...item.accounts],
  granted_at: time(item.granted_at),
});
export const subscriptionView = (subscription: Subscription): Value<typeof rec.subscription> => ({
  ...subscription,
  types: [...subscription.types],
  created_at: time(subscription.created_at),
});
export const deliveryView = ({ body: _, ...delivery }: Delivery): Value<typeof rec.delivery> => ({
  ...delivery,
  created_at: time(delivery.created_at),
  done_at: timeOrNull(delivery.done_at),
});
export const warningView = (warning: Warning): Value<typeof rec.warning> => ({
  ...warning,
  at: time(warning.at),
});

export const findRecord = <T>(records: Collection<T>, key: string | number, what: string): T => {
  const record = records.get(key);
  if (record === undefined) throw new HttpError(404, `There is no ${what} ${key}.`);
  return record;
};
export const clientById = (auth: Auth, id: string): Client => findRecord(auth.clients, id, 'client');
export const userByName = (auth: Auth, name: string): User => {
  const user = findUser(auth, name);
  if (user === undefined) throw new HttpError(404, `There is no user ${name}.`);
  return user;
};

const checkDraft = (draft: ClientDraft): void => {
  const problems = clientRules.flatMap((rule) => rule(draft));
  if (problems.length > 0) throw new HttpError(400, 'The OAuth client is not valid.', { problems });
};

const refusedField = (status: number, field: string, message: string): HttpError =>
  new HttpError(status, message, { problems: [problem(field, 'rule', message)] });

/** spec/sign-in#check-1.20: project number, 32 characters, a domain. */
const newClientId = (auth: Auth, project: number): string => {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const letters = [...auth.env.random(32)].map((byte) => alphabet[byte % 36]).join('');
  return `${project}-${letters}.apps.opsctl.example`;
};
const newSecret = (auth: Auth): string => `OCS-${base64url(auth.env.random(24))}`;

type Draft = Values<typeof clientFields> & { readonly type: Client['type']; readonly name: string };
/** A client from checked values; shared by the console and the seed. */
export const clientFrom = (
  auth: Auth,
  id: string,
  project: string,
  body: Draft,
  secret: string | null,
): Client => {
  const now = auth.env.now();
  return {
    id,
    project,
    type: body.type,
    name: body.name,
    secret_hash: secret === null ? null : sha256(secret),
    package_name: body.package_name ?? null,
    fingerprint: body.fingerprint ?? null,
    // spec/sign-in#states-7, "disabled by default on that platform".
    custom_uri_scheme: body.custom_uri_scheme ?? false,
    bundle_id: body.bundle_id ?? null,
    store_id: body.store_id ?? null,
    team_id: body.team_id || null,
    item_id: body.item_id ?? null,
    redirect_uris: body.redirect_uris ?? [],
    any_path: body.any_path ?? false,
    trust: body.trust ?? 'none',
    id_token_alg: body.id_token_alg ?? 'RS256',
    service_account: body.service_account ?? null,
    verified_by: null,
    integrity: { state: 'disabled', before: 'disabled', effective_at: now, was_used: false },
    created_at: now,
    last_used_at: now,
    deleted_at: null,
  };
};

const verifyOwner = (auth: Auth, client: Client, account: string): Client => {
  const why = ownershipProblem(auth, client, account);
  if (why !== undefined) throw refusedField(409, 'account', `The ownership is not verified: ${why}.`);
  return { ...client, verified_by: account };
};

const create = (
  auth: Auth,
  { project: projectId, ...body }: Draft & { project?: string | undefined },
): { client: Client; secret: string | null } => {
  checkDraft(body);
  const project =
    projectId === undefined
      ? [...auth.projects.values()][0]
      : findRecord(auth.projects, projectId, 'project');
  if (project === undefined) throw refusedField(400, 'project', 'There is no project yet; create one first.');
  const secret = body.secret ? newSecret(auth) : null;
  let client = clientFrom(auth, newClientId(auth, project.number), project.id, body, secret);
  if (body.account !== undefined) client = verifyOwner(auth, client, body.account);
  if (body.integrity_check) {
    teamIdIsSet(client);
    bundleHasNoWildcard(client);
    const before = client.integrity.state;
    client = {
      ...client,
      integrity: {
        state: 'monitoring',
        before,
        effective_at: auth.env.now() + auth.settings().integrity_delay_seconds * 1000,
        was_used: true,
      },
    };
  }
  auth.clients.put(client.id, client);
  return { client, secret };
};

/** spec/sign-in#client: mobile B's bundle identifier "cannot be changed once the integrity check is used"; spec/sign-in#check-10.12 for the team ID. */
const integrityAllows = (
  client: Client,
  body: { bundle_id?: string | undefined; team_id?: string | undefined },
): void => {
  if (body.bundle_id !== undefined && body.bundle_id !== client.bundle_id && client.integrity.was_used) {
    throw refusedField(
      409,
      'bundle_id',
      'The bundle identifier cannot be changed once the integrity check is used.',
    );
  }
  if (body.team_id === '' && client.integrity.state !== 'disabled') {
    throw refusedField(
      409,
      'team_id',
      'The integrity check is enabled and needs the team ID; disable it first.',
    );
  }
};
const mustBeActive = (auth: Auth, client: Client): Client => {
  if (clientLife(auth, client).state === 'deleted')
    throw new HttpError(409, `Client ${client.id} is deleted; restore it first.`);
  return client;
};

type State = { readonly auth: Auth };
export const clientHandlers: ConsoleHandlers['clients'] = {
  list: ({ state: { auth }, query }) =>
    auth.clients
      .filter((client) => query.project === undefined || client.project === query.project)
      .map((client) => clientView(auth, client)),
  create: ({ state: { auth }, body }) => {
    const { client, secret } = create(auth, body);
    return clientView(auth, client, secret);
  },
  get: ({ state: { auth }, params }) => clientView(auth, clientById(auth, params.client)),
  update: ({ state: { auth }, params, body }) => {
    const client = mustBeActive(auth, clientById(auth, params.client));
    checkDraft({
      type: client.type,
      ...Object.fromEntries(
        clientTypeRows[client.type].required.map((name) => [name, client[name as keyof Client]]),
      ),
      ...body,
    });
    integrityAllows(client, body);
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const changed: Client = { ...client, ...given, team_id: (body.team_id ?? client.team_id) || null };
    auth.clients.put(client.id, changed);
    return clientView(auth, changed);
  },
  // spec/sign-in#states: deletion; refresh tokens stop with the client and work again after a restore (spec/sign-in#check-1.25).
  delete: ({ state: { auth }, params }) => {
    const client = mustBeActive(auth, clientById(auth, params.client));
    const changed = { ...client, deleted_at: auth.env.now() };
    auth.clients.put(client.id, changed);
    return clientView(auth, changed);
  },
  restore: ({ state: { auth }, params }) => {
    const client = clientById(auth, params.client);
    const life = clientLife(auth, client);
    if (life.state === 'active') throw new HttpError(409, `Client ${client.id} is not deleted.`);
    // spec/sign-in#limits: deleted client restore window, 30 days.
    if (auth.env.now() > life.restorableUntil)
      throw new HttpError(
        409,
        `Client ${client.id} was deleted more than 30 days ago and cannot be restored.`,
      );
    const changed = { ...client, deleted_at: null, last_used_at: auth.env.now() };
    auth.clients.put(client.id, changed);
    return clientView(auth, changed);
  },
  resetSecret: ({ state: { auth }, params }) => {
    const client = mustBeActive(auth, clientById(auth, params.client));
    if (!clientTypeRows[client.type].mayHaveSecret)
      throw refusedField(409, 'client', `Clients of the type ${client.type} have no secret.`);
    const secret = newSecret(auth);
    const changed = { ...client, secret_hash: sha256(secret) };
    auth.clients.put(client.id, changed);
    return clientView(auth, changed, secret);
  },
  verify: ({ state: { auth }, params, body }) => {
    const changed = verifyOwner(auth, mustBeActive(auth, clientById(auth, params.client)), body.account);
    auth.clients.put(changed.id, changed);
    return clientView(auth, changed);
  },
};

const newId = (auth: Auth): string => base64url(auth.env.random(9));

/** spec/sign-in#data-api-3: keys and trusts are for service accounts only. */
const serviceAccount = (auth: Auth, name: string): User => {
  const user = userByName(auth, name);
  if (user.kind === 'service-account') return user;
  throw new HttpError(409, `${user.email} is a person, not a service account.`, {
    problems: [problem('user', 'rule', 'must be a service account')],
  });
};

export const serviceKeyHandlers: ConsoleHandlers['serviceKeys'] = {
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

export const trustHandlers: ConsoleHandlers['trusts'] = {
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

export const ciHandlers: ConsoleHandlers['ci'] = {
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
