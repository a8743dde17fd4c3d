import { clientFrom } from './console/clients.ts';
import { projectFrom, userFrom } from './console/users.ts';
import { demo } from '../../api-specs/oauth/endpoints.ts';
import type { Auth, Client } from './state.ts';

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
