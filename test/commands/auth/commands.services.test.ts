import { beforeAll, expect, test } from 'vitest';
import { opsctl } from '../../support/program.ts';
import { makeDirectory } from '../../support/directory.ts';
import { errorOf } from '../../support/facts.ts';

/** The account commands in sequence, in this process, on the embedded mock server. */
let home: string;
beforeAll(async () => {
  home = makeDirectory();
});
const run = (...argv: string[]) => opsctl(argv, { home, env: { OPSCTL_KEYCHAIN: 'never' } });

test('a command without a sign-in exits with code 4 and names the next command', async () => {
  for (const argv of [
    ['auth', 'token'],
    ['auth', 'refresh'],
    ['auth', 'status'],
  ]) {
    const ran = await run(...argv);
    expect([argv, ran.code, ran.stdout]).toEqual([argv, 4, '']);
    expect(ran.stderr).toContain('opsctl login');
  }
  expect((await run('auth', 'list', '-o', 'json')).json()).toEqual([]);
});

test.each([[], ['--method', 'browser'], ['--method', 'device']])(
  'a key file without its method starts no sign-in: login %j',
  async (...method: string[]) => {
    const ran = await run('login', '--key-file', 'key.json', ...method, '-o', 'json');
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(errorOf(ran).problems.map(({ path }: { path: string }) => path)).toEqual(['--key-file']);
  },
);

test('a sign-in is listed as the current account, without a secret', async () => {
  const ran = await run('login', '-o', 'json');
  expect([ran.code, ran.json()]).toEqual([
    0,
    expect.objectContaining({
      account: 'ada@demo.example',
      server: 'mock',
      signed_in: true,
      missing_scopes: [],
    }),
  ]);
  const [account, ...others] = (await run('auth', 'list', '-o', 'json')).json();
  expect(others).toEqual([]);
  expect(account).toMatchObject({
    current: true,
    account: 'ada@demo.example',
    has_refresh_token: true,
    ended: null,
  });
  expect(JSON.stringify(account)).not.toMatch(/m[ar]1\./);
});

test('a token is printed alone, and a refresh gives another', async () => {
  const first = await run('auth', 'token');
  expect([first.code, first.stdout.trim().split('\n').length]).toEqual([0, 1]);
  expect((await run('auth', 'token')).stdout).toBe(first.stdout);
  expect((await run('auth', 'refresh', '-o', 'json')).json()).toMatchObject({ signed_in: true });
  expect((await run('auth', 'token')).stdout).not.toBe(first.stdout);
});

test('an account that is not there is named with those that are', async () => {
  const ran = await run('auth', 'switch', 'nobody@example.com');
  expect(ran.code).not.toBe(0);
  expect(ran.stderr).toMatch(/nobody@example\.com.*ada@demo\.example/);
  expect((await run('auth', 'switch', 'ada@demo.example')).code).toBe(0);
});

test('after a revocation the account stays in the list and is signed out', async () => {
  expect((await run('auth', 'revoke', '-o', 'json')).code).toBe(0);
  const [account] = (await run('auth', 'list', '-o', 'json')).json();
  expect(account).toMatchObject({ account: 'ada@demo.example', signed_in: false });
  expect((await run('auth', 'token')).code).toBe(4);
});

test('a sign-out removes the account', async () => {
  await run('login');
  expect((await run('logout', '-o', 'json')).json()).toEqual({
    account: 'ada@demo.example',
    revoked: true,
    removed: true,
  });
  expect((await run('auth', 'list', '-o', 'json')).json()).toEqual([]);
});
