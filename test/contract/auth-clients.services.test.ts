import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  ada,
  ask,
  authServer,
  bob,
  clients,
  control,
  pageError,
  refresh,
  tokensFor,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

const DAY = 86_400_000;
const fingerprint = '3F:0B:5C:7A:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00';
let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});

const create = (body: Record<string, unknown>) => control(server, 'POST', '/clients', body);
const patch = (id: string, body: Record<string, unknown>) => control(server, 'PATCH', `/clients/${id}`, body);
const act = (id: string, word: string, body: unknown = {}) =>
  control(server, 'POST', `/clients/${id}/${word}`, body);
const mobileA = { type: 'mobile-a', name: 'App', package_name: 'com.example.app', fingerprint };
const mobileB = { type: 'mobile-b', name: 'App', bundle_id: 'com.example.b' };

describe('creating clients', () => {
  test(
    '[OAS-1.1] [OAS-1.4] mobile A with name, package and fingerprint: an ID, no secret, custom schemes off',
    covers('spec/sign-in#client-2'),
    async () => {
      const made = await create(mobileA);
      expect(made.status, made.text).toBe(201);
      expect(made.json).toMatchObject({
        type: 'mobile-a',
        has_secret: false,
        secret: null,
        custom_uri_scheme: false,
        state: 'active',
        is_verified: false,
      });
      expect(made.json.id).toMatch(/^\d{12}-[a-z0-9]{32}\.apps\.opsctl\.example$/);
    },
  );
  test.each([
    ['package_name', { ...mobileA, package_name: undefined }],
    ['fingerprint', { ...mobileA, fingerprint: undefined }],
  ])('[OAS-1.2] mobile A without %s is refused and the field named', async (field, body) => {
    const reply = await create(body);
    expect(reply.status).toBe(400);
    expect(reply.json.errors[field]).toContain('required');
  });
  test.each([
    'AA:BB',
    fingerprint.slice(0, -1),
    `${fingerprint}:11`,
    'Z'.repeat(40),
    'a'.repeat(39),
    'a'.repeat(64),
    fingerprint.replaceAll(':', '-'),
  ])('[OAS-1.3] fingerprint %s is refused', covers('spec/sign-in#client-2'), async (bad) => {
    const reply = await create({ ...mobileA, fingerprint: bad });
    expect(reply.status).toBe(400);
    expect(Object.keys(reply.json.errors)).toEqual(['fingerprint']);
  });
  test('[OAS-1.3] 40 hexadecimal digits are a fingerprint, too', async () => {
    expect((await create({ ...mobileA, fingerprint: 'aB'.repeat(20) })).status).toBe(201);
  });
  test(
    '[OAS-1.6] mobile B with name and bundle identifier; store ID, team ID and toggle are optional',
    covers('spec/sign-in#client-3'),
    async () => {
      const made = await create(mobileB);
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({
        has_secret: false,
        store_id: null,
        team_id: null,
        integrity: { state: 'disabled', was_used: false },
      });
      const full = await create({
        ...mobileB,
        store_id: '1234567890',
        team_id: 'ABCDE12345',
        integrity_check: true,
      });
      expect(full.json).toMatchObject({
        store_id: '1234567890',
        team_id: 'ABCDE12345',
        integrity: { state: 'monitoring' },
      });
    },
  );
  test.each(['id123', '12a', '1 2', '-1', ''])('[OAS-1.7] mobile B with the store ID %j', async (id) => {
    const reply = await create({ ...mobileB, store_id: id });
    expect(reply.status).toBe(id === '' ? 201 : 400);
  });
  test(
    '[OAS-1.10] universal desktop with a store ID of 12 characters, with and without secret',
    covers('spec/sign-in#client-4'),
    async () => {
      const plain = await create({ type: 'universal-desktop', name: 'U', store_id: '9WZDNCRFJ3TJ' });
      expect(plain.json).toMatchObject({ has_secret: false, secret: null });
      const secret = await create({
        type: 'universal-desktop',
        name: 'U',
        store_id: '9WZDNCRFJ3TJ',
        secret: true,
      });
      expect(secret.json.secret).toMatch(/^OCS-[A-Za-z0-9_-]{32}$/);
    },
  );
  test.each(['9WZDNCRFJ3T', '9WZDNCRFJ3TJX', undefined])(
    '[OAS-1.11] universal desktop with the store ID %s is refused',
    covers('spec/sign-in#client-4'),
    async (store_id) => {
      const reply = await create({ type: 'universal-desktop', name: 'U', store_id });
      expect(reply.status).toBe(400);
      expect(Object.keys(reply.json.errors)).toEqual(['store_id']);
    },
  );
  test(
    '[OAS-1.12] universal desktop: a scheme of 39 characters is accepted, a scheme of 40 rejected',
    covers('spec/sign-in#limits-2'),
    async () => {
      const scheme = (length: number) => `a.${'b'.repeat(length - 2)}`;
      const body = { type: 'universal-desktop', name: 'U', store_id: '9WZDNCRFJ3TJ' };
      const good = await create({ ...body, redirect_uris: [`${scheme(39)}:/cb`] });
      expect(good.status, good.text).toBe(201);
      expect(
        (await ask(server, { client_id: good.json.id, redirect_uri: `${scheme(39)}:/cb` })).text,
      ).toContain('<h1>Sign in</h1>');
      const bad = await create({ ...body, redirect_uris: [`${scheme(40)}:/cb`] });
      expect(bad.status).toBe(400);
      expect(bad.json.errors['redirect_uris[0]']).toContain('40 characters, at most 39');
      expect(
        pageError(await ask(server, { client_id: good.json.id, redirect_uri: `${scheme(40)}:/cb` })),
      ).toBe('invalid_request');
    },
  );
  test(
    '[OAS-1.13] desktop: loopback, and a secret when asked for',
    covers('spec/sign-in#client-5'),
    async () => {
      const made = await create({ type: 'desktop', name: 'D' });
      expect(made.json).toMatchObject({ has_secret: false });
      expect(
        (await ask(server, { client_id: made.json.id, redirect_uri: 'http://127.0.0.1:4321' })).status,
      ).toBe(200);
      expect((await create({ type: 'desktop', name: 'D', secret: true })).json.has_secret).toBe(true);
      const store = await create({ type: 'universal-desktop', name: 'U', store_id: '9WZDNCRFJ3TJ' });
      expect(
        pageError(await ask(server, { client_id: store.json.id, redirect_uri: 'http://127.0.0.1:4321' })),
      ).toBe('redirect_uri_mismatch');
    },
  );
  test.each([
    ['mobile-a', { ...mobileA, secret: true }, 'secret'],
    ['mobile-b', { ...mobileB, secret: true }, 'secret'],
    ['browser-extension', { type: 'browser-extension', name: 'E', item_id: 'item', secret: true }, 'secret'],
    ['desktop', { type: 'desktop', name: 'D', bundle_id: 'a.b' }, 'bundle_id'],
    ['desktop', { type: 'desktop', name: 'D', integrity_check: true }, 'integrity_check'],
    ['browser-extension', { type: 'browser-extension', name: 'E' }, 'item_id'],
    ['console', { type: 'console', name: 'E' }, 'type'],
  ])('a field that %s does not have, or lacks, is named', async (_, body, field) => {
    const reply = await create(body);
    expect(reply.status).toBe(400);
    expect(Object.keys(reply.json.errors)).toEqual([field]);
  });
  test('[OAS-1.19] [OAS-1.20] two clients of one project have two IDs with the number of the project', async () => {
    const [one, two] = [
      await create({ type: 'desktop', name: 'same' }),
      await create({ type: 'desktop', name: 'same' }),
    ];
    expect(one.json.id).not.toBe(two.json.id);
    expect(one.json.project).toBe(two.json.project);
    expect(one.json.id.split('-')[0]).toBe('417000000001');
  });
});

