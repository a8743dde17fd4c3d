import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ran, opsctl } from '../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = mkdtempSync(join(tmpdir(), 'opsctl-workspace-'));
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true });
});
const run = (...argv: string[]): Promise<Ran> => {
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  return opsctl(['tracker', ...argv], { home, env });
};
const file = (text: string): string => {
  writeFileSync(join(home, 'workspace.yaml'), text);
  return join(home, 'workspace.yaml');
};

test('members of a team may stand in the file by name; the second apply sends nothing', async () => {
  const unknown = await run(
    'diff',
    '-f',
    file('groups: [{name: Ops, mention_name: ops, member_ids: ["@anna"]}]'),
  );
  expect([unknown.code, unknown.stderr]).toEqual([
    6,
    expect.stringMatching(/groups\[0\]\.member_ids\[0\] names a member .*did you mean ana\?/),
  ]);
  const path = file(
    'groups:\n  - name: Ops # the new team\n    mention_name: ops\n    member_ids: ["@ana", ben]\n',
  );
  expect((await run('apply', '-f', path, '--yes')).code).toBe(0);
  const made = (await server.ask('GET', '/groups')).body.find(({ name }: { name: string }) => name === 'Ops');
  const members = (await server.ask('GET', '/members')).body.slice(0, 2).map(({ id }: { id: string }) => id);
  expect(made.member_ids).toEqual(members);
  expect((await run('apply', '-f', path, '--yes', '-o', 'json')).json().actions).toEqual([]);
});

test('what the service has twice is exported, and the export changes nothing', async () => {
  for (const start of ['2026-01-01', '2026-02-01']) {
    await server.ask('POST', '/iterations', { name: 'Sprint', start_date: start, end_date: '2026-03-01' });
  }
  const exported = await run('export', '--only', 'iterations');
  expect(exported.stdout.match(/name: Sprint$/gm)).toHaveLength(2);
  const diff = await run('diff', '-f', file(exported.stdout), '-o', 'json');
  expect([diff.code, diff.json().actions]).toEqual([0, []]);
  const moved = await run(
    'diff',
    '-f',
    file(exported.stdout.replace('2026-02-01', '2026-02-02')),
    '-o',
    'json',
  );
  expect(moved.json().actions).toMatchObject([
    { action: 'update', changes: { start_date: { from: '2026-02-01', to: '2026-02-02' } } },
  ]);
});

test('a field by a name that comes close is explained', async () => {
  const ran = await run('diff', '-f', file('groups: [{name: Ops, mention_name: ops, members: []}]'));
  expect([ran.code, ran.stderr]).toEqual([
    2,
    expect.stringContaining('groups[0].members is not a known field (did you mean member_ids?)'),
  ]);
});
