import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { replyFrom } from '../../support/fake-host.ts';
import { type Surrounding, answering, surrounding } from './around.ts';
import { covers } from '../../support/covers.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding({ seed: 'demo' });
});
afterEach(() => at.close());

const state = async (title: string) => {
  const { json } = await at.server.send('GET', `/labels/${await at.id(title)}?view=LABEL_VIEW_FULL`);
  return { ...json.lifecycle, revision: json.revisionId };
};

test(
  'diff shows unpublished changes and exits with code 20, or with 0 without differences',
  covers('exit/no'),
  async () => {
    const some = await at.run('diff', 'Project phase', '-o', 'json');
    expect(some.code).toBe(20);
    expect(some.json()).toMatchObject({
      published_revision: '2',
      draft_revision: '3',
      changes: [
        {
          kind: 'changed',
          detail: expect.stringMatching(/^description ".*" becomes "The current status of a project"$/),
        },
      ],
    });
    const none = await at.run('diff', 'Contract', '-o', 'json');
    expect(none.code).toBe(0);
    expect(none.json()).toMatchObject({ draft_revision: null, changes: [] });
    const never = await at.run('diff', 'Sensitivity', '-o', 'table');
    expect(never.code).toBe(20);
    expect(never.stdout).toContain('never published');
    expect(never.stdout).toContain('+ field Level added');
  },
);

test('publish shows, asks and pins', async () => {
  const asked: string[] = [];
  const refuse = (question: string): boolean => {
    asked.push(question);
    return false;
  };
  const refused = await at.runOn(answering({ confirm: refuse }), 'publish', 'Project phase');
  expect(refused.code).toBe(10);
  expect(asked).toEqual(['Publish revision 3 of label Project phase?']);
  expect(refused.stderr).toContain('label Project phase changed: description');
  expect(await state('Project phase')).toMatchObject({ hasUnpublishedChanges: true, revision: '3' });
  const done = await at.runOn(answering({ confirm: () => true }), 'publish', 'Project phase', '-o', 'json');
  expect(done.code).toBe(0);
  expect(done.json()).toMatchObject({ revisionId: '4', lifecycle: { state: 'PUBLISHED' } });
});

test('publish needs --yes without a terminal; a label without changes is not a failure', async () => {
  expect(await at.run('publish', 'Project phase')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  });
  expect((await at.run('publish', 'Project phase', '--yes')).code).toBe(0);
  const again = await at.run('publish', 'Project phase', '--yes', '-o', 'json');
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('(revision 4 is published)') });
  expect(again.json()).toMatchObject({
    id: await at.id('Project phase'),
    revisionId: '4',
    lifecycle: { state: 'PUBLISHED' },
  });
});

test('an edit while the question is open stops the publish and shows the new difference', async () => {
  const id = await at.id('Project phase');
  const meddle = async () => {
    await at.server.send('POST', `/labels/${id}:delta`, {
      requests: [{ updateLabel: { properties: { title: 'Project stage' }, updateMask: 'title' } }],
    });
    return true;
  };
  const ran = await at.runOn(answering({ confirm: meddle }), 'publish', 'Project phase');
  expect(ran.code).toBe(10);
  expect(ran.stderr).toMatch(/revision 3,.*revision is 4/);
  expect(ran.stderr).toContain('label Project stage renamed: from Project phase');
  expect(ran.stderr).toContain(`opsctl labels diff labels/${id}`);
  expect(await state('Project stage')).toMatchObject({
    state: 'PUBLISHED',
    hasUnpublishedChanges: true,
    revision: '4',
  });
});

test('a revision that is not the newest, and a disabled label, are refused before anything is sent', async () => {
  expect(await at.run('publish', 'Project phase', '--revision', '2', '--yes')).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('is 3, not 2'),
  });
  expect(await at.run('publish', 'Archive', '--yes')).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('labels enable'),
  });
});

test('retire lists the losses, requires the title, disables and deletes', async () => {
  const id = await at.id('Project phase');
  expect(await at.run('retire', 'Department')).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('is locked'),
  });
  const made = await at.file('old.yaml', 'title: Old\nfields: [{name: Shelf, type: text}]\n');
  await at.run('apply', '-f', made, '--publish');
  expect(await at.run('retire', 'Old')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the values of field Shelf (text) on every item'),
  });
  expect(await at.run('retire', 'Old', '--yes', '--title', 'old')).toMatchObject({ code: 2 });
  expect(await at.runOn(answering({ text: () => 'Oldd' }), 'retire', 'Old')).toMatchObject({ code: 10 });
  expect(await state('Old')).toMatchObject({ state: 'PUBLISHED', revision: '2' });
  const dry = await at.run('retire', 'Old', '--dry-run', '-o', 'json');
  expect(dry.json()).toMatchObject({ deleted: false });
  const done = await at.runOn(answering({ text: () => 'Old' }), 'retire', 'Old', '-o', 'json');
  expect(done.json()).toMatchObject({ title: 'Old', disabled: true, deleted: true });
  expect((await at.run('get', 'Old')).code).toBe(6);
  expect((await at.server.send('GET', `/labels/${id}`)).status).toBe(200);
});