describe('changing clients', () => {
  test(
    '[OAS-1.5] the checkbox of custom URI schemes, on and off',
    covers('spec/sign-in#states-7'),
    async () => {
      const { id } = (await create({ ...mobileA, custom_uri_scheme: true })).json;
      const at = { client_id: id, redirect_uri: 'com.example.app:/cb' };
      expect((await ask(server, at)).status).toBe(200);
      expect((await patch(id, { custom_uri_scheme: false })).json.custom_uri_scheme).toBe(false);
      expect(pageError(await ask(server, at))).toBe('invalid_request');
      await patch(id, { custom_uri_scheme: true });
      expect((await ask(server, at)).status).toBe(200);
    },
  );
  test(
    '[OAS-1.8] [OAS-1.9] the bundle identifier is free until the integrity check is used, and fixed then, even when it is off again',
    covers('spec/sign-in#client-3'),
    async () => {
      const { id } = (await create({ ...mobileB, team_id: 'ABCDE12345' })).json;
      expect((await patch(id, { bundle_id: 'com.example.c' })).json.bundle_id).toBe('com.example.c');
      await act(id, 'integrity/enable');
      const refused = await patch(id, { bundle_id: 'com.example.d' });
      expect(refused.status).toBe(409);
      expect(refused.json.errors.bundle_id).toContain('cannot be changed once');
      await act(id, 'integrity/disable');
      expect((await patch(id, { bundle_id: 'com.example.d' })).status).toBe(409);
      expect((await patch(id, { bundle_id: 'com.example.c', name: 'other' })).json.name).toBe('other');
    },
  );
  test('[OAS-1.26] list, show and rename; the secret is shown once, a new one replaces it', async () => {
    const made = (await create({ type: 'desktop', name: 'before', secret: true })).json;
    expect((await patch(made.id, { name: 'after' })).json).toMatchObject({
      name: 'after',
      secret: null,
      has_secret: true,
    });
    const shown = await control(server, 'GET', `/clients/${made.id}`);
    expect(shown.json).toMatchObject({ name: 'after', secret: null });
    expect((await control(server, 'GET', '/clients')).text).not.toContain(made.secret);
    const again = await act(made.id, 'secret');
    expect(again.json.secret).not.toBe(made.secret);
    expect((await act(clients.mobileA, 'secret')).status).toBe(409);
    expect((await control(server, 'GET', '/clients/nobody')).status).toBe(404);
  });
});

