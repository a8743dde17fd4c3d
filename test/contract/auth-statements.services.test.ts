/** Statements of `docs/spec/sign-in.md` about the service that have no line in the checklist: raw requests with literals. */
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Asked,
  type AuthServer,
  ask,
  authServer,
  authorizeUrl,
  channels,
  clients,
  codeFor,
  control,
  exchange,
  pageError,
  post,
  raw,
  redirect,
  scopes,
  secret,
  tokensFor,
  verifier,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});
const SIGN_IN = 'sign-in page';
/** Returns the code of the error page, or that the request was accepted. */
const outcome = async (more: Asked): Promise<string> => {
  const reply = await ask(server, more);
  return reply.text.includes('<title>Sign in</title>') ? SIGN_IN : pageError(reply);
};

describe('clients', () => {
  const fingerprint = '3F:0B:5C:7A:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00';
  test.each<[string, object, readonly string[]]>([
    ['mobile-a', { package_name: 'com.example.app', fingerprint }, ['package_name', 'fingerprint']],
    ['mobile-b', { bundle_id: 'com.example.b' }, ['bundle_id']],
    ['universal-desktop', { store_id: '9NBLGGH4NNS1' }, ['store_id']],
    ['desktop', {}, []],
    ['browser-extension', { item_id: 'item' }, ['item_id']],
  ])(
    'a client of the type %s has a name and its fields',
    covers('spec/sign-in#client-1'),
    async (type, fields, own) => {
      const make = (body: object) => control(server, 'POST', '/clients', { type, ...body });
      const made = await make({ name: 'App', ...fields });
      expect([made.status, made.json]).toEqual([
        201,
        expect.objectContaining({ type, name: 'App', ...fields }),
      ]);
      for (const missing of own) {
        const refused = await make({ name: 'App', ...fields, [missing]: undefined });
        expect([refused.status, Object.keys(refused.json.errors)]).toEqual([400, [missing]]);
      }
      expect((await make(fields)).status).toBe(400);
    },
  );
  test.each(['web', 'tv', 'Desktop', ''])(
    'the type %j does not exist',
    covers('spec/sign-in#client-1'),
    async (type) => {
      const refused = await control(server, 'POST', '/clients', { type, name: 'App' });
      expect([refused.status, Object.keys(refused.json.errors)]).toEqual([400, ['type']]);
    },
  );
});

describe('scopes', () => {
  test('scopes are separated by spaces and are case-sensitive', covers('spec/sign-in#scope-1'), async () => {
    expect(await outcome({ scope: `${scopes.readonly} ${scopes.upload}` })).toBe(SIGN_IN);
    for (const separator of [',', ';', '|'])
      expect(await outcome({ scope: `${scopes.readonly}${separator}${scopes.upload}` })).toBe(
        'invalid_scope',
      );
    expect(await outcome({ scope: scopes.readonly.replace('readonly', 'Readonly') })).toBe('invalid_scope');
    const { scope } = await tokensFor(server, { scope: `${scopes.readonly} ${scopes.upload}` });
    expect(scope.split(' ').sort()).toEqual([scopes.readonly, scopes.upload].sort());
  });
  test(
    'a scope is identified by its last part, and its base is returned as sent',
    covers('spec/sign-in#scope-3', 'spec/sign-in#choices-2'),
    async () => {
      const other = 'https://auth.other.example/v1/media.readonly';
      const tokens = await tokensFor(server, { scope: other });
      expect(tokens.scope).toBe(other);
      expect((await channels(server, tokens.access_token)).status).toBe(200);
      expect(await outcome({ scope: 'https://auth.other.example/v1/nothing' })).toBe('invalid_scope');
      expect(await outcome({ scope: 'http://auth.other.example/v1/media.readonly' })).toBe('invalid_scope');
    },
  );
});

