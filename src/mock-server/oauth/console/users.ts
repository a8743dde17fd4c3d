import { scopeRow, demo } from '../../../api-specs/oauth/endpoints.ts';
import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../body.ts';
import { base64url, hashedPassword } from '../keys.ts';
import { fingerprintIsSha1 } from '../rules/rule.ts';
import {
  emitAccount,
  emitAccountDisabled,
  emitSessionsRevoked,
  emitTokenRevoked,
} from '../security-events.ts';
import { type Auth, collectionsOf, type Project, type StoreItem, type User, type Client } from '../state.ts';
import { familiesOf, issueForMachine, revokeFamily } from '../tokens.ts';
import {
  findRecord,
  policyView,
  projectView,
  storeItemView,
  userByName,
  userView,
  warningView,
  clientFrom,
  type ConsoleHandlers,
} from './clients.ts';

/** facts: a sub is digits, never used again. */
const newSub = (auth: Auth): string =>
  `1${String(auth.env.store.next('auth.users')).padStart(5, '0')}${[...auth.env.random(15)].map((byte) => byte % 10).join('')}`;
export type UserDraft = Pick<User, 'email'> &
  Partial<Pick<User, 'name' | 'organization' | 'kind' | 'channels' | 'is_content_owner' | 'id'>> & {
    readonly password?: string | undefined;
  };
/** A user from checked values; shared by the console and the seed. */
const userFrom = (auth: Auth, body: UserDraft): User => ({
  id: body.id ?? newSub(auth),
  email: body.email,
  name: body.name ?? body.email.split('@')[0] ?? body.email,
  password: body.password === undefined ? null : hashedPassword(auth, body.password),
  organization: body.organization ?? null,
  state: 'active',
  kind: body.kind ?? 'person',
  channels: body.channels ?? 1,
  is_content_owner: body.is_content_owner ?? false,
  created_at: auth.env.now(),
});
const emailIsUnused = (auth: Auth, email: string): void => {
  const taken = auth.users.find(
    (user) => user.email.toLowerCase() === email.toLowerCase() && user.state !== 'deleted',
  );
  if (taken !== undefined)
    throw new HttpError(409, `There is a user ${email} already.`, {
      problems: [problem('email', 'rule', 'is used by another account')],
    });
};
const endSessions = (auth: Auth, user: User): void => {
  for (const [key, session] of [...auth.sessions.entries()]) {
    if (!session.users.includes(user.id)) continue;
    const users = session.users.filter((id) => id !== user.id);
    if (users.length === 0) auth.sessions.delete(key);
    else auth.sessions.put(key, { ...session, users });
  }
};
/** spec/sign-in#check-6.17: a new password may revoke grants under the old one. */
const passwordChanged = (auth: Auth, user: User): void => {
  emitAccount(auth, user, 'credentialChangeRequired');
  if (!auth.settings().revoke_on_password_change) return;
  for (const family of familiesOf(auth, user.id)) {
    revokeFamily(auth, family);
    emitTokenRevoked(auth, family);
  }
};
const notDeleted = (user: User): User => {
  if (user.state === 'deleted') throw new HttpError(409, `${user.email} is deleted.`);
  return user;
};
const put = (auth: Auth, user: User): User => {
  auth.users.put(user.id, user);
  return user;
};
const serviceToken = (auth: Auth, user: User, scopes: readonly string[]) => {
  if (user.kind !== 'service-account')
    throw new HttpError(409, `${user.email} is a person; tokens of people come from a sign-in.`);
  return issueForMachine(auth, { user: user.id, client: '' }, scopes);
};
export const userHandlers: ConsoleHandlers['users'] = {
  list: ({ state: { auth } }) => [...auth.users.values()].map(userView),
  create: ({ state: { auth }, body }) => {
    emailIsUnused(auth, body.email);
    if (body.kind !== 'service-account' && body.password === undefined) {
      throw new HttpError(400, 'A person needs a password.', {
        problems: [problem('password', 'required', 'is required for a person')],
      });
    }
    return userView(put(auth, userFrom(auth, body)));
  },
  update: ({ state: { auth }, params, body: { password, ...body } }) => {
    const user = userByName(auth, params.user);
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    if (password !== undefined) passwordChanged(auth, user);
    return userView(
      put(auth, {
        ...user,
        ...given,
        ...(password === undefined ? {} : { password: hashedPassword(auth, password) }),
      }),
    );
  },
  // spec/sign-in#errors-6: tokens of a deleted account end with it.
  delete: ({ state: { auth }, params }) => {
    const user = userByName(auth, params.user);
    const gone = put(auth, { ...user, state: 'deleted' });
    endSessions(auth, user);
    for (const family of familiesOf(auth, user.id)) revokeFamily(auth, family);
    emitAccount(auth, user, 'accountPurged');
    return userView(gone);
  },
  disable: ({ state: { auth }, params }) => {
    const user = put(auth, { ...notDeleted(userByName(auth, params.user)), state: 'disabled' });
    endSessions(auth, user);
    emitAccountDisabled(auth, user);
    return userView(user);
  },
  enable: ({ state: { auth }, params }) => {
    const user = notDeleted(userByName(auth, params.user));
    emitAccount(auth, user, 'accountEnabled');
    return userView(put(auth, { ...user, state: 'active' }));
  },
  signOut: ({ state: { auth }, params }) => {
    const user = userByName(auth, params.user);
    endSessions(auth, user);
    emitSessionsRevoked(auth, user);
    return userView(user);
  },
  token: ({ state: { auth }, params, body }) =>
    serviceToken(auth, userByName(auth, params.user), body.scopes),
};