describe('ownership', () => {
  const item = (body: Record<string, unknown>) => control(server, 'POST', '/store-items', body);
  test(
    '[OAS-1.14] [OAS-1.15] [OAS-1.16] an extension is verified by the publisher of its item, some minutes after access was granted',
    covers('spec/sign-in#client-6', 'spec/sign-in#authentication-6'),
    async () => {
      const body = { type: 'browser-extension', name: 'E', item_id: 'freshitem', account: ada.email };
      const unknown = await create(body);
      expect([unknown.status, unknown.json.errors.account]).toEqual([
        409,
        expect.stringContaining('no item with the ID freshitem'),
      ]);
      await item({ kind: 'extension', item_id: 'freshitem', accounts: [ada.email] });
      expect((await create({ ...body, account: bob.email })).json.message).toContain('is not the publisher');
      expect((await create(body)).json.message).toContain('try again in a few minutes');
      server.advance(5 * 60_000);
      const made = await create(body);
      expect(made.status, made.text).toBe(201);
      expect(made.json).toMatchObject({ has_secret: false, is_verified: true, verified_by: ada.email });
    },
  );
  test(
    '[OAS-1.17] mobile A: same package, same fingerprint and an administrator, all three',
    covers('spec/sign-in#authentication-6'),
    async () => {
      const { id } = (await create({ ...mobileA, package_name: 'com.example.owned' })).json;
      const verify = (account: string) => act(id, 'verify', { account });
      expect((await verify(ada.email)).json.message).toContain('no app with the package name');
      await item({
        kind: 'app',
        package_name: 'com.example.owned',
        fingerprint: 'aB'.repeat(20),
        accounts: [ada.email],
      });
      expect((await verify(ada.email)).json.message).toContain('another SHA-1 fingerprint');
      await item({
        kind: 'app',
        package_name: 'com.example.owned',
        fingerprint: fingerprint.replaceAll(':', '').toLowerCase(),
        accounts: [ada.email],
      });
      expect((await verify(bob.email)).json.message).toContain('not an administrator');
      expect((await control(server, 'GET', `/clients/${id}`)).json.is_verified).toBe(false);
      expect((await verify(ada.email.toUpperCase())).json.is_verified).toBe(true);
      expect((await act(clients.desktop, 'verify', { account: ada.email })).status).toBe(409);
      // Each of several administrators may verify the client.
      await item({
        kind: 'app',
        package_name: 'com.example.shared',
        fingerprint,
        accounts: ['eve@example.com', bob.email],
      });
      const shared = (await create({ ...mobileA, package_name: 'com.example.shared' })).json.id;
      expect((await act(shared, 'verify', { account: bob.email })).json.is_verified).toBe(true);
    },
  );
  test('[OAS-1.18] ownership is optional: an unverified client signs in', async () => {
    expect((await control(server, 'GET', `/clients/${clients.desktop}`)).json.is_verified).toBe(false);
    expect((await tokensFor(server)).token_type).toBe('Bearer');
  });
});

