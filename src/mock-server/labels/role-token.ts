import { createHash } from 'node:crypto';
import { labelRoles } from '../../api-specs/labels/words.ts';
import { fullScope } from '../../api-specs/oauth/scopes.ts';
import { authState } from '../oauth/state.ts';
import { makeAccess } from '../oauth/tokens.ts';
import type { Environment, MockReply, MockRequest } from '../service.ts';
import { isFirstUser, personOfUser } from './people.ts';
import { type LabelState, labelState } from './state.ts';

/** The part of the control interface that belongs to the label service. */
export const TOKEN_PATH = '/__opsctl/labels/token';
/** NONE has no role on any label; ADMIN administers all of them. */
const roles = ['NONE', ...labelRoles, 'ADMIN'] as const;
type Role = (typeof roles)[number];
type Auth = ReturnType<typeof authState>;

const answer = (status: number, body: object): MockReply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
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

/** The first person administers labels, so there has to be one before anybody else is added. */
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
  const id = createHash('sha256').update(principal).digest('hex').slice(0, 16);
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
    return answer(403, { message: 'the control interface does not answer web pages' });
  if (request.method !== 'POST' || !/^application\/json\b/i.test(type))
    return answer(415, { message: 'POST a JSON body' });
  try {
    return give(env, JSON.parse(new TextDecoder().decode(request.body)) as Asked);
  } catch (error) {
    if (error instanceof SyntaxError) return answer(400, { message: 'the body is not JSON' });
    throw error;
  }
};
