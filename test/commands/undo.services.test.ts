/** opsctl undo: the last change of the tracker or of labels, as a plan. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { NetworkError } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
beforeEach(() => {
  home = makeDirectory();
});
const run = (...line: readonly string[]) => opsctl(line, { home });
const rows = async (...line: readonly string[]): Promise<any[]> => {
  const ran = await run(...line, '-o', 'ndjson');
  return ran.stdout
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text));
};
const record = async (...line: readonly string[]): Promise<any> =>
  JSON.parse((await run(...line, '-o', 'json')).stdout);

describe('tracker', () => {
  it.each([
    ['labels', ['--name', 'n']],
    ['categories', ['--name', 'n']],
    ['epics', ['--name', 'n']],
    ['objectives', ['--name', 'n']],
    ['stories', ['--name', 'n', '--workflow-state', '11']],
  ])('undo deletes a record of %s that a command created', async (resource, flags) => {
    const made = await record('tracker', resource, 'create', ...flags);
    const [planned] = await rows('undo', '--dry-run');
    expect(planned).toMatchObject({ resource, id: String(made.id), action: 'delete', status: 'would' });
    expect((await run('tracker', resource, 'get', String(made.id))).code).toBe(0);
    expect((await run('undo', '--yes')).code).toBe(0);
    expect((await run('tracker', resource, 'get', String(made.id))).code).toBe(6);
  });
  it('undo restores the values that commands replaced, the last command first', async () => {
    const before = await record('tracker', 'stories', 'get', '107');
    await run('tracker', 'stories', 'update', '107', '--name', 'Other', '--estimate', '8');
    await run('tracker', 'stories', 'move', '107', 'Completed');
    expect((await rows('undo', '--yes'))[0]).toMatchObject({ action: 'restore', status: 'undone' });
    const moved = await record('tracker', 'stories', 'get', '107');
    expect([moved.workflow_state_id, moved.name]).toEqual([before.workflow_state_id, 'Other']);
    await run('undo', '--yes');
    const restored = await record('tracker', 'stories', 'get', '107');
    expect([restored.name, restored.estimate]).toEqual([before.name, before.estimate]);
    expect((await run('undo', '--yes')).code).toBe(6);
  });
  it('undo refuses a record that changed in the meantime', async () => {
    await run('tracker', 'stories', 'update', '107', '--name', 'Mine');
    const [{ id }] = await rows('undo', '--list');
    await run('api', 'tracker', 'PUT', '/stories/107', '--body', '{"name":"Of another user"}');
    const ran = await run('undo', id, '--yes');
    expect([ran.code, ran.stdout]).toEqual([10, expect.stringContaining('name changed since the run')]);
    expect((await run('undo', id, '--yes', '--force')).code).toBe(0);
    expect((await record('tracker', 'stories', 'get', '107')).name).not.toMatch(/Mine|another/);
  });
  it('undo creates a deleted record again only with --recreate', async () => {
    const made = await record('tracker', 'labels', 'create', '--name', 'gone', '--description', 'kept');
    await run('tracker', 'labels', 'delete', String(made.id), '--yes');
    expect((await run('undo', '--yes')).code).toBe(10);
    const [undone] = await rows('undo', '--yes', '--recreate');
    expect(undone).toMatchObject({ action: 'recreate', status: 'undone' });
    expect(await record('tracker', 'labels', 'get', String(undone.new_id))).toMatchObject({
      name: 'gone',
      description: 'kept',
    });
  });
  it('undo refuses a change that no request reverts, and never reverts an older change instead', async () => {
    await run('tracker', 'labels', 'create', '--name', 'older');
    writeFileSync(join(home, 'bulk.json'), '{"stories":[{"name":"a","workflow_state_id":11}]}');
    const bulk = await run('tracker', 'stories', 'bulk-create', '--body', '@bulk.json');
    expect(bulk.code, bulk.stderr).toBe(0);
    const ran = await run('undo', '--yes');
    expect([ran.code, ran.stdout]).toEqual([
      10,
      expect.stringContaining('cannot revert this kind of change'),
    ]);
    expect((await rows('tracker', 'labels', 'list')).some(({ name }) => name === 'older')).toBe(true);
  });
  it('a rejected change and a dry run leave nothing to undo', async () => {
    expect((await run('tracker', 'stories', 'update', '999999', '--name', 'x')).code).toBe(6);
    await run('tracker', 'labels', 'create', '--name', 'x', '--dry-run');
    expect(await rows('undo', '--list')).toEqual([]);
  });
  it('a bulk run is a change as well', async () => {
    writeFileSync(join(home, 'rows.ndjson'), '{"op":"create","resource":"labels","name":"b"}\n');
    await run('tracker', 'bulk', '-f', 'rows.ndjson');
    expect((await rows('undo', '--yes'))[0]).toMatchObject({ resource: 'labels', action: 'delete' });
  });
  it('the records are private to their user, and the newest 50 are kept', async () => {
    for (let i = 0; i < 52; i += 1) await run('tracker', 'labels', 'update', '102', '--description', `n${i}`);
    const directory = join(home, 'state/mock/writes');
    const names = readdirSync(directory);
    expect(names).toHaveLength(50);
    expect(names.map((name) => statSync(join(directory, name)).mode & 0o777)).toEqual(names.map(() => 0o600));
  });
});

describe('labels', () => {
  const file = (text: string): void => writeFileSync(join(home, 'label.yaml'), text);
  const definition =
    'title: Case\ntype: SHARED\nstate: published\ndescription: First\nfields:\n  - name: A\n    type: text\n';
  const label = async (): Promise<any> => {
    const all = await rows('labels', 'list');
    const { name } = all.find(({ properties }) => properties.title === 'Case') ?? {};
    return name === undefined ? undefined : record('labels', 'get', name, '--view', 'LABEL_VIEW_FULL');
  };
  it('undo gives labels the definition from before labels apply, and keeps later changes', async () => {
    file(definition);
    await run('labels', 'apply', '-f', 'label.yaml', '--publish', '--yes');
    file(definition.replace('First', 'Second').concat('  - name: B\n    type: text\n'));
    await run('labels', 'apply', '-f', 'label.yaml', '--publish', '--yes');
    expect((await label()).properties.description).toBe('Second');
    const planned = await run('undo', '--dry-run');
    expect([planned.code, planned.stdout]).toEqual([
      0,
      expect.stringContaining('\\"Second\\" becomes \\"First\\"'),
    ]);
    expect((await label()).properties.description).toBe('Second');
    const [{ id }] = await rows('undo', '--list');
    expect((await run('undo', '--yes')).code).toBe(0);
    expect((await label()).properties.description).toBe('First');
    const again = await run('undo', id, '--yes');
    expect([again.code, again.stderr]).toEqual([10, expect.stringContaining('changed since')]);
  });
  it('undo enables a label that a command disabled', async () => {
    file(definition);
    await run('labels', 'apply', '-f', 'label.yaml', '--publish', '--yes');
    const before = await label();
    const disabled = await run('labels', 'disable', before.name);
    expect(disabled.code, disabled.stderr).toBe(0);
    expect((await run('undo', '--yes')).code).toBe(0);
    expect((await label()).lifecycle.state).toBe(before.lifecycle.state);
  });
  it('undo names a label that a command created and the command that removes it', async () => {
    file(definition);
    await run('labels', 'apply', '-f', 'label.yaml', '--publish', '--yes');
    const ran = await run('undo', '--yes');
    expect([ran.code, ran.stderr]).toEqual([10, expect.stringContaining('opsctl labels retire "Case"')]);
  });
});

describe('the journal of changes', () => {
  const env = {
    OPSCTL_TRACKER_URL: 'http://127.0.0.1:1',
    OPSCTL_TRACKER_TOKEN: 't',
    OPSCTL_LABELS_URL: 'http://127.0.0.1:1',
    OPSCTL_LABELS_TOKEN: 't',
  };
  it.each([
    ['tracker', 'labels', 'update', '102', '--name', 'z'],
    ['tracker', 'labels', 'delete', '102', '--yes'],
    ['labels', 'disable', 'labels/a1'],
    ['labels', 'enable', 'labels/a1'],
  ])('a lost connection of the read ends %s %s before the change', async (...line) => {
    const methods: string[] = [];
    const ran = await opsctl(line, {
      home,
      env,
      host: (real) => ({
        ...real,
        sleep: async () => undefined,
        network: {
          ...real.network,
          request: async ({ method }) => {
            methods.push(method);
            throw new NetworkError('RESET', 'the connection was cut', true);
          },
        },
      }),
    });
    expect([ran.code, ran.stderr.match(/^error: /gm)?.length]).toEqual([11, 1]);
    expect(methods.length).toBeGreaterThan(0);
    expect(new Set(methods)).toEqual(new Set(['GET']));
  });
  it.each([
    ['REFUSED', false],
    ['DNS', false],
    ['RESET', true],
    ['ABORTED', true],
    ['ABORTED', false],
  ] as const)(
    'undo offers a create after %s only if it may have arrived (sent: %s)',
    async (code, isSent) => {
      const host = (real: any) => ({
        ...real,
        sleep: async () => undefined,
        network: {
          ...real.network,
          request: async () => {
            throw new NetworkError(code, 'the connection failed', isSent);
          },
        },
      });
      const ran = await opsctl(['tracker', 'labels', 'create', '--name', 'n'], { home, env, host });
      expect(ran.code).toBeGreaterThan(0);
      expect((await rows('undo', '--list')).length).toBe(isSent ? 1 : 0);
    },
  );
  it('two changes of one millisecond have two records and two IDs', async () => {
    const at = Date.now();
    const host = (real: any) => ({ ...real, now: () => at, pid: 7 });
    for (const name of ['one', 'two'])
      expect((await opsctl(['tracker', 'labels', 'create', '--name', name], { home, host })).code).toBe(0);
    const listed = await rows('undo', '--list');
    expect(new Set(listed.map(({ id }) => id)).size).toBe(2);
    expect((await rows('undo', '--dry-run'))[0]).toMatchObject({ name: 'two', status: 'would' });
  });
  it('the tracker and labels write one format', async () => {
    await run('tracker', 'stories', 'update', '107', '--name', 'new');
    writeFileSync(join(home, 'label.yaml'), 'title: Case\ntype: SHARED\nstate: draft\n');
    await run('labels', 'apply', '-f', 'label.yaml', '--yes');
    await run('labels', 'apply', '-f', 'label.yaml', '--publish', '--yes');
    const directory = join(home, 'state/mock/writes');
    const texts = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    expect(texts.length).toBeGreaterThanOrEqual(2);
    for (const text of texts) expect(text).toMatch(/^h \d+\nm \{.*\}\nb 1 \{.*\}\ns 1 -\nd 1 - \S+/);
  });
  it('undo accepts the record that an earlier version wrote for labels', async () => {
    const file = join(home, 'label.yaml');
    writeFileSync(file, 'title: Case\ntype: SHARED\nstate: draft\ndescription: First\n');
    await run('labels', 'apply', '-f', 'label.yaml', '--yes');
    writeFileSync(file, 'title: Case\ntype: SHARED\nstate: draft\ndescription: Second\n');
    await run('labels', 'apply', '-f', 'label.yaml', '--yes');
    const directory = join(home, 'state/mock/writes');
    const [path = ''] = readdirSync(directory)
      .toSorted()
      .toReversed()
      .map((name) => join(directory, name));
    const [, , before = '', , after = ''] = readFileSync(path, 'utf8').split('\n');
    const label = { ...JSON.parse(before.slice('b 1 '.length)), after: after.split(' ')[4] };
    const old = { command: 'labels apply', service: 'embedded mock server', labels: [label] };
    writeFileSync(path, `${JSON.stringify(old)}\n`);
    const ran = await run('undo', '--yes');
    expect(ran.code, ran.stderr).toBe(0);
    const found = (await rows('labels', 'list')).find(({ properties }) => properties.title === 'Case');
    expect(found.properties.description).toBe('First');
    expect((await rows('undo', '--list')).map(({ is_undone }) => is_undone)).toContain(true);
  });
});

it('undo without a terminal asks for --yes and changes nothing', async () => {
  await run('tracker', 'labels', 'create', '--name', 'n');
  const ran = await run('undo');
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await rows('tracker', 'labels', 'list')).some(({ name }) => name === 'n')).toBe(true);
});