const newId = (auth: Auth): string => base64url(auth.env.random(9));
/** spec/sign-in#errors-4: only a project that belongs to an organization can be restricted to it. */
const internalHasAnOrganization = (project: Project): void => {
  if (!project.is_internal || project.organization) return;
  throw new HttpError(400, 'An internal project belongs to an organization.', {
    problems: [problem('organization', 'required', 'is required for an internal project')],
  });
};
const projectFrom = (
  auth: Auth,
  body: {
    name: string;
    organization?: string | undefined;
    is_internal?: boolean | undefined;
    media_api?: boolean | undefined;
    id?: string;
  },
): Project => {
  const number = auth.env.store.next('auth.projects', 417_000_000_001);
  return {
    id: body.id ?? `project-${number}`,
    number,
    name: body.name,
    organization: body.organization ?? null,
    is_internal: body.is_internal ?? false,
    media_api: body.media_api ?? true,
    created_at: auth.env.now(),
  };
};
export const projectHandlers: ConsoleHandlers['projects'] = {
  list: ({ state: { auth } }) => [...auth.projects.values()].map(projectView),
  create: ({ state: { auth }, body }) => {
    const project = projectFrom(auth, body);
    internalHasAnOrganization(project);
    auth.projects.put(project.id, project);
    return projectView(project);
  },
  update: ({ state: { auth }, params, body }) => {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const project: Project = { ...findRecord(auth.projects, params.project, 'project'), ...given };
    internalHasAnOrganization(project);
    auth.projects.put(project.id, project);
    return projectView(project);
  },
};
const scopesExist = (field: string, scopes: readonly string[]): void => {
  const problems = scopes.flatMap((scope, i) =>
    scopeRow(scope) === undefined
      ? [problem(`${field}[${i}]`, 'rule', `is not a known scope: ${scope}`)]
      : [],
  );
  if (problems.length > 0) throw new HttpError(400, 'A scope is not known.', { problems });
};
export const policyHandlers: ConsoleHandlers['policies'] = {
  list: ({ state: { auth } }) => [...auth.policies.values()].map(policyView),
  create: ({ state: { auth }, body }) => {
    scopesExist('blocked_scopes', body.blocked_scopes);
    const policy = {
      id: newId(auth),
      organization: body.organization,
      blocked_scopes: body.blocked_scopes,
      clients: body.clients ?? [],
      created_at: auth.env.now(),
    };
    auth.policies.put(policy.id, policy);
    return policyView(policy);
  },
  delete: ({ state: { auth }, params }) => {
    findRecord(auth.policies, params.policy, 'policy');
    auth.policies.delete(params.policy);
    return undefined;
  },
};
const needed = { app: ['package_name', 'fingerprint'], extension: ['item_id'] } as const;
export const storeItemHandlers: ConsoleHandlers['storeItems'] = {
  list: ({ state: { auth } }) => [...auth.storeItems.values()].map(storeItemView),
  create: ({ state: { auth }, body }) => {
    const missing = needed[body.kind]
      .filter((name) => body[name] === undefined)
      .map((name) => problem(name, 'required', `is required for an ${body.kind}`));
    const problems = [...missing, ...fingerprintIsSha1({ type: 'mobile-a', fingerprint: body.fingerprint })];
    if (problems.length > 0) throw new HttpError(400, 'The store item is not valid.', { problems });
    const item: StoreItem = {
      id: newId(auth),
      kind: body.kind,
      package_name: body.package_name ?? null,
      fingerprint: body.fingerprint ?? null,
      item_id: body.item_id ?? null,
      accounts: body.accounts,
      granted_at: auth.env.now(),
    };
    auth.storeItems.put(item.id, item);
    return storeItemView(item);
  },
  delete: ({ state: { auth }, params }) => {
    findRecord(auth.storeItems, params.item, 'store item');
    auth.storeItems.delete(params.item);
    return undefined;
  },
};
export const consentHandlers: ConsoleHandlers['consent'] = {
  get: ({ state: { auth } }) => auth.consent(),
  set: ({ state: { auth }, body }) => {
    const user = body.user === undefined ? null : userByName(auth, body.user).email;
    scopesExist('scopes', body.scopes ?? []);
    const consent = {
      mode: body.mode,
      user,
      scopes: body.scopes ?? [],
      access_for_seconds: body.access_for_seconds ?? null,
    };
    auth.single.put('consent', consent);
    return consent;
  },
};
export const settingsHandlers: ConsoleHandlers['settings'] = {
  get: ({ state: { auth } }) => auth.settings(),
  set: ({ state: { auth }, body }) => {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const settings = { ...auth.settings(), ...given };
    auth.single.put('settings', settings);
    return settings;
  },
};
export const serverHandlers: ConsoleHandlers['server'] = {
  warnings: ({ state: { auth } }) => [...auth.warnings.values()].map(warningView),
  counts: ({ state: { auth } }) =>
    Object.fromEntries(
      Object.entries(collectionsOf(auth.env.store)).map(([name, records]) => [name, records.size]),
    ),
};