describe('deletion', () => {
  let id = '';
  beforeEach(async () => {
    id = (await create({ type: 'desktop', name: 'short-lived', any_path: true })).json.id;
  });
  const remove = () => control(server, 'DELETE', `/clients/${id}`);

  test(
    '[OAS-1.22] [OAS-2.4] [OAS-5.25] a deleted client: a page, and 401 deleted_client at the token endpoint',
    covers('spec/sign-in#errors-5', 'spec/sign-in#states-8'),
    async () => {
      const tokens = await tokensFor(server, { client_id: id });
      const gone = await remove();
      expect(gone.json).toMatchObject({ state: 'deleted', deleted_because: 'asked' });
      const page = await ask(server, { client_id: id });
      expect([pageError(page), page.status]).toEqual(['deleted_client', 401]);
      expect(page.text).toContain('restore the client');
      const reply = await refresh(server, tokens.refresh_token, { client_id: id });
      expect([reply.status, reply.json]).toEqual([
        401,
        { error: 'deleted_client', error_description: 'The OAuth client was deleted.' },
      ]);
      expect((await remove()).status).toBe(409);
      expect((await patch(id, { name: 'x' })).status).toBe(409);
    },
  );
  test(
    '[OAS-1.23] [OAS-1.25] restored on day 29 with its ID and tokens; refused after 30 days',
    covers('spec/sign-in#limits-5', 'spec/sign-in#states-8'),
    async () => {
      const tokens = await tokensFor(server, { client_id: id });
      await remove();
      expect((await refresh(server, tokens.refresh_token, { client_id: id })).status).toBe(401);
      server.advance(29 * DAY);
      const back = await act(id, 'restore');
      expect(back.json).toMatchObject({ id, state: 'active', deleted_at: null });
      expect((await refresh(server, tokens.refresh_token, { client_id: id })).status).toBe(200);
      expect((await act(id, 'restore')).status).toBe(409);
      await remove();
      server.advance(30 * DAY + 1000);
      const late = await act(id, 'restore');
      expect([late.status, late.json.message]).toEqual([
        409,
        expect.stringContaining('more than 30 days ago'),
      ]);
      const after = await ask(server, { client_id: id });
      // spec/sign-in#states-8: the page does not offer what is not possible.
      expect([pageError(after), after.text.includes('restore the client')]).toEqual([
        'deleted_client',
        false,
      ]);
    },
  );
  test(
    '[OAS-1.24] an unused client is deleted on its own, restorable like any other; a used one stays',
    covers('spec/sign-in#states-8'),
    async () => {
      const used = (await create({ type: 'desktop', name: 'used', any_path: true })).json.id;
      server.advance(170 * DAY);
      expect((await ask(server, { client_id: id })).status).toBe(200);
      await tokensFor(server, { client_id: used });
      server.advance(11 * DAY);
      expect(pageError(await ask(server, { client_id: id }))).toBe('deleted_client');
      expect((await ask(server, { client_id: used })).status).toBe(200);
      expect((await control(server, 'GET', `/clients/${id}`)).json).toMatchObject({
        state: 'deleted',
        deleted_because: 'unused',
      });
      expect((await act(id, 'restore')).json.state).toBe('active');
      expect((await ask(server, { client_id: id })).status).toBe(200);
    },
  );
});

test(
  'the console refuses pages of other sites and other host names',
  covers('spec/program#mock-server-5'),
  async () => {
    const { raw } = await import('../support/auth-server.ts');
    const at = `${server.origin}/__opsctl/oauth/clients`;
    const body = JSON.stringify({ type: 'desktop', name: 'x' });
    const json = { 'content-type': 'application/json' };
    expect(
      (await raw(at, { method: 'POST', body, headers: { ...json, origin: 'https://evil.example' } })).status,
    ).toBe(403);
    expect((await raw(at, { method: 'POST', body, headers: { ...json, origin: 'null' } })).status).toBe(403);
    expect((await raw(at, { method: 'POST', body, headers: { ...json, host: 'evil.example' } })).status).toBe(
      421,
    );
    expect((await raw(at, { method: 'POST', body, headers: { 'content-type': 'text/plain' } })).status).toBe(
      415,
    );
    expect(
      (await raw(`${server.origin}/__opsctl/oauth/console`, { headers: { host: 'evil.example' } })).status,
    ).toBe(421);
    const noProof = await raw(`${server.origin}/__opsctl/oauth/console`, {
      method: 'POST',
      body: 'do=clients.create&name=x&type=desktop',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(noProof.status).toBe(403);
    const unknown = await control(server, 'POST', '/clients', { type: 'desktop', name: 'x', colour: 'red' });
    expect(unknown.json.errors.colour).toContain('not a known field');
  },
);
