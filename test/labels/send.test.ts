import { describe, expect, test } from 'vitest';
import { type Asked, labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const apply = ['apply', '-f', 'a.yaml', '--yes', '-o', 'json'];
const applied = async (text: string, ...more: string[]) => {
  const at = labelsInMemory({ 'a.yaml': text });
  const ran = await at.run([...apply, ...more]);
  expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
  return { at, ran, row: ran.json()[0] };
};
const verbs = (writes: readonly Asked[]): string[] =>
  writes.map(({ method, path }) => /:(\w+)/.exec(path)?.[1] ?? method);
const pins = (writes: readonly Asked[]): unknown[] =>
  writes.map(({ body }) => body?.writeControl?.requiredRevisionId ?? null);

describe('requests for a label', () => {
  test('a new one is a body, then settings, publish and permissions, each write pinned to the one before', async () => {
    const { at, ran, row } = await applied(
      'title: A\ncopyMode: ALWAYS_COPY\nenabledApps: [MAIL]\nstate: disabled\ndisabledPolicy: {showInApply: true}\npermissions: [{role: READER, email: r@example.com}]\n',
    );
    expect(verbs(ran.writes)).toEqual([
      ...['POST', 'updateLabelCopyMode', 'publish', 'disable'],
      'batchUpdate',
    ]);
    expect(pins(ran.writes)).toEqual([null, null, '1', '2', null]);
    expect(row).toMatchObject({ action: 'create', sent: 1, requests: 5, published: true, state: 'disabled' });
    const { lifecycle, enabledAppSettings } = at.label('A');
    expect([lifecycle.disabledPolicy, enabledAppSettings.enabledApps]).toEqual([
      { hideInSearch: false, showInApply: true },
      [{ app: 'MAIL' }],
    ]);
  });
  test('a rejected copy mode ends the settings: the enabled apps are not sent', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
    await at.run(['apply', '-f', 'a.yaml']);
    await at.write('a.yaml', 'title: A\ncopyMode: ALWAYS_COPY\nenabledApps: [MAIL]\n');
    const ran = await at.run(['apply', '-f', 'a.yaml', '--yes'], {
      meanwhile: ({ path }) =>
        path.includes('updateLabelCopyMode') ? { status: 400, json: { error: { code: 400 } } } : undefined,
    });
    expect([verbs(ran.writes), ran.code]).toEqual([['updateLabelCopyMode'], 5]);
  });
  test('an existing label is one delta, then its settings', async () => {
    const { at } = await applied('title: A\n');
    await at.write('a.yaml', 'title: A\ndescription: d\ncopyMode: ALWAYS_COPY\nenabledApps: [MAIL]\n');
    const ran = await at.run(apply);
    expect(verbs(ran.writes)).toEqual(['delta', 'updateLabelCopyMode', 'updateLabelEnabledAppSettings']);
    expect(ran.writes.map(({ body }) => body.view)).toEqual(
      Array.from({ length: 3 }, () => 'LABEL_VIEW_FULL'),
    );
    expect(ran.json()[0]).toMatchObject({
      action: 'update',
      sent: 1,
      requests: 3,
      published: false,
      revision: '2',
    });
    await at.write('a.yaml', 'title: A\nenabledApps: []\n');
    expect(verbs((await at.run(apply)).writes)).toEqual(['updateLabelEnabledAppSettings']);
  });
  test('a disabled part waits for the publish, and is disabled after it', async () => {
    const text =
      'title: A\nstate: published\nfields: [{name: Note, type: text, disabled: true}, {name: B, type: text}]\n';
    const { at, ran } = await applied(text);
    expect(verbs(ran.writes)).toEqual(['POST', 'publish', 'delta', 'publish']);
    expect(at.label('A').fields.map((one: any) => one.lifecycle.state)).toEqual(['DISABLED', 'PUBLISHED']);
    expect(ran.json()[0]).toMatchObject({ requests: 4, state: 'published' });
    expect((await at.run(apply)).writes).toEqual([]);
  });
  test('a disabled label is enabled, and a changed policy enables it in between', async () => {
    const { at } = await applied('title: A\nstate: disabled\n');
    await at.write('a.yaml', 'title: A\nstate: disabled\ndisabledPolicy: {hideInSearch: true}\n');
    expect(verbs((await at.run(apply)).writes)).toEqual(['enable', 'disable']);
    expect(at.label('A').lifecycle.disabledPolicy).toMatchObject({ hideInSearch: true });
    await at.write('a.yaml', 'title: A\nstate: published\n');
    const ran = await at.run(apply);
    expect([verbs(ran.writes), ran.json()[0].state]).toEqual([['enable'], 'published']);
  });
  test('a disable without a policy sends none of it', async () => {
    const { ran } = await applied('title: A\nstate: disabled\n');
    expect(ran.writes.at(-1)?.body).toEqual({ writeControl: { requiredRevisionId: '2' } });
    const with_ = await applied('title: A\nstate: disabled\ndisabledPolicy: {hideInSearch: true}\n');
    expect(with_.ran.writes.at(-1)?.body).toEqual({
      disabledPolicy: { hideInSearch: true, showInApply: false },
      updateMask: '*',
      writeControl: { requiredRevisionId: '2' },
    });
  });
  test('permissions of a new label are compared with those that the service gave it', async () => {
    const at = labelsInMemory({
      'a.yaml': 'title: A\npermissions: [{role: READER, email: r@example.com}]\n',
    });
    const ran = await at.run(apply, {
      meanwhile: ({ method, path }) => {
        if (method === 'GET' && path.includes('/permissions'))
          return {
            status: 200,
            json: {
              labelPermissions: [{ name: 'labels/x/permissions/1', role: 'READER', email: 'r@example.com' }],
            },
          };
        return undefined;
      },
    });
    expect([ran.code, verbs(ran.writes), ran.json()[0].requests]).toEqual([0, ['POST'], 1]);
  });
  test('a response in the short view is followed by a read', async () => {
    const { at } = await applied('title: A\n');
    await at.write('a.yaml', 'title: A\ndescription: d\n');
    const ran = await at.run(apply, {
      meanwhile: ({ path, body }) => {
        if (!path.endsWith(':delta')) return undefined;
        const { id, name } = at.send('POST', path, { ...body, view: 'LABEL_VIEW_FULL' }).updatedLabel;
        return { status: 200, json: { updatedLabel: { id, name } } };
      },
    });
    expect([ran.code, ran.json()[0].revision]).toEqual([0, '2']);
    const reads = ran.requests.filter(
      ({ method, path }) => method === 'GET' && path.startsWith(`/labels/${at.id('A')}?`),
    );
    expect(reads).toHaveLength(1);
  });
});