type Row = { readonly id: string; readonly secret?: string } & Pick<Client, 'type' | 'name'> &
  Partial<Client>;
const fingerprint = '3F:0B:5C:7A:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00';
const rows: readonly Row[] = [
  // The default client of `opsctl login`: public, every loopback path, so that the client can add a random one.
  { id: demo.clients.desktop, type: 'desktop', name: 'opsctl', any_path: true, redirect_uris: [] },
  {
    id: demo.clients.desktopWithSecret,
    type: 'desktop',
    name: 'Desktop with secret',
    secret: demo.secret,
    service_account: demo.serviceAccount.email,
    any_path: true,
    redirect_uris: [],
  },
  {
    id: demo.clients.mobileA,
    type: 'mobile-a',
    name: 'Mobile A app',
    package_name: 'com.example.app',
    fingerprint,
    custom_uri_scheme: true,
  },
  {
    id: demo.clients.mobileB,
    type: 'mobile-b',
    name: 'Mobile B app',
    bundle_id: 'com.example.app',
    store_id: '1234567890',
    team_id: 'ABCDE12345',
  },
  {
    id: demo.clients.universal,
    type: 'universal-desktop',
    name: 'Universal app',
    store_id: '9WZDNCRFJ3TJ',
    redirect_uris: ['com.example.universal:/oauth'],
  },
  {
    id: demo.clients.extension,
    type: 'browser-extension',
    name: 'Browser extension',
    item_id: 'demoextensionitem',
  },
];

/** Marks a password that still is the well-known one. */
const DEMO_SALT = 'demo';
/** The passwords of the demo with that salt. Deriving them took scrypt at each start, 8 ms of CPU for each. */
const demoHashes: Readonly<Record<(typeof demo.users)[number]['id'], string>> = {
  '100001000000000000001': 'oHOY3UimiPeeLvZOfLy39QWD8X3jcN2A4OgzneEfwJk',
  '100002000000000000002': 'B8uME8AOPjwNwJ_lEDc19TydOQczuzBAGbdropyv6QI',
};
/**
 * Accounts that every visitor may use. The sign-in page shows them, because a user of a new server knows no
 * other account.
 */
export const openAccounts = (auth: Auth): readonly { readonly email: string; readonly password: string }[] =>
  demo.users.filter(({ id }) => {
    const user = auth.users.get(id);
    return user?.state === 'active' && user.password?.salt === DEMO_SALT;
  });

// A demo that was unused for half a year still works: its clients do not count as unused.
const NEVER_UNUSED_MS = 100 * 365 * 86_400_000;

const seedTrusts = (auth: Auth, user: string): void => {
  for (const [i, subject] of demo.ci.subjects.entries())
    auth.trusts.put(`demo-trust-${i}`, {
      id: `demo-trust-${i}`,
      issuer: 'embedded',
      audience: demo.ci.audience,
      subject,
      user,
      scopes: [],
      jwks: null,
      created_at: auth.env.now(),
    });
};

/** An extension and an app in the store, both of the first user. */
const seedStoreItems = (auth: Auth): void => {
  const item = {
    kind: 'extension' as const,
    item_id: 'demoextensionitem',
    package_name: null,
    fingerprint: null,
    accounts: [demo.users[0].email],
  };
  auth.storeItems.put('demo-item', { id: 'demo-item', ...item, granted_at: auth.env.now() });
  const app = {
    kind: 'app' as const,
    item_id: null,
    package_name: 'com.example.app',
    fingerprint,
    accounts: [demo.users[0].email],
  };
  auth.storeItems.put('demo-app', { id: 'demo-app', ...app, granted_at: auth.env.now() });
};

/** The OAuth part of `--seed demo`: a project, a client of each type (and a desktop one with a secret), two users. Call inside a transaction. */
export const seedDemo = (auth: Auth): void => {
  const project = projectFrom(auth, { id: demo.project, name: 'Demo project' });
  auth.projects.put(project.id, project);
  for (const { id, secret, ...row } of rows) {
    const client = clientFrom(auth, id, project.id, row as never, secret ?? null);
    auth.clients.put(id, { ...client, last_used_at: client.created_at + NEVER_UNUSED_MS });
  }
  for (const user of demo.users)
    auth.users.put(user.id, {
      ...userFrom(auth, { ...user, password: undefined }),
      password: { salt: DEMO_SALT, hash: demoHashes[user.id] },
    });
  const account = {
    ...demo.serviceAccount,
    kind: 'service-account' as const,
    is_content_owner: true,
    channels: 3,
  };
  auth.users.put(account.id, userFrom(auth, account));
  seedTrusts(auth, account.id);
  seedStoreItems(auth);
};
