import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { addressOf, type Program, program } from '../real/auth/program.ts';
import { noChromium } from '../support/chromium.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';
import { oidcProvider, type Strictness } from './servers/oidc-provider.ts';
import type { Load, PeerServer } from './servers/peer-server.ts';

/** The built program with oidc-provider: tokens that are bound to a key (RFC 9449) and pushed authorization requests (RFC 9126). */
const load: Load = async (name) => import(pathToFileURL(peers().resolve(name)).href);
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});
const start = async (strictness: Strictness): Promise<{ server: PeerServer; opsctl: Program }> => {
  const server = await oidcProvider(load, strictness);
  const opsctl = await program({
    OPSCTL_ISSUER: server.issuer,
    OPSCTL_CLIENT_ID: server.client.id,
    OPSCTL_API_URL: server.issuer,
  });
  open.push(server.close, opsctl.close);
  return { server, opsctl };
};
const signIn = async (server: PeerServer, opsctl: Program, flags: readonly string[]) => {
  const scopes = server.scopes.flatMap((scope) => ['--scope', scope]);
  const login = opsctl.start(['login', '--no-browser', ...scopes, ...flags]);
  const { url } = await addressOf(login);
  const page = await server.signIn(url);
  return { url, page, ended: await login.ended };
};
/** Returns the headers that curl would send with the output lines of `auth header`. */
const headersOf = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );

describe.skipIf(noChromium())('oidc-provider', () => {
  test.each<[string, Strictness]>([
    ['offers DPoP and pushed requests', {}],
    ['requires DPoP with a nonce', { requiresDpop: true }],
    ['requires pushed requests', { requiresPushedRequests: true }],
    ['requires both', { requiresDpop: true, requiresPushedRequests: true }],
  ])('%s: sign-in, API call, refresh and a header for another program', async (_, strictness) => {
    const { server, opsctl } = await start(strictness);
    const { url, ended } = await signIn(server, opsctl, ['--dpop']);
    expect(ended.code, ended.stderr).toBe(0);
    expect([...url.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
    expect(JSON.parse(ended.stdout)).toMatchObject({ token_type: 'DPoP', has_refresh_token: true });
    const api = () => opsctl.run(['api', 'api', 'GET', '/me']);
    expect(JSON.parse((await api()).stdout)).toMatchObject({ sub: 'ada' });
    const { code, stderr } = await opsctl.run(['auth', 'refresh']);
    expect(code, stderr).toBe(0);
    expect(JSON.parse((await api()).stdout)).toMatchObject({ sub: 'ada' });
    const token = JSON.parse((await opsctl.run(['auth', 'token', '-o', 'json'])).stdout);
    expect(token.token_type).toBe('DPoP');
    expect(await server.isAlive(token.access_token)).toBe(false);
    const ask = async (more: readonly string[]) => {
      const header = await opsctl.run(['auth', 'header', '--url', `${server.issuer}/me`, ...more]);
      return fetch(`${server.issuer}/me`, { headers: headersOf(header.stdout) });
    };
    const first = await ask([]);
    const nonce = first.headers.get('dpop-nonce');
    const asked = first.ok || nonce === null ? first : await ask(['--nonce', nonce]);
    expect(await asked.json()).toMatchObject({ sub: 'ada' });
    const refused = await opsctl.run(['auth', 'header']);
    expect([refused.code === 0, refused.stdout]).toEqual([false, '']);
    expect((await opsctl.run(['logout'])).code).toBe(0);
  });

  test('a DPoP server rejects a sign-in without the flag, names the flag, and no tokens are stored', async () => {
    const { server, opsctl } = await start({ requiresDpop: true });
    const { ended } = await signIn(server, opsctl, []);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain('opsctl login --dpop');
    expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
  });

  test('a bound account gets no Bearer token: add-scope keeps the key, and git gets no token', async () => {
    const { server, opsctl } = await start({});
    const scopes = ['--scope', 'openid', '--dpop'];
    const first = opsctl.start(['login', '--no-browser', ...scopes]);
    await server.signIn((await addressOf(first)).url);
    expect((await first.ended).code).toBe(0);
    const more = opsctl.start(['login', '--no-browser', '--add-scope', 'email']);
    await server.signIn((await addressOf(more)).url);
    const ended = await more.ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout).token_type).toBe('DPoP');
    const git = await opsctl.run(['auth', 'git-credential', 'get', '--host', 'git.example.com'], {
      input: 'protocol=https\nhost=git.example.com\n\n',
    });
    expect([git.code, git.stdout]).toEqual([3, '']);
    const url = new URL((await opsctl.run(['login', '--start'])).stderr.match(/https?:\S+/)?.[0] ?? '');
    expect(url.searchParams.has('code_challenge')).toBe(true);
  });
});
