import { beforeEach, describe, expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { grantedToken } from '../support/labels-tokens.ts';
import { covers } from '../support/covers.ts';

let server: LabelServer;
beforeEach(async () => {
  server = await labelServer({ labelsAuth: 'oauth' });
});

const shared = { labelType: 'SHARED', properties: { title: 'T' } };
const status = async (method: string, path: string, body: unknown, headers: Record<string, string>) =>
  (await server.send(method, path, body, headers)).status;

// source: rule
test(
  'only valid tokens of the authorization server are accepted',
  covers('spec/labels#scopes-2', 'spec/program#mock-server-4'),
  async () => {
    const reply = await server.send('GET', '/labels', undefined, {});
    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(await status('GET', '/labels', undefined, { authorization: 'Bearer any-token' })).toBe(401);
    const given = grantedToken(server.env, 'ana', 'labels');
    expect(await status('GET', '/labels', undefined, given.headers)).toBe(200);
    expect(await status('GET', `/labels?access_token=${given.token}`, undefined, {})).toBe(200);
    given.revoke();
    expect(await status('GET', '/labels', undefined, given.headers)).toBe(401);
  },
);

/** spec/labels#scopes: reads accept any of the four scopes, writes accept two, and admin calls require an admin scope. */
const table: readonly (readonly [string, number, number, number, number])[] = [
  ['labels', 200, 200, 403, 403],
  ['labels.readonly', 200, 403, 403, 403],
  ['admin.labels', 200, 200, 200, 200],
  ['admin.labels.readonly', 200, 403, 200, 403],
  ['media', 403, 403, 403, 403],
];
// source: document
test.each(table)(
  '%s: read %d, write %d, admin read %d, admin write %d',
  async (scope, read, write, adminRead, adminWrite) => {
    const { headers } = grantedToken(server.env, 'ana', scope);
    expect(await status('GET', '/labels', undefined, headers)).toBe(read);
    expect(await status('POST', '/labels', shared, headers)).toBe(write);
    expect(await status('GET', '/labels?useAdminAccess=true', undefined, headers)).toBe(adminRead);
    expect(await status('POST', '/labels?useAdminAccess=true', shared, headers)).toBe(adminWrite);
  },
);

// source: rule
test('a refusal for want of a scope names the scopes', async () => {
  const { headers } = grantedToken(server.env, 'ana', 'labels.readonly');
  const { json } = await server.send('POST', '/labels', shared, headers);
  expect(json.error).toMatchObject({ code: 403, status: 'PERMISSION_DENIED' });
  expect(json.error.details[0]).toMatchObject({
    reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
    metadata: { required_scopes: expect.stringMatching(/\/labels .*\/admin\.labels$/) },
  });
});

// source: document, rule
describe('two users', () => {
  test(
    'a label is seen and changed by those who have a role on it',
    covers('spec/program#choices-9'),
    async () => {
      const ana = grantedToken(server.env, 'ana', 'labels', 'admin.labels').headers;
      const ben = grantedToken(server.env, 'ben', 'labels', 'admin.labels').headers;
      const { json: label } = await server.send(
        'POST',
        '/labels',
        { labelType: 'ADMIN', properties: { title: 'Hers' } },
        ana,
      );
      const path = `/labels/${label.id}`;
      expect(await status('GET', path, undefined, ben)).toBe(403);
      expect((await server.send('GET', '/labels', undefined, ben)).json).toEqual({ labels: [] });
      expect(await status('GET', `${path}?useAdminAccess=true`, undefined, ben)).toBe(403);
      expect(await status('POST', '/labels', { labelType: 'ADMIN', properties: { title: 'His' } }, ben)).toBe(
        403,
      );
      expect((await server.send('GET', '/users/me/capabilities', undefined, ben)).json).toMatchObject({
        canCreateAdminLabels: false,
        canCreateSharedLabels: true,
      });
      await server.send('POST', `${path}/permissions`, { email: 'ben@example.com', role: 'READER' }, ana);
      expect(await status('GET', path, undefined, ben)).toBe(200);
      expect(await status('POST', `${path}:publish`, {}, ben)).toBe(403);
      await server.send('POST', `${path}/permissions`, { email: 'ben@example.com', role: 'EDITOR' }, ana);
      expect(await status('POST', `${path}:publish`, {}, ben)).toBe(200);
      expect(
        (await server.send('GET', `${path}?view=LABEL_VIEW_FULL`, undefined, ana)).json.publisher,
      ).not.toEqual(label.creator);
      expect(
        (await server.send('GET', '/labels?minimumRole=EDITOR', undefined, ben)).json.labels,
      ).toHaveLength(1);
      expect((await server.send('GET', '/users/ben/capabilities', undefined, ana)).json).toMatchObject({
        canAdministrateLabels: false,
      });
    },
  );
});

// source: rule
test(
  'a user without a role gets the same error for an existing and a missing label',
  covers('spec/labels#errors-2'),
  async () => {
    const ana = grantedToken(server.env, 'ana', 'labels').headers;
    const ben = grantedToken(server.env, 'ben', 'labels').headers;
    const { json: label } = await server.send('POST', '/labels', shared, ana);
    const requests = (id: string): readonly (readonly [string, string, unknown?])[] => [
      ['GET', `/labels/${id}`],
      ['GET', `/labels/${id}/locks`],
      ['GET', `/labels/${id}/permissions`],
      ['POST', `/labels/${id}:publish`, {}],
      ['DELETE', `/labels/${id}`],
    ];
    const unknown = 'x'.repeat(label.id.length);
    for (const [i, [method, path, body]] of requests(label.id).entries()) {
      const [, other = ''] = requests(unknown)[i] ?? [];
      const there = await server.send(method, path, body, ben);
      const missing = await server.send(method, other, body, ben);
      expect([path, there.status, missing.status]).toEqual([path, 403, 403]);
      expect(missing.text.replaceAll(unknown, label.id)).toBe(there.text);
    }
    // An administrator may see every label, so the real reason reveals no secret.
    expect((await server.send('GET', `/labels/${unknown}`, undefined, ana)).status).toBe(404);
  },
);

// source: choice
test('a token is issued for JSON only; a body that is not JSON is rejected', async () => {
  const ask = async (body: string, type = 'application/json') => {
    const url = `${server.mock.origin}/__opsctl/labels/token`;
    return (await fetch(url, { method: 'POST', body, headers: { 'content-type': type } })).status;
  };
  expect(await ask('{')).toBe(400);
  expect(await ask('{}', 'text/plain')).toBe(415);
});
