import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/host/host.ts';
import { grantedToken } from '../../support/labels-tokens.ts';
import { opsctl } from '../../support/program.ts';
import { type Surrounding, surrounding } from './around.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding({ labelsAuth: 'oauth' });
});
afterEach(() => at.close());
const withToken = (token: string) => ({ OPSCTL_LABELS_TOKEN: token });
const error = (stderr: string) => JSON.parse(stderr.slice(stderr.indexOf('{"code"')));

test('a missing scope is named, with the line that mends it', async () => {
  const { token } = grantedToken(at.server.world, 'ana', 'labels.readonly');
  expect((await at.runWith(withToken(token), 'list', '-o', 'json')).code).toBe(0);
  const ran = await at.runWith(withToken(token), 'create', '--label-type', 'SHARED', '--title', 'T', '-o', 'json');
  expect(ran.code).toBe(4);
  expect(error(ran.stderr)).toMatchObject({ code: 'MISSING_SCOPE', hint: expect.stringMatching(/^opsctl login --add-scope https:\/\/.*\/labels$/) });
  const file = await at.file('l.yaml', 'title: T\n');
  expect(error((await at.runWith(withToken(token), 'apply', '-f', file, '-o', 'json')).stderr)).toMatchObject({ code: 'MISSING_SCOPE' });
});

test('an admin call names the admin scope', async () => {
  const { token } = grantedToken(at.server.world, 'ana', 'labels');
  const ran = await at.runWith(withToken(token), 'list', '--admin', '-o', 'json');
  expect(error(ran.stderr).hint).toMatch(/--add-scope .*\/admin\.labels(\.readonly)?$/);
});

test('a token that is no longer good says how to get one, and never shows it', async () => {
  const { token, revoke } = grantedToken(at.server.world, 'ana', 'labels');
  revoke();
  const ran = await at.runWith(withToken(token), 'list', '-o', 'json');
  expect(ran.code).toBe(4);
  expect(error(ran.stderr).hint).toContain('opsctl login --add-scope');
  expect(ran.stdout + ran.stderr).not.toContain(token);
});

test('without a token of its own the service asks for the account of opsctl login', async () => {
  const ran = await at.runWith({ OPSCTL_LABELS_TOKEN: undefined }, 'list', '-o', 'json');
  expect(ran.code).toBe(4);
  expect(error(ran.stderr)).toMatchObject({ code: 'NOT_SIGNED_IN' });
});

test('the account of opsctl login opens the service', async () => {
  const { token } = grantedToken(at.server.world, 'ana', 'labels');
  const typing = (host: Host): Host => ({
    ...host,
    terminal: {
      ...host.terminal,
      stdin: {
        ...host.terminal.stdin,
        async *bytes() {
          yield new TextEncoder().encode(`${token}\n`);
        },
      },
    },
  });
  const env = { OPSCTL_AUTH_URL: at.server.mock.origin, OPSCTL_LABELS_URL: at.server.mock.origin };
  const signIn = [
    'login',
    '--token-stdin',
    '--account',
    'ana',
    '--client-id',
    'any',
    '--auth-url',
    at.server.mock.origin,
    '--token-url',
    at.server.mock.origin,
  ];
  const login = await opsctl([...signIn, '--scope', 'labels'], { home: at.folder, env, host: typing });
  expect({ code: login.code, stderr: login.code === 0 ? '' : login.stderr }).toEqual({ code: 0, stderr: '' });
  const ran = await at.runWith(
    { OPSCTL_LABELS_TOKEN: undefined, OPSCTL_AUTH_URL: at.server.mock.origin },
    'create',
    '--label-type',
    'SHARED',
    '--title',
    'Signed in',
    '-o',
    'json',
  );
  expect({ code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({ code: 0, stderr: '' });
  expect(ran.json()).toMatchObject({ properties: { title: 'Signed in' } });
});