test('locks as a tree', async () => {
  const tree = await at.run('locks', 'Contract', '-o', 'table');
  expect(tree.stdout).toContain('│  └─ choice Signed  locked: lock1 (active)');
  expect(tree.stdout).toContain('├─ field Due  locked: lock2 (active)');
  const whole = await at.run('locks', 'Department', '-o', 'table');
  expect(whole.stdout).toContain('label Department  locked');
  expect(whole.stdout).toContain('field Cost centre  held by the lock above');
  expect((await at.run('locks', 'Contract', '-o', 'json')).json()).toMatchObject({
    inside: [
      { lock: null, inside: [{ held: false }, { what: 'choice Signed', lock: 'lock1 (active)' }, {}] },
      { what: 'field Regions', lock: 'lock3 (active)', inside: [{ held: true }, { held: true }] },
      {},
      {},
      {},
      {},
      {},
    ],
  });
});

test('a plan that touches a locked part is refused before anything is sent', async () => {
  const before = await state('Contract');
  const text = (await at.run('export', 'Contract')).stdout
    .replace('name: Signed', 'name: Signed by all')
    .replace('name: Due', 'name: Due on');
  const ran = await at.run('apply', '-f', await at.file('c.yaml', text), '-o', 'json');
  expect(ran.code).toBe(10);
  expect(ran.stderr).toContain('choice Signed by all of field Status');
  expect(ran.stderr).toContain('it is locked by');
  expect(ran.stderr).toContain('field Due on');
  expect(await state('Contract')).toEqual(before);
});

test('permissions sync shows the difference and sends atomic batches; the second run sends no request', async () => {
  const list = [
    '- {role: EDITOR, email: reader@example.com}',
    '- {role: READER, audience: audiences/default}',
    '- {role: EDITOR, email: colleague@example.com}',
  ];
  const file = await at.file('p.yaml', list.join('\n'));
  const dry = await at.run('permissions', 'sync', 'Contract', '-f', file, '--dry-run', '-o', 'table');
  expect(dry.stdout).toBe(
    '+ reader@example.com EDITOR\n~ audiences/default APPLIER becomes READER\nx legal-team@example.com ORGANIZER\n',
  );
  expect(await at.run('permissions', 'sync', 'Contract', '-f', file)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  });
  const done = await at.run('permissions', 'sync', 'Contract', '-f', file, '--yes', '-o', 'json');
  expect(done.json()).toMatchObject({ sent: true });
  expect((await at.run('permissions', 'sync', 'Contract', '-f', file, '-o', 'json')).json()).toMatchObject({
    sent: false,
    added: [],
    changed: [],
    removed: [],
  });
  const written = await at.file(
    'again.yaml',
    (await at.run('permissions', 'list', 'Contract', '-o', 'yaml')).stdout,
  );
  expect((await at.run('permissions', 'sync', 'Contract', '-f', written, '-o', 'json')).json()).toMatchObject(
    { sent: false },
  );
  const wrong = await at.run(
    'permissions',
    'sync',
    'Contract',
    '-f',
    await at.file('w.yaml', '- {role: OWNER, email: a@b.c}'),
    '-o',
    'json',
  );
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('READER, APPLIER, ORGANIZER, EDITOR'),
  });
});

/** Calls `act` before each matching request. If `reply` is set, it replaces the response of the service. */
const meddling =
  (ending: string, act: () => Promise<unknown>, reply?: { status: number; body: unknown }) =>
  (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        if (!request.url.includes(ending)) return host.network.request(request);
        await act();
        return reply === undefined
          ? host.network.request(request)
          : replyFrom({ status: reply.status, body: reply.body });
      },
    },
  });

test(
  '409 ABORTED of other services means the same as 400 FAILED_PRECONDITION, once the label has moved',
  covers('spec/program#choices-11'),
  async () => {
    const id = await at.id('Project phase');
    const aborted = { status: 409, body: { error: { code: 409, message: 'etag', status: 'ABORTED' } } };
    const still = await at.runOn(
      meddling(':publish', async () => {}, aborted),
      'publish',
      'Project phase',
      '--yes',
      '-o',
      'json',
    );
    expect(still.code).toBe(5);
    const edit = { requests: [{ updateLabel: { properties: { title: 'Moved' }, updateMask: 'title' } }] };
    const moved = await at.runOn(
      meddling(':publish', () => at.server.send('POST', `/labels/${id}:delta`, edit), aborted),
      'publish',
      'Project phase',
      '--yes',
      '-o',
      'json',
    );
    expect(moved).toMatchObject({ code: 10, stderr: expect.stringContaining('CHANGED_MEANWHILE') });
  },
);

test('after an edit between two steps of a command, the error reports the state', async () => {
  const file = await at.file('two.yaml', 'title: Two steps\n');
  await at.run('apply', '-f', file, '--publish');
  const id = await at.id('Two steps');
  const edit = (title: string) => () =>
    at.server.send('POST', `/labels/${id}:delta`, {
      requests: [{ updateLabel: { properties: { title }, updateMask: 'title' } }],
    });
  const next = await at.file('two.yaml', `id: ${id}\ntitle: Two steps now\n`);
  const applied = await at.runOn(meddling(':publish', edit('Theirs')), 'apply', '-f', next, '--publish');
  expect(applied).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('The draft was saved, but not published.'),
  });
  const remove = meddling('writeControl.requiredRevisionId', edit('Theirs again'));
  const retired = await at.runOn(remove, 'retire', id, '--yes', '--title', 'Theirs');
  expect(retired).toMatchObject({
    code: 10,
    stderr: expect.stringContaining('The label was disabled, not deleted.'),
  });
  expect(await state('Theirs again')).toMatchObject({ state: 'DISABLED' });
});
