import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressOf, type Ended, type Program, program } from '../real/auth/program.ts';
import { noChromium } from '../support/chromium.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';
import { isLeftOut, oauthPackages } from './python.ts';
import { authlibServer } from './servers/authlib.ts';
import { nodeOauth2Server } from './servers/node-oauth2-server.ts';
import { oauth2MockServer } from './servers/oauth2-mock-server.ts';
import { oauth2orizeServer } from './servers/oauth2orize.ts';
import { oidcProvider } from './servers/oidc-provider.ts';
import type { Load, PeerServer } from './servers/peer-server.ts';

/** The built program with authorization servers of other vendors. Only the issuer of each server is configured. */
const load: Load = async (name) => import(pathToFileURL(peers().resolve(name)).href);
const python = oauthPackages();
const servers: readonly [string, () => Promise<PeerServer>, boolean][] = [
  ['oidc-provider', () => oidcProvider(load), noChromium()],
  ['oauth2-mock-server', () => oauth2MockServer(load), false],
  ['node-oauth2-server', () => nodeOauth2Server(load), false],
  ['oauth2orize', () => oauth2orizeServer(load), false],
  ['Authlib', () => authlibServer(python), isLeftOut(python)],
];

for (const [name, open, isAbsent] of servers)
  describe.skipIf(isAbsent)(name, () => {
    let server: PeerServer;
    let opsctl: Program;
    beforeAll(async () => {
      server = await open();
    }, 600_000);
    afterAll(() => server?.close());
    beforeEach(async () => {
      const { id, secret } = server.client;
      opsctl = await program({
        OPSCTL_ISSUER: server.issuer,
        OPSCTL_CLIENT_ID: id,
        ...(secret === undefined ? {} : { OPSCTL_CLIENT_SECRET: secret }),
      });
    });
    afterEach(async () => {
      for (const secret of [...(await server.issued()), server.client.secret ?? server.issuer])
        if (secret !== server.issuer) expect(opsctl.said()).not.toContain(secret);
    });

    const signIn = async (): Promise<Ended> => {
      const scopes = server.scopes.flatMap((scope) => ['--scope', scope]);
      const login = opsctl.start(['login', '--no-browser', ...scopes]);
      const { url } = await addressOf(login);
      expect(/<h1>[^<]*/.exec(await server.signIn(url))?.[0] ?? 'signed in').toContain('signed in');
      const ended = await login.ended;
      expect(ended.code, ended.stderr).toBe(0);
      return ended;
    };
    const accessToken = async (): Promise<string> => (await opsctl.run(['auth', 'token'])).stdout.trim();
    const refreshed = async (): Promise<void> => {
      const { code, stderr } = await opsctl.run(['auth', 'refresh']);
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    };
    const newest = async (): Promise<string> => (await server.issued()).at(-1) ?? '';

    test('discovery and sign-in: endpoints and client authentication come from the metadata', async () => {
      const { stdout } = await signIn();
      expect(JSON.parse(stdout)).toMatchObject({ signed_in: true, has_refresh_token: true });
      expect(await server.isAlive(await accessToken())).toBe(true);
    });

    test('refresh: a new access token that the server takes', async () => {
      await signIn();
      const before = await accessToken();
      await refreshed();
      const after = await accessToken();
      expect(after).not.toBe(before);
      expect(await server.isAlive(after)).toBe(true);
    });

    test('rotation keeps the newest refresh token, and use of a stolen older one is reported', async () => {
      await signIn();
      const first = await newest();
      for (let round = 0; round < 3; round++) await refreshed();
      expect(await server.isAlive(await accessToken())).toBe(true);
      expect(await newest()).not.toBe(first);
      if (!server.endsUsedTokens) return;
      // Some servers treat a reused token as stolen and revoke the sign-in. The program then reports this.
      expect(await replay(server, first)).toBe(false);
      const next = await opsctl.run(['auth', 'refresh']);
      expect(next.code === 0 || next.stderr.includes('sign-in'), next.stderr).toBe(true);
      expect([0, 4]).toContain(next.code);
    });

    test('revoke invalidates both tokens, and the account shows it', async () => {
      await signIn();
      const [access, refresh] = [await accessToken(), await newest()];
      const ended = await opsctl.run(['auth', 'revoke']);
      if (server.revocation === 'none') {
        expect(ended).toMatchObject({ code: 6, stdout: '' });
        expect(ended.stderr).toContain('publishes no revocation endpoint');
        expect(await server.isAlive(access)).toBe(true);
        return;
      }
      expect(ended.code, ended.stderr).toBe(0);
      expect((await opsctl.run(['auth', 'token'])).code).toBe(4);
      if (server.revocation === 'no-effect') return;
      expect(await server.isAlive(access)).toBe(false);
      expect(await replay(server, refresh)).toBe(false);
    });

    test('logout removes the account, revokes the token if possible and warns otherwise', async () => {
      await signIn();
      const access = await accessToken();
      const ended = await opsctl.run(['logout']);
      expect(ended.code, ended.stderr).toBe(0);
      if (server.revocation === 'published') expect(await server.isAlive(access)).toBe(false);
      if (server.revocation === 'none') expect(ended.stderr).toMatch(/^warning: /m);
      expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
    });
  });

/** Returns whether another client can still use this refresh token. */
const replay = async ({ issuer, client }: PeerServer, token: string): Promise<boolean> => {
  const places = [
    `${issuer}/.well-known/openid-configuration`,
    `${issuer}/.well-known/oauth-authorization-server`,
  ];
  const read = async (url: string) => (await fetch(url)).json() as Promise<{ token_endpoint: string }>;
  const { token_endpoint: endpoint } = await Promise.any(
    places.map(async (url) => {
      const metadata = await read(url);
      if (metadata.token_endpoint === undefined) throw new Error(url);
      return metadata;
    }),
  );
  const form = { grant_type: 'refresh_token', refresh_token: token, client_id: client.id };
  const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`;
  const ask = (headers: Record<string, string>, more: Record<string, string>) =>
    fetch(endpoint, { method: 'POST', headers, body: new URLSearchParams({ ...form, ...more }) });
  if (client.secret === undefined) return (await ask({}, {})).ok;
  const tries = [await ask({ authorization: basic }, {}), await ask({}, { client_secret: client.secret })];
  return tries.some(({ ok }) => ok);
};
