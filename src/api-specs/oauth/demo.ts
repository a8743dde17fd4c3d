import { fullScope } from './scopes.ts';

/** Well-known values of the demo: passwords and the secret are printed by `mock serve` and protect nothing. */
export const demo = {
  project: 'demo-project',
  clients: {
    desktop: '417000000001-demodesktop000000000000000000000.apps.opsctl.example',
    desktopWithSecret: '417000000001-demosecret0000000000000000000000.apps.opsctl.example',
    mobileA: '417000000001-demomobilea000000000000000000000.apps.opsctl.example',
    mobileB: '417000000001-demomobileb000000000000000000000.apps.opsctl.example',
    universal: '417000000001-demouniversal0000000000000000000.apps.opsctl.example',
    extension: '417000000001-demoextension0000000000000000000.apps.opsctl.example',
  },
  secret: 'OCS-demo-secret-that-protects-nothing',
  users: [
    {
      id: '100001000000000000001',
      email: 'ada@demo.example',
      name: 'Ada Demo',
      password: 'ada-demo',
      organization: 'demo.example',
      channels: 1,
    },
    {
      id: '100002000000000000002',
      email: 'bob@demo.example',
      name: 'Bob Demo',
      password: 'bob-demo',
      channels: 2,
    },
  ],
  /** Owns content, so that it may use the data API; the embedded CI's jobs of demo/* may act as it. */
  serviceAccount: { id: '100003000000000000003', email: 'ci@demo.example', name: 'Demo CI' },
  ci: { audience: 'opsctl-demo', subjects: ['repo:demo/*', 'project_path:demo/*'] },
  scopes: ['media', 'media.readonly', 'media.upload', 'openid', 'email', 'profile'].map(fullScope),
} as const;