describe('concurrent edits of another user', () => {
  const first = 'title: A\nfields: [{name: Note, type: text}]\n';
  /** Runs an apply; the label is edited before the nth write of this kind. */
  const edited = async (
    text: string,
    verb: string,
    edit: (at: ReturnType<typeof labelsInMemory>) => void,
  ) => {
    const { at } = await applied(first);
    await at.write('a.yaml', text);
    let isDone = false;
    const ran = await at.run(apply, {
      meanwhile: ({ method, path }) => {
        if (isDone || method === 'GET' || !path.includes(verb)) return;
        isDone = true;
        edit(at);
      },
    });
    expect(isDone).toBe(true);
    return { at, ran };
  };
  const theirs = (at: ReturnType<typeof labelsInMemory>) => at.edit('A', { description: 'theirs' });

  test.each([
    ['before anything was sent', `${first}description: ours\n`, ':delta', ['No', 'changes', 'made']],
    [
      'once the draft was saved',
      `${first}description: ours\nstate: published\n`,
      ':publish',
      ['draft', 'saved', 'not', 'published'],
    ],
    ['once it was published', `${first}state: disabled\n`, ':disable', ['published']],
  ])('the error reports the state %s', async (_, text, verb, stands) => {
    const { ran } = await edited(text, verb, theirs);
    expect([ran.code, ran.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(ran.error().message.split('\n')[0]).toEqual(naming('A', 'revision', ...stands));
    expect(ran.error().message).toMatch(/description (none|"ours") becomes "theirs"/);
  });
  test('the error reports the state after the label was enabled', async () => {
    const { at } = await applied(`${first}state: disabled\n`);
    await at.write('a.yaml', `${first}state: disabled\ndisabledPolicy: {hideInSearch: true}\n`);
    let isDone = false;
    const ran = await at.run(apply, {
      meanwhile: ({ path }) => {
        if (isDone || !path.includes(':disable')) return;
        isDone = true;
        theirs(at);
      },
    });
    expect(ran.error().message).toEqual(naming('A', 'label was enabled'));
  });
  test('the error reports the state while a new label is created', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\nstate: published\n' });
    const ran = await at.run(apply, {
      meanwhile: ({ path }) => (path.includes(':publish') ? theirs(at) : undefined),
    });
    expect(ran.error().message).toEqual(naming('A', 'created', 'draft'));
  });
  test('the error reports the state while a part is disabled after its first publish', async () => {
    const fields = 'fields: [{name: Note, type: text, disabled: true}]\n';
    const at = labelsInMemory({ 'a.yaml': `title: A\nstate: published\n${fields}` });
    const later = await at.run(apply, {
      meanwhile: ({ path }) => (path.includes(':delta') ? theirs(at) : undefined),
    });
    expect([later.code, later.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(later.error().message).toEqual(naming('A', 'label was published'));
  });
  test('a concurrent edit that produces the desired state is not a conflict', async () => {
    const { at, ran } = await edited(`${first}description: ours\n`, ':delta', (label) =>
      label.edit('A', { description: 'ours' }),
    );
    expect([ran.code, ran.json()[0].revision, at.label('A').properties.description]).toEqual([
      0,
      '2',
      'ours',
    ]);
    const parted = await edited(`${first}description: ours\n`, ':delta', (label) => {
      label.edit('A', { description: 'ours' });
      label.edit('A', { title: 'B' });
    });
    expect(parted.ran.code).toBe(10);
  });
  test('any other refusal is itself', async () => {
    const { at } = await applied(first);
    await at.write('a.yaml', `${first}description: ours\n`);
    const error = { code: 400, message: 'on purpose', status: 'INVALID_ARGUMENT', details: [] };
    const ran = await at.run(apply, {
      meanwhile: ({ path }) => (path.endsWith(':delta') ? { status: 400, json: { error } } : undefined),
    });
    expect([ran.code, ran.error().message]).toEqual([5, expect.stringContaining('on purpose')]);
  });
});

test('--admin requests admin rights in every change, and other runs never request them', async () => {
  const text =
    'title: A\nstate: published\ncopyMode: ALWAYS_COPY\nenabledApps: [MAIL]\npermissions: [{role: READER, email: r@example.com}]\n';
  const { at, ran } = await applied(text, '--admin');
  const isAdmin = ({ path, body }: Asked): boolean =>
    path.includes('useAdminAccess=true') || body?.useAdminAccess === true;
  expect([ran.writes.length, ran.writes.every(isAdmin)]).toEqual([4, true]);
  await at.write('a.yaml', text.replace('MAIL', 'FILES').replace('title', 'description: d\ntitle'));
  const plain = await at.run(apply);
  expect([plain.writes.length, plain.writes.some(isAdmin)]).toEqual([3, false]);
  const twin = labelsInMemory({ 'a.yaml': 'title: A\nstate: published\n' });
  const made = await twin.run([...apply, '--admin'], {
    meanwhile: ({ method, path }) => {
      if (method !== 'POST' || !/^\/labels(\?|$)/.test(path)) return;
      twin.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'A' } });
      twin.advance(1000);
    },
  });
  expect(verbs(made.writes)).toEqual(['POST', 'publish', 'disable', 'DELETE', 'publish']);
  expect(made.writes.every(isAdmin)).toBe(true);
  expect(made.writes.at(3)?.path).toContain('writeControl.requiredRevisionId=3');
});
