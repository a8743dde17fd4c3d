import { type clientFields, clientTypeRows } from '../../../api-specs/oauth/client-types.ts';
import type { Values } from '../../../core/field.ts';
import { problem } from '../../../core/problem.ts';
import type { consoleTable } from '../../../api-specs/oauth/console.ts';
import { HttpError } from '../../http-error.ts';
import type { Handlers } from '../../table-service.ts';
import { clientLife, ownershipProblem } from '../integrity.ts';
import { base64url, sha256 } from '../keys.ts';
import { bundleHasNoWildcard, type ClientDraft, clientRules, teamIdIsSet } from '../rules/rule.ts';
import type { Auth, Client } from '../state.ts';
import { clientById, clientView, findRecord } from './views.ts';

const checkDraft = (draft: ClientDraft): void => {
  const problems = clientRules.flatMap((rule) => rule(draft));
  if (problems.length > 0) throw new HttpError(400, 'The OAuth client is not valid.', { problems });
};

const refusedField = (status: number, field: string, message: string): HttpError =>
  new HttpError(status, message, { problems: [problem(field, 'rule', message)] });

/** spec/sign-in#check-1.20: project number, 32 characters, a domain. */
const newId = (auth: Auth, project: number): string => {
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
      ? auth.projects.values().next().value
      : findRecord(auth.projects, projectId, 'project');
  if (project === undefined) throw refusedField(400, 'project', 'There is no project yet; create one first.');
  const secret = body.secret ? newSecret(auth) : null;
  let client = clientFrom(auth, newId(auth, project.number), project.id, body, secret);
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
export const clientHandlers: Handlers<Pick<typeof consoleTable, 'clients'>, State>['clients'] = {
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
