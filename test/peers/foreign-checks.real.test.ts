import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Program, program } from '../real/auth/program.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';
import { oidcProvider } from './servers/oidc-provider.ts';
import type { PeerServer } from './servers/peer-server.ts';

/** `doctor auth` and `auth conformance` with a server of another vendor. */
let server: PeerServer;
let opsctl: Program;
beforeAll(async () => {
  server = await oidcProvider(async (name) => import(pathToFileURL(peers().resolve(name)).href));
}, 600_000);
afterAll(() => server?.close());
beforeEach(async () => {
  opsctl = await program();
});

const at = (client = 'opsctl'): string[] => [
  ...['--auth-url', `${server.issuer}/auth`, '--token-url', `${server.issuer}/token`],
  ...['--revoke-url', `${server.issuer}/token/revocation`, '--client-id', client, '--scope', 'openid'],
];

test('doctor auth: the redirect URI is accepted, and a wrong client is named', async () => {
  const right = await opsctl.run(['doctor', 'auth', ...at(), '-o', 'json']);
  expect(JSON.parse(right.stdout)).toContainEqual(
    expect.objectContaining({ check: 'redirect URI', state: 'pass' }),
  );
  const wrong = await opsctl.run(['doctor', 'auth', ...at('nobody')]);
  expect(wrong.code).toBe(20);
});

test('conformance passes the rules of the standards and fails the rules of this service', async () => {
  const rfc = await opsctl.run(['auth', 'conformance', ...at(), '--only', 'rfc', '-o', 'json']);
  const failing = (JSON.parse(rfc.stdout) as { id: string; holds: boolean; saw: string }[])
    .filter(({ holds }) => !holds)
    .map(({ id }) => id);
  expect(failing.filter((id) => !['A18', 'T8', 'V2'].includes(id))).toEqual([]);
  const doc = await opsctl.run(['auth', 'conformance', ...at(), '--only', 'service', '-o', 'json']);
  expect(doc.code).toBe(20);
  expect(JSON.parse(doc.stdout)).toContainEqual(expect.objectContaining({ id: 'A19', holds: false }));
});
