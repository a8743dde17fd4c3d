import { afterEach, expect, test } from 'vitest';
import { loginServer } from '../../src/auth/settings.ts';
import { type AuthContextOptions, makeAuthContext } from './auth-context.ts';
import { covers } from '../support/covers.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
const context = async (options: AuthContextOptions) => {
  const made = await makeAuthContext(options);
  closers.push(made.close);
  return made;
};
const settings = {
  'auth.url': 'https://accounts.example.com',
  'auth.token_url': 'https://token.example.com',
  'auth.revoke_url': 'https://revoke.example.com',
  'auth.client_id': 'from-setting',
  'auth.client_secret': 'secret-of-setting',
};

test('settings name the server, and its secret is hidden', covers('setting/auth.revoke_url'), async () => {
  const run = await context({ settings });
  const { endpoints, clientId, clientSecret } = await loginServer(run, {});
  expect(endpoints).toMatchObject({
    token: 'https://token.example.com/token',
    revoke: 'https://revoke.example.com/revoke',
  });
  expect([clientId, clientSecret]).toEqual(['from-setting', 'secret-of-setting']);
  expect(run.said.hidden).toContain('secret-of-setting');
});

test.each([
  [{ tokenUrl: 'https://flag.example.com' }, { token: 'https://flag.example.com/token' }],
  [{ revokeUrl: 'https://flag.example.com' }, { revoke: 'https://flag.example.com/revoke' }],
])('a flag wins over its setting: %j', async (given, endpoints) => {
  expect((await loginServer(await context({ settings }), given)).endpoints).toMatchObject(endpoints);
});

test('flags for the client win too', async () => {
  const run = await context({ settings });
  const server = await loginServer(run, { clientId: 'from-flag', clientSecret: 'secret-of-flag' });
  expect([server.clientId, server.clientSecret]).toEqual(['from-flag', 'secret-of-flag']);
});

test('--token-url without an authorization URL is a usage error, even with the embedded server', async () => {
  const run = await context({ mockUrl: 'http://127.0.0.1:1' });
  await expect(loginServer(run, { tokenUrl: 'https://flag.example.com' })).rejects.toMatchObject({
    category: 'usage',
  });
  expect((await loginServer(run, {})).isMock).toBe(true);
});

test('a server without a client id is a usage or configuration error, not a guess', async () => {
  const { 'auth.client_id': _, ...without } = settings;
  const run = await context({ settings: without });
  await expect(loginServer(run, {})).rejects.toMatchObject({
    category: expect.stringMatching(/usage|config/),
  });
});