describe('the authorization endpoint', () => {
  test.each(['client_id', 'redirect_uri', 'response_type', 'scope'])(
    '%s is required',
    covers('spec/sign-in#authorize-2', 'spec/sign-in#errors-8'),
    async (name) => {
      expect(await outcome({ [name]: undefined })).toBe('invalid_request');
      expect(await outcome({ [name]: '' })).toBe('invalid_request');
      expect(await outcome({})).toBe(SIGN_IN);
    },
  );
  test('a challenge is recommended and not required', covers('spec/sign-in#authorize-4'), async () => {
    const none = { code_challenge: undefined, code_challenge_method: undefined };
    expect(await outcome(none)).toBe(SIGN_IN);
    await control(server, 'PATCH', '/settings', { require_pkce: true });
    expect(await outcome(none)).toBe('invalid_grant');
    await control(server, 'PATCH', '/settings', { require_pkce: false });
  });
  test.each<[string, Asked]>([
    ['an unsupported response type', { response_type: 'token' }],
    ['an unknown challenge method', { code_challenge_method: 'S512' }],
    ['a custom scheme without a period', { client_id: clients.mobileB, redirect_uri: 'example:/cb' }],
  ])('%s is invalid_request', covers('spec/sign-in#errors-8'), async (_, more) => {
    expect(await outcome(more)).toBe('invalid_request');
  });
  test(
    'a custom scheme that is switched off is invalid_request',
    covers('spec/sign-in#errors-8'),
    async () => {
      const { json } = await control(server, 'POST', '/clients', {
        type: 'mobile-a',
        name: 'off',
        package_name: 'com.example.off',
        fingerprint: 'aB'.repeat(20),
        custom_uri_scheme: false,
        redirect_uris: ['com.example.off:/cb'],
      });
      const more = { client_id: json.id, redirect_uri: 'com.example.off:/cb' };
      expect(await outcome(more)).toBe('invalid_request');
      await control(server, 'PATCH', `/clients/${json.id}`, { custom_uri_scheme: true });
      expect(await outcome(more)).toBe(SIGN_IN);
    },
  );
  test('a malformed request is invalid_request', covers('spec/sign-in#errors-8'), async () => {
    expect(pageError(await raw(`${authorizeUrl(server)}&login_hint=%ZZ`))).toBe('invalid_request');
    expect(pageError(await raw(`${authorizeUrl(server)}&state=again`))).toBe('invalid_request');
  });
  test(
    'a page shows an unsupported response type, and other errors have their status',
    covers('spec/sign-in#choices-1'),
    async () => {
      const page = await ask(server, { response_type: 'token' });
      expect([pageError(page), page.headers.location]).toEqual(['invalid_request', undefined]);
      expect(await outcome({ scope: 'https://scopes.opsctl.example/auth/nope' })).toBe('invalid_scope');
      const unknown = await ask(server, { client_id: 'nobody' });
      expect([pageError(unknown), unknown.status]).toEqual(['invalid_client', 401]);
      const posted = await post(`${server.origin}/o/oauth2/v2/auth`, { client_id: clients.desktop });
      expect([posted.status, posted.headers.allow]).toEqual([405, 'GET']);
    },
  );
});

describe('token requests', () => {
  test(
    'a token request has a client ID, and a client with a secret sends it',
    covers('spec/sign-in#authentication-1'),
    async () => {
      const own = { client_id: clients.withSecret };
      const answer = async (more: Asked) => {
        const reply = await exchange(server, await codeFor(server, own), { ...own, ...more });
        return [reply.status, reply.json.error];
      };
      expect(await answer({ client_secret: secret })).toEqual([200, undefined]);
      expect(await answer({})).toEqual([401, 'invalid_client']);
      expect(await answer({ client_secret: 'wrong' })).toEqual([401, 'invalid_client']);
      const grants: readonly Asked[] = [
        { grant_type: 'authorization_code', code: 'c', code_verifier: verifier, redirect_uri: redirect },
        { grant_type: 'refresh_token', refresh_token: 'r' },
      ];
      for (const fields of grants) {
        const reply = await post(`${server.origin}/token`, fields);
        expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
      }
    },
  );
});

test(
  'a resource has its kind, its ID and one object for each requested part',
  covers('spec/sign-in#data-api-2'),
  async () => {
    const { access_token: token } = await tokensFor(server);
    const one = await channels(server, token, 'part=snippet,statistics&mine=true');
    expect([one.status, Object.keys(one.json.items[0])]).toEqual([
      200,
      ['kind', 'id', 'snippet', 'statistics'],
    ]);
    const [item] = (await channels(server, token, 'part=id&mine=true')).json.items;
    expect(Object.keys(item)).toEqual(['kind', 'id']);
  },
);
