import { beforeEach, describe, expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { grantedToken } from '../support/labels-tokens.ts';
import { covers } from '../support/covers.ts';

// spec/labels#errors and spec/labels#scopes, by another hand than labels-auth.test.ts: which token may do what, and in which words it is refused.
let server: LabelServer;
beforeEach(async () => {
  server = await labelServer({ labelsAuth: 'oauth' });
});

const ANA = 'ana';
const as = (user: string, ...scopes: string[]) => grantedToken(server.env, user, ...scopes).headers;
const outcome = async (method: string, path: string, body: unknown, headers: Record<string, string>) => {
  const { status, json } = await server.send(method, path, body, headers);
  return [status, json.error?.status ?? 'OK', json.error?.code ?? status];
};
const contract = { labelType: 'SHARED', properties: { title: 'Contract' } };
const made = async (): Promise<string> =>
  (await server.send('POST', '/labels', contract, as(ANA, 'labels'))).json.name;
const OK = [200, 'OK', 200];
const DENIED = [403, 'PERMISSION_DENIED', 403];

// source: rule
test('an unknown token is rejected with a challenge', async () => {
  const { status, json, headers } = await server.send('GET', '/labels', undefined, {
    authorization: 'Bearer made-up',
  });
  expect([status, json.error.status, headers.get('www-authenticate')]).toEqual([
    401,
    'UNAUTHENTICATED',
    expect.stringMatching(/^Bearer/),
  ]);
});

// source: document
describe('reads accept any of the four scopes, writes accept the two write scopes', () => {
  test.each(['labels', 'labels.readonly', 'admin.labels', 'admin.labels.readonly'])('%s', async (scope) => {
    const headers = as(ANA, scope);
    for (const path of ['/labels', '/limits/label', '/users/me/capabilities'])
      expect(await outcome('GET', path, undefined, headers)).toEqual(OK);
    expect(await outcome('POST', '/labels', contract, headers)).toEqual(
      scope.endsWith('readonly') ? DENIED : OK,
    );
  });
  test('a token with another scope gives no access', async () => {
    expect(await outcome('GET', '/labels', undefined, as(ANA, 'openid'))).toEqual(DENIED);
  });
});

// source: document, rule
test.each([
  ['POST', ':delta', { requests: [{ updateLabel: { properties: { title: 'B' }, updateMask: 'title' } }] }],
  ['POST', ':publish', {}],
  ['POST', ':disable', {}],
  ['POST', ':enable', {}],
  ['POST', ':updateLabelCopyMode', { copyMode: 'ALWAYS_COPY' }],
  ['PATCH', '/permissions', { email: 'cy@example.com', role: 'EDITOR' }],
  ['POST', '/permissions', { email: 'cy@example.com', role: 'EDITOR' }],
  [
    'POST',
    '/permissions:batchUpdate',
    { requests: [{ labelPermission: { email: 'cy@example.com', role: 'EDITOR' } }] },
  ],
  ['POST', '/permissions:batchDelete', { requests: [{ name: 'labels/x/permissions/y' }] }],
  ['POST', '/revisions/1/permissions', { email: 'cy@example.com', role: 'EDITOR' }],
  ['DELETE', '', undefined],
])(
  '%s %s needs a scope that writes and the role EDITOR',
  covers('spec/labels#scopes-1'),
  async (method, rest, body) => {
    const name = await made();
    expect(await outcome(method, `/${name}${rest}`, body, as(ANA, 'labels.readonly'))).toEqual(DENIED);
    expect(await outcome(method, `/${name}${rest}`, body, as('ben', 'labels'))).toEqual(DENIED);
    const { json } = await server.send('GET', `/${name}`, undefined, as(ANA, 'labels'));
    expect([json.revisionId, json.properties.title]).toEqual(['1', 'Contract']);
  },
);

// source: rule, choice
test(
  'the admin flag wants an admin scope and an administrator',
  covers('spec/labels#parameters-1'),
  async () => {
    const name = await made();
    expect(await outcome('GET', `/${name}?useAdminAccess=true`, undefined, as(ANA, 'labels'))).toEqual(
      DENIED,
    );
    expect(await outcome('POST', `/${name}:publish`, { useAdminAccess: true }, as(ANA, 'labels'))).toEqual(
      DENIED,
    );
    expect(
      await outcome('POST', `/${name}:publish`, { useAdminAccess: true }, as('ben', 'admin.labels')),
    ).toEqual(DENIED);
    expect(await outcome('POST', `/${name}:publish`, { useAdminAccess: false }, as(ANA, 'labels'))).toEqual(
      OK,
    );
  },
);

// source: document
test('a role granted by permission is effective: a reader reads, an editor edits', async () => {
  const name = await made();
  const give = (role: string) =>
    server.send('POST', `/${name}/permissions`, { email: 'ben@example.com', role }, as(ANA, 'labels'));
  const ben = as('ben', 'labels');
  await give('READER');
  expect(await outcome('GET', `/${name}`, undefined, ben)).toEqual(OK);
  expect(await outcome('POST', `/${name}:publish`, {}, ben)).toEqual(DENIED);
  await give('EDITOR');
  expect(await outcome('POST', `/${name}:publish`, {}, ben)).toEqual(OK);
});
