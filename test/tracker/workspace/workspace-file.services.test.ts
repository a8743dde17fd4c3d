import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { plainYaml } from '../../../src/core/yaml.ts';
import { workspaceKinds } from '../../../src/tracker/workspace/kinds.ts';
import { type Ran, opsctl } from '../../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../../support/tracker-server.ts';
import { makeDirectory } from '../../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
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

test('a workspace file may contain the names of team members; the second apply sends no request', async () => {
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

test('duplicates in the service are exported, and the export makes no changes', async () => {
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

test.each([
  ['custom_fields: [{name: Priority, icon_set_identifier: ""}]', 'icon_set_identifier'],
  [`custom_fields: [{name: Priority, description: ${'x'.repeat(100_001)}}]`, 'description'],
  [`projects: [{name: P, team_id: 1, external_id: ${'x'.repeat(129)}}]`, 'external_id'],
  [`epics: [{name: E, labels: [${'x'.repeat(129)}]}]`, 'labels'],
  [`iterations: [{name: I, start_date: 2026-01-01, end_date: 2026-01-02, groups: [""]}]`, 'groups'],
])('a value that its endpoint would refuse is found before anything is sent: %#', async (lines, field) => {
  const before = (await server.ask('GET', '/labels')).body.length;
  const ran = await run('apply', '-f', file(`labels: [{name: "first of all"}]\n${lines}\n`), '--yes');
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(field)]);
  expect(ran.stderr).toContain('workspace.yaml:2: ');
  expect((await server.ask('GET', '/labels')).body).toHaveLength(before);
});

test('every field of the file has the limits of the rows that carry it', () => {
  for (const kind of Object.values(workspaceKinds))
    for (const [name, field] of Object.entries(kind.fields)) {
      const row = kind.update.body?.[name] ?? kind.create?.body?.[name];
      if (row === undefined || !('max' in row) || field.type !== row.type) continue;
      expect([name, field]).toEqual([name, expect.objectContaining({ max: row.max })]);
    }
});

const EPICS = `
labels:
  - name: roadmap
groups:
  - name: Platform
    mention_name: platform
objectives:
  - name: Faster builds
epics:
  - name: Remote cache
    external_id: E-1
    description: |
      # Why
      Builds wait.
    state: STATE
    owner_ids: ["@ana"]
    labels: [roadmap]
    groups: [platform]
    objectives: [Faster builds]
    deadline: 2026-12-31T00:00:00Z
`;
test('an export of epics with all kinds of references applies without changes', async () => {
  const states = (await server.ask('GET', '/epic-workflow')).body.epic_states;
  const state = states[1].name;
  const unknown = await run('diff', '-f', file(EPICS.replace('STATE', `${state}x`)));
  expect([unknown.code, unknown.stderr]).toEqual([6, expect.stringContaining(`did you mean ${state}?`)]);
  const path = file(EPICS.replace('STATE', state));
  expect((await run('apply', '-f', path, '--yes')).stderr).toContain('created epics: Remote cache');
  const made = (await server.ask('GET', '/epics')).body.find(
    ({ name }: { name: string }) => name === 'Remote cache',
  );
  const one = async (list: string, name: string): Promise<unknown> =>
    (await server.ask('GET', list)).body.find((row: { name: string }) => row.name === name).id;
  expect(made).toMatchObject({
    external_id: 'E-1',
    epic_state_id: states[1].id,
    deadline: '2026-12-31T00:00:00Z',
    objective_ids: [await one('/objectives', 'Faster builds')],
    group_ids: [await one('/groups', 'Platform')],
    labels: [expect.objectContaining({ name: 'roadmap' })],
    owner_ids: [expect.any(String)],
  });
  expect((await run('apply', '-f', path, '--yes', '-o', 'json')).json().actions).toEqual([]);
  const exported = await run('export');
  expect(exported.stdout).toContain('Remote cache');
  expect((await run('diff', '-f', file(exported.stdout), '-o', 'json')).json().actions).toEqual([]);
  const renamed = EPICS.replace('STATE', state)
    .replace('Remote cache', 'Shared cache')
    .replace('2026-12-31T00:00:00Z', '2026-12-31T01:00:00+01:00');
  const plan = (await run('diff', '-f', file(renamed), '-o', 'json')).json();
  expect(plan.actions).toEqual([
    expect.objectContaining({
      action: 'update',
      kind: 'epics',
      changes: { name: { from: 'Remote cache', to: 'Shared cache' } },
    }),
  ]);
});

test('a saved plan is applied exactly, or not at all', async () => {
  const path = file('labels: [{name: planned, color: "#112233"}]\n');
  const kept = join(home, 'plan.json');
  const diff = await run('diff', '-f', path, '--out', kept, '--markdown');
  expect([diff.code, diff.stdout]).toEqual([20, expect.stringContaining('| create | labels | planned |')]);
  const both = await run('apply', '-f', path, '--plan', kept, '--yes');
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--plan')]);
  expect((await run('apply', '--plan', kept, '--yes')).stderr).toContain('created labels: planned');
  const late = await run('apply', '--plan', kept, '--yes');
  expect([late.code, late.stderr]).toEqual([
    10,
    expect.stringContaining(`opsctl tracker diff -f ${path} --out ${kept}`),
  ]);
  writeFileSync(kept, '{"version":1}');
  expect((await run('apply', '--plan', kept, '--yes')).code).toBe(2);
});

const TEMPLATES = `
labels: [{name: from a template}]
linked_files:
  - name: Plan
    type: url
    url: https://files.example.com/plan.pdf
    description: The plan
entity_templates:
  - name: Incident
    story:
      name: "Incident: "
      description: What happened
      story_type: bug
      state: STATE
      epic: EPIC
      project: PROJECT
      group: platform
      iteration: ITERATION
      labels: [from a template]
      linked_files: [Plan]
      owner_ids: ["@ana"]
      follower_ids: [ben]
      custom_fields: [{field: Priority, value: High}]
      estimate: 3
      external_links: ["https://runbook.example.com"]
      tasks:
        - description: Write it down
          owner_ids: ["@ben"]
`;

test('templates and linked files: applied by names, exported, and applied again without a request', async () => {
  const { ask } = server;
  const nameOf = async (path: string) => (await ask('GET', path)).body[0].name as string;
  const [workflow] = (await ask('GET', '/workflows')).body;
  const text = TEMPLATES.replace('STATE', workflow.states[1].name)
    .replace('EPIC', await nameOf('/epics'))
    .replace('PROJECT', await nameOf('/projects'))
    .replace('ITERATION', await nameOf('/iterations'));
  const path = file(text);
  const applied = await run('apply', '-f', path, '--yes');
  expect([applied.code, applied.stderr]).toEqual([0, expect.anything()]);
  const [made] = (await ask('GET', '/entity-templates')).body.filter(
    ({ name }: { name: string }) => name === 'Incident',
  );
  const [linked] = (await ask('GET', '/linked-files')).body;
  expect(made.story_contents).toMatchObject({
    story_type: 'bug',
    estimate: 3,
    workflow_state_id: workflow.states[1].id,
    epic_id: 106,
    labels: [{ name: 'from a template' }],
    linked_files: [{ id: linked.id }],
    custom_fields: [{ value: 'High' }],
    tasks: [{ description: 'Write it down', complete: false, owner_ids: [expect.any(String)] }],
  });
  const diff = async (name: string) => (await run('diff', '-f', name, '-o', 'json')).json().actions;
  expect(await diff(path)).toEqual([]);
  const exported = await run('export');
  expect(exported.stdout).toMatch(/entity_templates:[\s\S]*story:[\s\S]*epic: /);
  // The YAML package has a limit, and the output of an export has no limit.
  expect(plainYaml(exported.stdout)).toEqual({ value: parse(exported.stdout) });
  expect(await diff(file(exported.stdout))).toEqual([]);
  const changed = file(text.replace('estimate: 3', 'estimate: 5'));
  expect(await diff(changed)).toMatchObject([
    { action: 'update', kind: 'entity_templates', name: 'Incident' },
  ]);
  expect((await run('apply', '-f', changed, '--yes')).code).toBe(0);
  expect((await ask('GET', `/entity-templates/${made.id}`)).body.story_contents).toMatchObject({
    estimate: 5,
    epic_id: 106,
  });
});

test('a template that names what does not exist is refused with its line', async () => {
  const wrong = async (story: string, ...lists: string[]) =>
    run('diff', '-f', file(`${lists.join('\n')}\nentity_templates:\n  - name: T\n    story: {${story}}\n`));
  const label = await wrong('labels: [bgu]', 'labels: [{name: bug}]');
  expect([label.code, label.stderr]).toEqual([
    2,
    expect.stringMatching(/story\.labels.*bgu.*did you mean bug/s),
  ]);
  const state = await wrong('state: Redy');
  expect([state.code, state.stderr]).toEqual([6, expect.stringContaining('did you mean')]);
  const field = await wrong('estimat: 3');
  expect([field.code, field.stderr]).toEqual([2, expect.stringMatching(/line 4|:4/)]);
});
