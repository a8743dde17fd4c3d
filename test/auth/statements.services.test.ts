/** Statements of `docs/spec/sign-in.md` about the client, against a server that only the test defines. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { keepAccount } from '../../src/auth/complete-login.ts';
import { signOut } from '../../src/auth/issued-tokens.ts';
import { makeAuthContext } from './auth-context.ts';
import { type TokenResponse, goodTokens, tokenServer } from './token-server.ts';
import { waitingLogin } from './waiting-login.ts';
import { covers } from '../support/covers.ts';

test(
  'every sign-in has a new S256 challenge, and the exchange sends its verifier',
  covers('spec/sign-in#service-2', 'spec/sign-in#authentication-2'),
  async () => {
    const challenges: (string | null)[] = [];
    for (let i = 0; i < 2; i++) {
      const login = await waitingLogin();
      const { searchParams } = login.url;
      challenges.push(searchParams.get('code_challenge'));
      expect(searchParams.get('code_challenge_method')).toBe('S256');
      await login.redirect();
      expect(await login.outcome).not.toBeInstanceOf(Error);
      const verifier =
        login.tokens.asked.find(({ url }) => url === '/token')?.form.get('code_verifier') ?? '';
      expect(verifier).toMatch(/^[\w.~-]{43,128}$/);
      expect(createHash('sha256').update(verifier).digest('base64url')).toBe(challenges[i]);
      await login.end();
    }
    expect(challenges[0]).not.toBe(challenges[1]);
  },
);

describe('revocation', () => {
  const signedOut = async (answer: (isQuery: boolean) => TokenResponse) => {
    const server = await tokenServer(({ url }) => answer(url.includes('?token=')));
    const context = await makeAuthContext();
    const endpoints = {
      authorize: `${server.url}/auth`,
      token: `${server.url}/token`,
      revoke: `${server.url}/revoke`,
    };
    const account = await keepAccount(context, {
      name: 'a',
      server: server.url,
      endpoints,
      clientId: 'c',
      requested: [],
      granted: [],
      obtainedMs: context.host.now(),
      accessToken: 'at-1',
      refreshToken: 'rt-1',
    });
    const outcome = await signOut(context, account, false);
    await server.close();
    await context.close();
    const requests = server.asked
      .filter(({ url }) => url.startsWith('/revoke'))
      .map(({ method, url, form }) => [method, url, form.get('token')]);
    return { outcome, requests };
  };
  const query = ['POST', '/revoke?token=rt-1', null];
  const form = ['POST', '/revoke', 'rt-1'];
  test('the token to revoke is in the query', covers('spec/sign-in#choices-11'), async () => {
    const { outcome, requests } = await signedOut(() => ({ status: 200, body: {} }));
    expect([outcome, requests]).toEqual([expect.objectContaining({ revoked: true }), [query]]);
  });
  test.each([
    [400, 'invalid_request'],
    [401, 'invalid_client'],
  ])('after %d %s the token is in the form', covers('spec/sign-in#choices-11'), async (status, error) => {
    const { outcome, requests } = await signedOut((isQuery) =>
      isQuery ? { status, body: { error } } : { status: 200, body: {} },
    );
    expect([outcome, requests]).toEqual([expect.objectContaining({ revoked: true }), [query, form]]);
  });
  test('after another error no second request follows', covers('spec/sign-in#choices-11'), async () => {
    const { requests } = await signedOut(() => ({ status: 400, body: { error: 'invalid_token' } }));
    expect(requests).not.toContainEqual(form);
  });
});

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
test.each([-86_400, 86_400])(
  'an identity token of a loopback server counts by the time of that server (%d s)',
  covers('spec/sign-in#choices-12'),
  async (skewS) => {
    const login = await waitingLogin({ scopes: ['openid', 'x/media.readonly'] });
    const iat = Math.floor(Date.now() / 1000) + skewS;
    const claims = { iss: 'https://i.example', aud: 'client-1', sub: 's1', iat, exp: iat + 600 };
    const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${part({})}`;
    login.tokens.answer(({ url }) =>
      url === '/token'
        ? { body: { ...(goodTokens.body as object), id_token: idToken } }
        : { status: 404, body: {} },
    );
    await login.redirect();
    expect(await login.outcome).toMatchObject({ accessToken: 'at-secret-1' });
    await login.end();
  },
);

test('the browser receives its page only after the exchange', covers('spec/sign-in#choices-14'), async () => {
  const login = await waitingLogin();
  const order: string[] = [];
  login.tokens.answer(({ url }) => {
    if (url === '/token') order.push('exchange');
    return goodTokens;
  });
  const page = await login.redirect();
  order.push('page');
  expect([page.status, order]).toEqual([200, ['exchange', 'page']]);
  await login.outcome;
  await login.end();
  const failing = await waitingLogin();
  failing.tokens.answer({ status: 400, body: { error: 'invalid_grant' } });
  expect((await failing.redirect()).status).toBe(400);
  expect(await failing.outcome).toBeInstanceOf(Error);
  await failing.end();
});
