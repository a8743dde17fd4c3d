import { afterEach, expect, test } from 'vitest';
import { probeFor } from '../../../src/auth/probe.ts';
import { conformanceChecks, rowOf } from '../../../src/auth/conformance/run.ts';
import { makeAuthContext } from '../auth-context.ts';
import { type TokenResponse, tokenServer } from '../token-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const rows = async (answer: TokenResponse) => {
  const server = await tokenServer(answer);
  const context = await makeAuthContext();
  closers.push(server.close, context.close);
  const endpoints = {
    authorize: `${server.url}/auth`,
    token: `${server.url}/token`,
    revoke: `${server.url}/revoke`,
  };
  const probe = probeFor(
    context.host,
    { endpoints, key: 'k', isMock: false, clientId: 'c' },
    ['x/media'],
    '',
    context.signal,
  );
  const found = [];
  for (const check of conformanceChecks) found.push(await rowOf(check, probe));
  return found;
};
const holding = (found: Awaited<ReturnType<typeof rows>>): string[] =>
  found.filter(({ holds }) => holds).map(({ id }) => id);

test('every check has its own number and names its source', () => {
  expect(new Set(conformanceChecks.map(({ id }) => id)).size).toBe(conformanceChecks.length);
  for (const { source } of conformanceChecks) expect(source).toMatch(/^(spec\/sign-in|RFC \d+ )/);
});

test('a server that accepts everything passes only the checks that expect acceptance', async () => {
  expect(holding(await rows({ status: 200, body: '{}' }))).toEqual(['A1', 'A2', 'A3', 'A4', 'A20', 'T13']);
});

test('a server that redirects to any redirect URI fails all rejection checks', async () => {
  const found = await rows({
    status: 302,
    body: '',
    headers: { location: 'https://stranger.example/cb?code=x' },
  });
  expect(holding(found).filter((id) => /^A([5-9]|1[0-7])$/.test(id))).toEqual([]);
});

test('a server that refuses everything fails the right request', async () => {
  expect(holding(await rows({ status: 400, body: { error: 'invalid_request' } }))).not.toContain('A1');
});

test('a server that repeats what it got is caught', async () => {
  const found = await rows({ status: 400, body: 'opsctl-conformance-code-7f3a <script>opsctl()</script>' });
  expect(holding(found)).not.toContain('T13');
  expect(holding(found)).not.toContain('A20');
});

test('a server that is gone fails each check with the cause', async () => {
  const found = await rows({ cut: true });
  expect(holding(found)).toEqual([]);
  expect(found.every(({ saw }) => saw.length > 0)).toBe(true);
});
