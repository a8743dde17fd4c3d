import { afterEach, beforeEach, expect, test } from 'vitest';
import { grantedToken } from '../../support/labels-tokens.ts';
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
