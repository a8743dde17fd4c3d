import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  ada,
  authServer,
  bob,
  channels,
  clients,
  codeFor,
  control,
  exchange,
  form,
  post,
  raw,
  refresh,
  scopes,
  tokensFor,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const revoke = (token: string) =>
  raw(`${server.origin}/revoke?token=${encodeURIComponent(token)}`, { method: 'POST', headers: FORM });
const alive = async (tokens: { access_token: string; refresh_token: string }) => [
  (await channels(server, tokens.access_token)).status,
  (await refresh(server, tokens.refresh_token)).status,
];

describe('revoke', () => {
  test(
    '[OAS-7.1] [OAS-7.4] [OAS-7.11] a refresh token in the query with an empty form is revoked with its access tokens',
    covers('spec/sign-in#revoke-1'),
    async () => {
      const tokens = await tokensFor(server);
      const reply = await revoke(tokens.refresh_token);
      expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(await alive(tokens)).toEqual([401, 400]);
    },
  );
  test('[OAS-7.2] the token in the body', async () => {
    const tokens = await tokensFor(server);
    expect((await post(`${server.origin}/revoke`, { token: tokens.refresh_token })).status).toBe(200);
    expect(await alive(tokens)).toEqual([401, 400]);
  });
  test(
    '[OAS-7.3] revoking an access token also revokes its refresh token and its other access tokens',
    covers('spec/sign-in#states-5'),
    async () => {
      const tokens = await tokensFor(server);
      const second = (await refresh(server, tokens.refresh_token)).json.access_token;
      expect((await revoke(tokens.access_token)).status).toBe(200);
      expect(await alive(tokens)).toEqual([401, 400]);
      expect((await channels(server, second)).status).toBe(401);
    },
  );
  test(
    '[OAS-7.5] other refresh tokens of the same user and client stay',
    covers('spec/sign-in#choices-7'),
    async () => {
      const [one, two] = [await tokensFor(server), await tokensFor(server)];
      await revoke(one.refresh_token);
      expect(await alive(two)).toEqual([200, 200]);
    },
  );
  test(
    '[OAS-7.6] unknown, expired and revoked tokens are 400 invalid_token',
    covers('spec/sign-in#revoke-2'),
    async () => {
      const tokens = await tokensFor(server);
      await revoke(tokens.refresh_token);
      const old = await tokensFor(server);
      server.advance(3_600_000);
      for (const token of [
        'garbage',
        tokens.refresh_token,
        tokens.access_token,
        old.access_token,
        'ma1.AAAA',
        '1//zz-short',
      ]) {
        const reply = await revoke(token);
        expect([reply.status, reply.json], token).toEqual([
          400,
          { error: 'invalid_token', error_description: 'Token expired or revoked' },
        ]);
      }
      expect((await refresh(server, old.refresh_token)).status).toBe(200);
    },
  );
  test('[OAS-7.7] no token', async () => {
    for (const reply of [await post(`${server.origin}/revoke`, {}), await revoke('')])
      expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  });
  test.each(['GET', 'PUT', 'DELETE'])('[OAS-7.8] %s is 405', async (method) => {
    expect((await raw(`${server.origin}/revoke?token=x`, { method })).status).toBe(405);
  });
  test(
    '[OAS-7.9] [OAS-7.10] any content type, no client authentication',
    covers('spec/sign-in#choices-7'),
    async () => {
      for (const type of ['application/json', 'text/plain', undefined]) {
        const tokens = await tokensFor(server);
        const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
        expect(
          (
            await raw(`${server.origin}/revoke?token=${encodeURIComponent(tokens.refresh_token)}`, {
              method: 'POST',
              headers,
            })
          ).status,
        ).toBe(200);
      }
    },
  );
  // spec/sign-in#choices-7
  test('the strict mode requires the content type of a form', async () => {
    const strict = await authServer({ isStrict: true });
    const statusOf = async (type: string | undefined) => {
      const tokens = await tokensFor(strict);
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const at = `${strict.origin}/revoke?token=${encodeURIComponent(tokens.refresh_token)}`;
      return (await raw(at, { method: 'POST', headers })).status;
    };
    try {
      expect(await statusOf('application/x-www-form-urlencoded')).toBe(200);
      for (const type of ['application/json', 'text/plain', undefined])
        expect(await statusOf(type)).toBe(400);
    } finally {
      await strict.close();
    }
  });
  test('[OAS-7.11] a setting lets access tokens go on for a while', async () => {
    await control(server, 'PATCH', '/settings', { revoke_delay_seconds: 60 });
    const tokens = await tokensFor(server);
    await revoke(tokens.refresh_token);
    expect(await alive(tokens)).toEqual([200, 400]);
    expect((await revoke(tokens.refresh_token)).status).toBe(400);
    const statusAfter = async (ms: number): Promise<number> => {
      server.advance(ms);
      return (await channels(server, tokens.access_token)).status;
    };
    expect([await statusAfter(59_000), await statusAfter(1_000)]).toEqual([200, 401]);
    await control(server, 'PATCH', '/settings', { revoke_delay_seconds: 0 });
  });
  test('[OAS-7.12] long tokens and tokens with signs are decoded', async () => {
    for (const token of ['x'.repeat(3000), 'a/b+c%d e', '%25%2F'])
      expect((await revoke(token)).json.error).toBe('invalid_token');
    const tokens = await tokensFor(server);
    expect(tokens.refresh_token).toContain('/');
    expect(
      (await raw(`${server.origin}/revoke?token=${tokens.refresh_token}`, { method: 'POST', headers: FORM }))
        .status,
    ).toBe(200);
  });
  test('[OAS-7.13] a token of a service account is not revocable', async () => {
    await control(server, 'POST', '/users', {
      email: 'robot@demo.example',
      kind: 'service-account',
      is_content_owner: true,
      channels: 3,
    });
    const { access_token } = (
      await control(server, 'POST', '/users/robot@demo.example/token', { scopes: [scopes.readonly] })
    ).json;
    expect((await revoke(access_token)).json).toEqual({
      error: 'invalid_token',
      error_description: 'Token is not revocable.',
    });
    expect((await channels(server, access_token)).json.items).toHaveLength(3);
  });
});

