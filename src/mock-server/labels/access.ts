import { JSON_TYPE } from '../body.ts';
import { hash } from 'node:crypto';
import { labelRoles, scopesFor } from '../../api-specs/labels/wire.ts';
import { fullScope, scopeBase, scopeName } from '../../api-specs/oauth/endpoints.ts';
import { openedBy, proofChallenge, ProofError, tokenInHeader } from '../oauth/pushed-requests.ts';
import { type Auth, authState } from '../oauth/state.ts';
import { type Access, makeAccess } from '../oauth/tokens.ts';
import type { Environment, MockReply, MockRequest } from '../service-set.ts';
import { makeDeniedError, LabelError } from './proto-json.ts';
import { type LabelRecord, type LabelState, labelState, type PermissionRecord } from './draft.ts';

/** spec/labels#parameters: customers/<id>, the caller's own by default. */
export const CUSTOMER = 'customers/C01opsctl';
/** The caller if any token is accepted, and the first user of the authorization server. */
export const OWNER = 'people/100000000000000000001';
/** Makes the demo labels that the caller did not make. */
export const DEMO_COAUTHOR = 'people/100000000000000000002';
/**
 * All people of the demo. Other email addresses become people or groups with an ID derived from the address.
 */
const directory: Readonly<Record<string, string>> = {
  'owner@example.com': OWNER,
  'colleague@example.com': DEMO_COAUTHOR,
  'reader@example.com': 'people/100000000000000000003',
  // The demo users of the authorization server, even before the first request to that server.
  'ada@demo.example': 'people/100001000000000000001',
  'bob@demo.example': 'people/100002000000000000002',
  'all-staff@example.com': 'groups/01staffgroup',
  'legal-team@example.com': 'groups/02legalteam',
};
const digits = (text: string): string =>
  BigInt(`0x${hash('sha256', text).slice(0, 16)}`)
    .toString()
    .padStart(20, '1');
/**
 * spec/labels#permissions: an email address belongs to a user or a group. Group addresses contain "group",
 * "team" or "staff" before the @.
 */
export const principalOf = (email: string): string => {
  const address = email.toLowerCase();
  const known = directory[address];
  if (known !== undefined) return known;
  const isGroup = /(^|[-._])(group|team|staff|list)([-._]|@)/.test(address);
  return isGroup ? `groups/${hash('sha256', address).slice(0, 12)}` : `people/${digits(address)}`;
};
export const emailOf = (principal: string): string | undefined =>
  Object.entries(directory).find(([, known]) => known === principal)?.[0];
type AuthUser = {
  readonly id: string;
  readonly email: string;
  readonly kind: string;
  readonly state: string;
};
const authUsers = (env: Environment): AuthUser[] =>
  [...env.store.collection<AuthUser>('auth.users').values()].filter((u) => u.kind === 'person');
/** The first user of the authorization server administers labels; the others do not. */
const isFirstUser = (env: Environment, user: string): boolean => authUsers(env)[0]?.id === user;
const personOfUser = (env: Environment, user: { readonly id: string; readonly email: string }): string =>
  isFirstUser(env, user.id) ? OWNER : principalOf(user.email);
/**
 * spec/program#choices: capabilities are returned for any known user: by person ID, user ID or email address.
 */
export const knownPerson = (env: Environment, id: string): string | undefined => {
  const user = authUsers(env).find((u) => u.id === id || u.email === id);
  if (user !== undefined) return personOfUser(env, user);
  if (id.includes('@')) return directory[id.toLowerCase()];
  const person = `people/${id}`;
  if (Object.values(directory).includes(person)) return person;
  return authUsers(env)
    .map((u) => personOfUser(env, u))
    .find((p) => p === person);
};

export type Caller = {
  readonly person: string;
  /** May act with useAdminAccess and make ADMIN labels. */
  readonly isAdmin: boolean;
  /** Names of the token's scopes; undefined when scopes are not checked. */
  readonly scopes?: readonly string[];
};
const makeUnauthenticatedError = (message: string): LabelError =>
  new LabelError('UNAUTHENTICATED', message, { reason: 'CREDENTIALS_MISSING' });
