import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  Browser,
  authServer,
  channels,
  exchange,
  formOf,
  location,
  pageError,
  post,
  refresh,
  scopes,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});

describe('the whole flow, step by step (spec/sign-in#service-3)', () => {
  test(
    'a: sign-in page, b: consent page, c: redirect with code and state, d: exchange, e: API, f: refresh, g: revoke',
    covers('spec/sign-in#service-1', 'spec/sign-in#authorize-7'),
    async () => {
      const browser = new Browser(server);
      const signIn = await browser.ask({ scope: `${scopes.readonly} ${scopes.upload}` });
      expect(signIn.status).toBe(200);
      expect(signIn.text).toContain('<h1>Sign in</h1>');
      const consent = await browser.signIn();
      expect(consent.text).toContain('opsctl wants to access your account');
      expect(formOf(consent.text).boxes).toEqual([scopes.readonly, scopes.upload]);
      const back = await browser.allow();
      expect(back.status).toBe(303);
      const to = location(back);
      expect(to.origin + to.pathname).toBe('http://127.0.0.1:4567/callback');
      expect(to.searchParams.get('state')).toBe('state-of-the-test');
      expect(to.hash).toBe('#state=state-of-the-test');
      const tokens = await exchange(server, to.searchParams.get('code') ?? '');
      expect(tokens.status, tokens.text).toBe(200);
      expect(tokens.json).toMatchObject({
        expires_in: 3599,
        token_type: 'Bearer',
        scope: `${scopes.readonly} ${scopes.upload}`,
      });
      const api = await channels(server, tokens.json.access_token);
      expect(api.status, api.text).toBe(200);
      expect(api.json.items).toHaveLength(1);
      const fresh = await refresh(server, tokens.json.refresh_token);
      expect(fresh.status).toBe(200);
      const revoked = await post(
        `${server.origin}/revoke?token=${encodeURIComponent(fresh.json.access_token)}`,
        '',
      );
      expect(revoked.status).toBe(200);
      expect((await channels(server, fresh.json.access_token)).status).toBe(401);
      expect((await refresh(server, tokens.json.refresh_token)).json.error).toBe('invalid_grant');
    },
  );
  test('an error is a page and not a redirect', async () => {
    const browser = new Browser(server);
    const reply = await browser.ask({ redirect_uri: 'http://evil.example/cb' });
    expect(pageError(reply)).toBe('redirect_uri_mismatch');
    expect(reply.status).toBe(400);
    expect(reply.headers.location).toBeUndefined();
  });
});