describe('data API', () => {
  const api = (query: string, headers: Record<string, string> = {}) =>
    raw(`${server.origin}/media/v3/channels?${query}`, { headers });
  test(
    '[OAS-8.1] [OAS-8.2] [OAS-8.4] [OAS-8.9] header in any case, or query',
    covers('spec/sign-in#data-api-1', 'spec/sign-in#authentication-4'),
    async () => {
      const { access_token: token } = await tokensFor(server);
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        const reply = await api('part=id&mine=true', { authorization: `${scheme} ${token}` });
        expect([reply.status, reply.json.kind, reply.json.items.length]).toEqual([
          200,
          'media#channelListResponse',
          1,
        ]);
        expect(reply.headers['access-control-allow-origin']).toBeUndefined();
      }
      expect((await api(`part=id&mine=true&access_token=${encodeURIComponent(token)}`)).status).toBe(200);
    },
  );
  test('[OAS-8.3] both transports of the token together are rejected', async () => {
    const { access_token: token } = await tokensFor(server);
    for (const other of [token, 'different']) {
      const reply = await api(`part=id&access_token=${encodeURIComponent(other)}`, {
        authorization: `Bearer ${token}`,
      });
      expect([reply.status, String(reply.headers['www-authenticate'])]).toEqual([
        400,
        expect.stringContaining('error="invalid_request"'),
      ]);
    }
  });
  test.each([
    ['none', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['no token', { authorization: 'Bearer' }],
    ['bad signs', { authorization: 'Bearer a b' }],
  ])('[OAS-8.5] %s is 401 with a plain challenge', async (_, headers) => {
    const reply = await api('part=id', headers as Record<string, string>);
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer realm="media"']);
    expect(reply.json.error).toMatchObject({
      code: 401,
      message: 'Login Required.',
      status: 'UNAUTHENTICATED',
    });
  });
  test('[OAS-8.6] [OAS-8.13] expired, forged, of a refresh token: 401 invalid_token in the JSON form', async () => {
    const tokens = await tokensFor(server);
    const forged = `${tokens.access_token.slice(0, -1)}${tokens.access_token.endsWith('A') ? 'B' : 'A'}`;
    for (const token of ['garbage', forged, tokens.refresh_token]) {
      const reply = await channels(server, token);
      expect([reply.status, String(reply.headers['www-authenticate'])]).toEqual([
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
      expect(reply.json.error).toEqual({
        code: 401,
        message: 'Invalid Credentials',
        errors: [{ message: 'Invalid Credentials', domain: 'global', reason: 'authError' }],
        status: 'UNAUTHENTICATED',
      });
    }
  });
  test(
    '[OAS-8.7] alive one second before expires_in, dead exactly at it',
    covers('spec/sign-in#states-2'),
    async () => {
      await control(server, 'PATCH', '/settings', { access_token_seconds: 10 });
      const { access_token: token } = await tokensFor(server);
      server.advance(9_000);
      expect((await channels(server, token)).status).toBe(200);
      server.advance(1_000);
      expect((await channels(server, token)).status).toBe(401);
      await control(server, 'PATCH', '/settings', { access_token_seconds: 3599 });
    },
  );
  test('[OAS-8.8] [OAS-4.5] a missing scope is 403 insufficient_scope; media covers media.readonly', async () => {
    const upload = await tokensFor(server, { scope: scopes.upload });
    const reply = await channels(server, upload.access_token);
    expect([reply.status, String(reply.headers['www-authenticate'])]).toEqual([
      403,
      expect.stringContaining('error="insufficient_scope"'),
    ]);
    expect(reply.json.error).toMatchObject({
      code: 403,
      status: 'PERMISSION_DENIED',
      errors: [{ reason: 'insufficientPermissions' }],
    });
    const whole = await tokensFor(server, { scope: scopes.media });
    expect((await channels(server, whole.access_token)).status).toBe(200);
  });
  test('every resource requires its own scope', async () => {
    const full = (name: string) => `https://scopes.opsctl.example/auth/${name}`;
    const status = async (scope: string, method: string, path: string, body?: unknown) => {
      const { access_token: token } = await tokensFor(server, { scope });
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      return (
        await raw(`${server.origin}/media/v3${path}`, {
          method,
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      ).status;
    };
    expect(await status(full('media.channel-memberships.creator'), 'GET', '/members?part=snippet')).toBe(200);
    expect(await status(scopes.media, 'GET', '/members?part=snippet')).toBe(403);
    expect(await status(full('mediapartner'), 'GET', '/assets?part=snippet')).toBe(200);
    expect(await status(scopes.readonly, 'GET', '/assets?part=snippet')).toBe(403);
    expect(await status(scopes.readonly, 'POST', '/videos', { title: 'x' })).toBe(403);
    expect(await status(scopes.upload, 'POST', '/videos', { title: 'x' })).toBe(200);
    expect(await status(scopes.upload, 'POST', '/videos', {})).toBe(400);
    expect(await status(scopes.upload, 'DELETE', '/videos?id=x')).toBe(403);
    expect(await status(full('media.force-ssl'), 'DELETE', '/videos?id=x')).toBe(404);
    expect(await status(scopes.readonly, 'GET', '/channels?part=auditDetails')).toBe(403);
    expect(
      await status(
        `${scopes.readonly} ${full('mediapartner-channel-audit')}`,
        'GET',
        '/channels?part=auditDetails',
      ),
    ).toBe(200);
    expect(await status(scopes.readonly, 'GET', '/nothing?part=id')).toBe(404);
  });
  test('common parts and parameters are accepted; an unknown word is an error', async () => {
    const { access_token: token } = await tokensFor(server, { scope: scopes.readonly });
    const usual = await channels(
      server,
      token,
      'part=snippet,contentDetails,brandingSettings&mine=true&maxResults=5&hl=en',
    );
    expect(usual.status, usual.text).toBe(200);
    expect(Object.keys(usual.json.items[0])).toEqual(['kind', 'id', 'snippet', 'contentDetails']);
    expect((await channels(server, token, 'part=everything&mine=true')).json.error.errors[0].reason).toBe(
      'unknownPart',
    );
    expect((await channels(server, token, 'part=id&mine=true&maxresults=5')).status).toBe(400);
  });
  test('videos are made, listed, counted and deleted', async () => {
    const { access_token: token } = await tokensFor(server, { scope: scopes.media }, bob);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const made = (
      await raw(`${server.origin}/media/v3/videos`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ title: 'First' }),
      })
    ).json;
    const listed = (await raw(`${server.origin}/media/v3/videos?part=snippet&mine=true`, { headers })).json;
    expect(listed.items).toEqual([{ kind: 'media#video', id: made.id, snippet: made.snippet }]);
    expect(
      (await channels(server, token, 'part=statistics&mine=true')).json.items[0].statistics.videoCount,
    ).toBe('1');
    expect(
      (await raw(`${server.origin}/media/v3/videos?id=${made.id}`, { method: 'DELETE', headers })).status,
    ).toBe(204);
    expect((await raw(`${server.origin}/media/v3/videos?part=id`, { headers })).json.items).toEqual([]);
  });
  test('[OAS-8.10] without part, and with an unknown one', async () => {
    const { access_token: token } = await tokensFor(server);
    const missing = await channels(server, token, 'mine=true');
    expect([missing.status, missing.json.error.errors[0].reason]).toEqual([400, 'required']);
    expect((await channels(server, token, 'part=nope')).json.error.message).toContain('"nope" is not one of');
    expect((await channels(server, token, 'part=id&mine=maybe')).status).toBe(400);
  });
  test(
    '[OAS-8.11] a service account that is not the content owner of several channels',
    covers('spec/sign-in#data-api-3'),
    async () => {
      for (const [name, more, status] of [
        ['solo', { is_content_owner: true, channels: 1 }, 403],
        ['guest', { channels: 5 }, 403],
        ['owner', { is_content_owner: true, channels: 2 }, 200],
      ] as const) {
        const user = `${name}-robot@demo.example`;
        await control(server, 'POST', '/users', { email: user, kind: 'service-account', ...more });
        const { access_token: token } = (
          await control(server, 'POST', `/users/${user}/token`, { scopes: [scopes.readonly] })
        ).json;
        expect((await channels(server, token)).status, name).toBe(status);
      }
      expect(
        (await control(server, 'POST', `/users/${ada.email}/token`, { scopes: [scopes.readonly] })).status,
      ).toBe(409);
    },
  );
  test(
    '[OAS-1.21] the API switched off for the project is 403 accessNotConfigured',
    covers('spec/sign-in#service-6'),
    async () => {
      const { access_token: token } = await tokensFor(server);
      await control(server, 'PATCH', '/projects/demo-project', { media_api: false });
      const reply = await channels(server, token);
      expect([reply.status, reply.json.error.errors[0].reason]).toEqual([403, 'accessNotConfigured']);
      await control(server, 'PATCH', '/projects/demo-project', { media_api: true });
      expect((await channels(server, token)).status).toBe(200);
    },
  );
});

describe('errors', () => {
  test(
    '[OAS-0.8] [OAS-9.1] [OAS-9.2] [OAS-9.3] [OAS-9.4] every error is JSON with a stable text and without secrets',
    covers('spec/sign-in#errors-10'),
    async () => {
      const tokens = await tokensFor(server);
      const hot = {
        code: 'code-hot',
        code_verifier: 'v'.repeat(43),
        client_secret: 'secret-hot',
        refresh_token: 'refresh-hot',
      };
      const asked: Record<string, string>[] = [
        { grant_type: 'nope', ...hot },
        { grant_type: 'authorization_code', ...hot },
        { grant_type: 'authorization_code', client_id: clients.desktop, ...hot },
        { grant_type: 'authorization_code', client_id: clients.desktop, redirect_uri: 'x', ...hot },
        { grant_type: 'authorization_code', client_id: clients.withSecret, redirect_uri: 'x', ...hot },
        { grant_type: 'refresh_token', client_id: clients.desktop, ...hot },
        {
          grant_type: 'refresh_token',
          client_id: clients.desktop,
          refresh_token: tokens.refresh_token,
          scope: 'scope-hot',
        },
        { grant_type: 'refresh_token', client_id: 'nobody', ...hot },
      ];
      const codes: string[] = [];
      for (const fields of asked) {
        const [one, two] = [
          await post(`${server.origin}/token`, fields),
          await post(`${server.origin}/token`, fields),
        ];
        expect(one.text).toBe(two.text);
        expect(Object.keys(one.json)).toEqual(['error', 'error_description']);
        expect(one.headers['content-type']).toBe('application/json; charset=utf-8');
        expect(one.text).not.toMatch(/hot|vvvv|</);
        codes.push(one.json.error);
      }
      expect(codes).toEqual([
        'unsupported_grant_type',
        'invalid_request',
        'invalid_request',
        'invalid_grant',
        'invalid_client',
        'invalid_grant',
        'invalid_scope',
        'invalid_client',
      ]);
      expect(
        (await exchange(server, await codeFor(server), { redirect_uri: form({ a: 'b' }) })).json.error,
      ).toBe('invalid_grant');
    },
  );
});