const tokenIn = (request: MockRequest, queryToken: string | undefined): string | undefined => {
  const header = request.headers.authorization;
  if (header === undefined) return queryToken === '' ? undefined : queryToken;
  return /^(?:Bearer|DPoP) +([^\s]+)$/i.exec(header.trim())?.[1];
};
/** What the token opens; a refusal of its proof names the challenge and the nonce (RFC 9449 7 and 9). */
const accessFrom = (auth: Auth, request: MockRequest, token: string): Access | undefined => {
  const sent = tokenInHeader(request.headers.authorization ?? '') ?? { token, isBound: false };
  try {
    return openedBy(auth, request, sent);
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw new LabelError('UNAUTHENTICATED', error.message, {
      reason: 'CREDENTIALS_MISSING',
      headers: { ...error.headers, 'www-authenticate': proofChallenge(error) },
    });
  }
};
/** spec/labels#errors: no or broken bearer token is 401. With `--labels-auth any` every token will do (spec/program#mock-server). */
export const callerFrom = (
  env: Environment,
  request: MockRequest,
  queryToken: string | undefined,
): Caller => {
  const token = tokenIn(request, queryToken);
  if (token === undefined) {
    throw makeUnauthenticatedError(
      'Request is missing required authentication credential. Expected an OAuth 2 access token: Authorization: Bearer <token>.',
    );
  }
  if (env.options.labelsAuth === 'any') return { person: OWNER, isAdmin: true };
  const auth = authState(env);
  const access = accessFrom(auth, request, token);
  const user = access && auth.users.get(access.family.user);
  if (access === undefined || user === undefined) {
    throw makeUnauthenticatedError(
      'Request had invalid authentication credentials: the access token is unknown, expired or revoked.',
    );
  }
  return {
    person: personOfUser(env, user),
    isAdmin: isFirstUser(env, user.id),
    scopes: access.scopes.map(scopeName),
  };
};
/**
 * spec/labels#scopes: reads accept any of the four scopes, writes accept two; admin calls need an admin
 * scope.
 */
export const refuseScope = (caller: Caller, method: string, isAdminCall: boolean): void => {
  const { scopes } = caller;
  if (scopes === undefined) return;
  const enough = scopesFor(method, isAdminCall);
  if (enough.some((name) => scopes.includes(name))) return;
  throw new LabelError(
    'PERMISSION_DENIED',
    `Request had insufficient authentication scopes. One of these is needed: ${enough.join(', ')}.`,
    {
      reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
      metadata: {
        required_scopes: enough.map((name) => `${scopeBase}/${name}`).join(' '),
        service: 'labels',
      },
    },
  );
};
/** spec/labels#permissions: each role implies the ones before it. */
export const rank = (role: string): number => labelRoles.findIndex((one) => one === role);
export const permissionsFor = (state: LabelState, label: string): Iterable<PermissionRecord> =>
  state.permissions.index('label', (p) => p.label).get(label);
/**
 * The caller's role on a label: the highest granted role. Creators are editors, and so are administrators
 * with the admin flag. -1 means no role.
 */
export const roleOf = (state: LabelState, label: LabelRecord, caller: Caller, asAdmin: boolean): number => {
  const mayEdit =
    label.creator === caller.person || (caller.isAdmin && (asAdmin || label.labelType === 'ADMIN'));
  // spec/labels#labels: a provider's own label is read only.
  if (label.labelType === 'PROVIDER_APP') return rank('APPLIER');
  if (mayEdit) return rank('EDITOR');
  let best = -1;
  for (const { principal, role } of permissionsFor(state, label.id)) {
    // The mock server does not store members of groups: a group or audience of the organization contains all
    // users.
    if (principal === caller.person || !principal.startsWith('people/')) best = Math.max(best, rank(role));
  }
  return best;
};
export const refuseAdmin = (caller: Caller, asAdmin: boolean): void => {
  if (asAdmin && !caller.isAdmin)
    throw makeDeniedError(
      'NOT_ADMIN',
      'The caller is not an administrator of labels, so useAdminAccess is refused.',
    );
};
export const refuseRole = (held: number, needed: string, label: string): void => {
  if (held < rank(needed)) {
    throw makeDeniedError(
      'ROLE_TOO_LOW',
      `The caller needs the role ${needed} on label ${label} and has ${labelRoles[held] ?? 'none'}.`,
      { role: needed, label },
    );
  }
};

