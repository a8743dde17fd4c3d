import { afterAll, beforeAll, expect, test } from 'vitest';
import { opsctl } from '../../support/program.ts';
import { type Surrounding, surrounding } from './around.ts';

let at: Surrounding;
beforeAll(async () => {
  at = await surrounding({ seed: 'demo', labelsAuth: 'oauth' });
});
afterAll(() => at.close());

const tokenFor = async (role: string, ...more: string[]): Promise<string> => {
  const env = { OPSCTL_MOCK_URL: at.server.mock.origin };
  const ran = await opsctl(['mock', 'labels', 'token', role, '-o', 'name', ...more], {
    home: at.directory,
    env,
  });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  return ran.stdout.trim();
};
const can = async (token: string, ...argv: string[]): Promise<boolean> =>
  (await at.runWith({ OPSCTL_LABELS_TOKEN: token }, ...argv)).code === 0;

test('one command prints a token of any role, and the role is effective', async () => {
  const rows = [];
  for (const role of ['none', 'reader', 'applier', 'organizer', 'editor', 'admin']) {
    const token = await tokenFor(role);
    rows.push([
      role,
      await can(token, 'get', 'Sensitivity'),
      await can(
        token,
        'permissions',
        'create',
        'Sensitivity',
        '--email',
        `${role}-new@example.com`,
        '--role',
        'APPLIER',
      ),
      await can(token, 'update-copy-mode', 'Sensitivity', '--copy-mode', 'ALWAYS_COPY'),
      await can(token, 'list', '--admin'),
    ]);
  }
  expect(rows).toEqual([
    ['none', false, false, false, false],
    ['reader', true, false, false, false],
    ['applier', true, false, false, false],
    ['organizer', true, true, false, false],
    ['editor', true, true, true, false],
    ['admin', true, true, true, true],
  ]);
});

test('a role on one label grants no access to others; an unknown label is an error', async () => {
  const token = await tokenFor('applier', '--label', 'Sensitivity');
  expect(await can(token, 'get', 'Sensitivity')).toBe(true);
  const env = { OPSCTL_MOCK_URL: at.server.mock.origin };
  const ran = await opsctl(['mock', 'labels', 'token', 'editor', '--label', 'Nothing'], {
    home: at.directory,
    env,
  });
  expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining('there is no label Nothing')]);
});

test('a page in a browser gets no token', async () => {
  const reply = await fetch(`${at.server.mock.origin}/__opsctl/labels/token`, {
    method: 'POST',
    headers: { origin: 'http://evil.example', 'content-type': 'application/json' },
    body: '{"role":"admin"}',
  });
  expect(reply.status).toBe(403);
});
