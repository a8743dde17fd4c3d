import { beforeAll, expect, test } from 'vitest';
import { commands } from '../../../src/commands/mock/oauth.ts';
import { type AuthServer, ada, ask, authServer, clients, location, raw } from '../../support/auth-server.ts';
import { opsctl } from '../../support/program.ts';
import { covers } from '../../support/covers.ts';
import { makeDirectory } from '../../support/directory.ts';

let home = '';
let server: AuthServer;
beforeAll(async () => {
  home = makeDirectory();
  server = await authServer();
});
const run = (...words: string[]) => opsctl(['mock', 'oauth', ...words], { home });
const there = (...words: string[]) => run(...words, '--url', server.origin, '-o', 'json');

test('every group of the developer console has its commands', () => {
  const groups = new Set(commands.map(({ path }) => path[2]));
  for (const group of [
    'clients',
    'users',
    'projects',
    'grants',
    'integrity',
    'policies',
    'events',
    'sessions',
    'tokens',
    'consent',
    'settings',
    'store-items',
  ])
    expect(groups).toContain(group);
  for (const { path } of commands) expect(path.slice(0, 2)).toEqual(['mock', 'oauth']);
});
test('--body is the record as JSON, as in every other derived command', async () => {
  const made = await there(
    'users',
    'create',
    '--body',
    '{"email":"eve@demo.example","name":"Eve","password":"pw123456"}',
  );
  expect([made.code, made.json()?.name], made.stderr).toEqual([0, 'Eve']);
  const { id } = made.json();
  expect((await there('users', 'update', id, '--body', '{"name":"Eva"}')).json().name).toBe('Eva');
  const wrong = await there('settings', 'set', '--body', 'x'.repeat(100_000));
  expect([wrong.code, wrong.stderr.length < 1000]).toEqual([2, true]);
});
test('the life of a client at a running server', covers('spec/program#commands-2'), async () => {
  const made = await there(
    'clients',
    'create',
    '--type',
    'desktop',
    '--name',
    'From a command',
    '--secret',
    'true',
  );
  expect([made.code, made.json().secret]).toEqual([0, expect.stringMatching(/^OCS-/)]);
  const { id } = made.json();
  expect((await there('clients', 'update', id, '--name', 'Renamed')).json().name).toBe('Renamed');
  const refused = await there('clients', 'delete', id);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await there('clients', 'delete', id, '--yes')).json().state).toBe('deleted');
  expect((await there('clients', 'restore', id)).json().state).toBe('active');
  expect((await there('clients', 'get', 'nobody')).code).toBe(6);
});
test('consent, policies, users, integrity and events', async () => {
  expect((await there('consent', 'set', '--mode', 'auto', '--user', ada.email)).code).toBe(0);
  expect(location(await ask(server)).searchParams.has('code')).toBe(true);
  expect((await there('grants', 'list', '--user', ada.email)).json()).toHaveLength(1);
  expect((await there('users', 'disable', 'bob@demo.example')).json().state).toBe('disabled');
  const policy = await there(
    'policies',
    'create',
    '--organization',
    'demo.example',
    '--blocked-scopes',
    'https://scopes.opsctl.example/auth/media',
  );
  expect(policy.json().blocked_scopes).toEqual(['https://scopes.opsctl.example/auth/media']);
  expect((await there('integrity', 'enable', clients.mobileB)).json().state).toBe('monitoring');
  const early = await there('integrity', 'unenforce', clients.desktop);
  expect([early.code, early.stderr]).toEqual([5, expect.stringContaining('only mobile-b has')]);
  expect(
    (
      await there('events', 'subscribe', '--client', clients.desktop, '--receiver', 'http://127.0.0.1:9/x')
    ).json().types,
  ).toHaveLength(3);
  expect((await there('settings', 'set', '--code-seconds', '601')).code).toBe(2);
});
test(
  'without a server the saved state is changed; an invalid field is a usage error before the start',
  covers('spec/program#commands-2'),
  async () => {
    const wrong = await run('clients', 'create', '--type', 'mobile-a', '--name', 'x');
    expect([wrong.code, wrong.stderr]).toEqual([
      5,
      expect.stringMatching(/package_name is required[\s\S]*fingerprint is required/),
    ]);
    const made = await run('projects', 'create', '--name', 'Kept', '-o', 'json');
    expect(made.code, made.stderr).toBe(0);
    const list = await run('projects', 'list', '-o', 'json');
    expect(list.json().map(({ name }: { name: string }) => name)).toEqual(['Demo project', 'Kept']);
    expect((await run('clients', 'create', '--type', 'nope', '--name', 'x')).code).toBe(2);
  },
);
test('--url without a listener is an error', async () => {
  const reply = await run('clients', 'list', '--url', 'http://127.0.0.1:9');
  expect([reply.code, reply.stderr]).toEqual([11, expect.stringContaining('127.0.0.1:9')]);
});
test('--dry-run shows the request and makes no change', async () => {
  const before = (await there('clients', 'list')).json().length;
  const shown = await there('clients', 'create', '--type', 'desktop', '--name', 'x', '--dry-run');
  expect(shown.json()).toMatchObject({ dry_run: true, method: 'POST', body: { type: 'desktop', name: 'x' } });
  expect((await there('clients', 'list')).json()).toHaveLength(before);
});
test('the URL of the console, if a server runs', async () => {
  const none = await run('console');
  expect([none.code, none.stderr]).toEqual([3, expect.stringContaining('opsctl mock serve')]);
  const shown = await opsctl(['mock', 'oauth', 'console', '-o', 'json'], {
    home,
    env: { OPSCTL_MOCK_URL: server.origin },
  });
  expect(shown.json()).toEqual({ url: `${server.origin}/__opsctl/oauth/console`, opened: false });
  expect((await raw(shown.json().url)).text).toContain('<h1>Developer console</h1>');
  expect((await raw(`${server.origin}/__opsctl/oauth`)).headers.location).toBe('/__opsctl/oauth/console');
});