/** The part of the control interface that belongs to the label service. */
export const TOKEN_PATH = '/__opsctl/labels/token';
/** NONE has no role on any label; ADMIN administers all of them. */
const roles = ['NONE', ...labelRoles, 'ADMIN'] as const;
type Role = (typeof roles)[number];
const answer = (status: number, body: object): MockReply => ({
  status,
  headers: { 'content-type': JSON_TYPE, 'cache-control': 'no-store' },
  body: JSON.stringify(body),
});
const addUser = (auth: Auth, role: Role): { readonly id: string; readonly email: string } => {
  const email = `${role.toLowerCase()}@labels.example`;
  const known = [...auth.users.values()].find((user) => user.email === email);
  if (known !== undefined) return known;
  const user = {
    id: `labels-${role.toLowerCase()}`,
    email,
    name: role,
    password: null,
    organization: null,
    state: 'active' as const,
    kind: 'person' as const,
    channels: 0,
    is_content_owner: false,
    created_at: auth.env.now(),
  };
  auth.users.put(user.id, user);
  return user;
};
/** The first person administers labels, so that person must exist before others are added. */
const userFor = (env: Environment, auth: Auth, role: Role) => {
  const first = [...auth.users.values()].find((user) => isFirstUser(env, user.id)) ?? addUser(auth, 'ADMIN');
  return role === 'ADMIN' ? first : addUser(auth, role);
};
const labelsNamed = (state: LabelState, label: string | undefined) =>
  state.labels.filter(
    ({ id, published, drafts }) =>
      label === undefined ||
      id === label.replace(/^labels\//, '') ||
      [published, ...drafts].some((revision) => state.revisions.get(`${id}@${revision}`)?.title === label),
  );
const grant = (
  env: Environment,
  principal: string,
  email: string,
  role: Role,
  label: string | undefined,
): number => {
  if (role === 'NONE' || role === 'ADMIN') return 0;
  const state = labelState(env);
  const labels = labelsNamed(state, label);
  const id = hash('sha256', principal).slice(0, 16);
  for (const one of labels)
    state.permissions.put(`${one.id}/${id}`, {
      id,
      seq: env.store.next('labels.permissionSeq'),
      label: one.id,
      role,
      principal,
      email,
    });
  return labels.length;
};
const accessFor = (auth: Auth, user: string, role: Role): { token: string; seconds: number } => {
  const scopes = (role === 'ADMIN' ? ['labels', 'admin.labels'] : ['labels']).map(fullScope);
  const now = auth.env.now();
  const seconds = auth.settings().access_token_seconds;
  const id = auth.env.store.next('auth.families');
  const ends_at = now + seconds * 1000;
  const family = {
    id,
    client: '',
    user,
    scopes,
    hash: '',
    issued_at: now,
    ends_at,
    stopped_at: null,
    revoked_at: null,
  };
  auth.families.put(id, family);
  return { token: makeAccess(auth, family, ends_at, scopes), seconds };
};
type Asked = { readonly role?: unknown; readonly label?: unknown };
const give = (env: Environment, { role: word, label }: Asked): MockReply => {
  const role = roles.find((one) => one === String(word).toUpperCase());
  if (role === undefined) return answer(400, { message: `role must be one of ${roles.join(', ')}` });
  const named = typeof label === 'string' && label !== '' ? label : undefined;
  if (named !== undefined && labelsNamed(labelState(env), named).length === 0)
    return answer(404, { message: `there is no label ${named}` });
  return env.store.transact(() => {
    const auth = authState(env);
    const user = userFor(env, auth, role);
    const { token, seconds } = accessFor(auth, user.id, role);
    const labels = grant(env, personOfUser(env, user), user.email, role, named);
    const checked = env.options.labelsAuth === 'oauth';
    return answer(200, {
      access_token: token,
      token_type: 'Bearer',
      expires_in: seconds,
      role,
      email: user.email,
      labels,
      checked,
    });
  });
};
/** Only programs ask for tokens: a page in a browser names its origin, and cannot send JSON to another site unasked. */
export const roleToken = (env: Environment, request: MockRequest): MockReply => {
  const { origin, 'sec-fetch-site': site, 'content-type': type = '' } = request.headers;
  if (origin !== undefined || site === 'cross-site')
    return answer(403, { message: 'the control interface does not serve web pages' });
  if (request.method !== 'POST' || !/^application\/json\b/i.test(type))
    return answer(415, { message: 'POST a JSON body' });
  try {
    return give(env, JSON.parse(new TextDecoder().decode(request.body)) as Asked);
  } catch (error) {
    if (error instanceof SyntaxError) return answer(400, { message: 'the body is not JSON' });
    throw error;
  }
};
