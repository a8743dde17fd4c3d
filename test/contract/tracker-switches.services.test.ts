import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, GROUP, NO_UUID, OWNER, TEMPLATE, upload } from './tracker-cases.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-05T10:00:00Z'));
});

describe('iterations', () => {
  const sprint = { name: 'Sprint', start_date: '2026-03-02', end_date: '2026-03-15' };
  const create = async (body: object = {}) => (await ask('POST', '/iterations', { ...sprint, ...body })).body;
  test('a new iteration; labels inside it have statistics', async () => {
    const made = await create({
      description: 'd',
      follower_ids: [BEN],
      group_ids: [GROUP],
      labels: [{ name: 'onboarding' }, { name: 'new' }],
    });
    expect(made).toMatchObject({
      ...sprint,
      description: 'd',
      follower_ids: [BEN],
      group_ids: [GROUP],
      entity_type: 'iteration',
    });
    expect(made.labels.map((label: any) => [label.name, label.stats.num_stories_total])).toEqual([
      ['onboarding', 3],
      ['new', 0],
    ]);
    expect((await ask('GET', '/iterations')).body[1]).not.toHaveProperty('description');
  });
  test('several groups are kept', async () => {
    const { body: other } = await ask('POST', '/groups', { name: 'o', mention_name: 'o' });
    expect((await create({ group_ids: [GROUP, other.id] })).group_ids).toEqual([GROUP, other.id]);
  });
  test.each([
    ['2026-03-06', '2026-03-10', 'unstarted'],
    ['2026-03-05', '2026-03-05', 'started'],
    ['2026-03-01', '2026-03-04', 'done'],
  ])('an iteration from %s to %s is %s on the fifth', async (start, end, status) => {
    expect((await create({ start_date: start, end_date: end })).status).toBe(status);
  });
  test('an iteration cannot end before it starts, on create and update', async () => {
    expect((await ask('POST', '/iterations', { ...sprint, end_date: '2026-03-01' })).status).toBe(422);
    const made = await create();
    expect((await ask('PUT', `/iterations/${made.id}`, { start_date: '2026-04-01' })).status).toBe(422);
    expect(
      (await ask('PUT', `/iterations/${made.id}`, { start_date: '2026-04-01', end_date: '2026-04-02' })).body,
    ).toMatchObject({
      start_date: '2026-04-01',
    });
  });
  test('statistics are counted; averages are 0 until the first completed story', async () => {
    expect((await ask('GET', '/iterations/104')).body.stats).toMatchObject({
      num_points: 6,
      num_stories_done: 1,
      num_stories_started: 1,
      num_stories_unstarted: 1,
    });
    expect((await create()).stats).toMatchObject({ average_cycle_time: 0, average_lead_time: 0 });
    await ask('PUT', '/stories/110', {
      started_at_override: '2026-03-01T00:00:00Z',
      completed_at_override: '2026-03-01T00:01:40Z',
    });
    expect((await ask('GET', '/iterations/104')).body.stats.average_cycle_time).toBe(100);
  });
  test('a story that leaves an iteration remembers it', async () => {
    const made = await create();
    expect((await ask('PUT', '/stories/107', { iteration_id: made.id })).body).toMatchObject({
      iteration_id: made.id,
      previous_iteration_ids: [104],
    });
    await ask('DELETE', `/iterations/${made.id}`);
    expect((await ask('GET', '/stories/107')).body.iteration_id).toBeNull();
  });
  test('disabled iterations are read-only, and enabling restores them; repeating it has no effect', async () => {
    for (const _ of [1, 2]) expect((await ask('PUT', '/iterations/disable')).status).toBe(204);
    expect((await ask('POST', '/iterations', sprint)).status).toBe(422);
    expect((await ask('PUT', '/iterations/104', {})).status).toBe(422);
    expect((await ask('PUT', '/stories/110', { iteration_id: 104 })).status).toBe(422);
    expect((await ask('GET', '/iterations')).body).toHaveLength(1);
    for (const _ of [1, 2]) expect((await ask('PUT', '/iterations/enable')).status).toBe(204);
    expect((await ask('POST', '/iterations', sprint)).status).toBe(201);
  });
  test('the words enable and disable are not identifiers', async () => {
    expect((await ask('GET', '/iterations/enable')).status).toBe(405);
    expect((await ask('GET', '/iterations/enable')).headers.get('allow')).toBe('PUT');
  });
});

describe('story templates', () => {
  const contents = {
    name: 'n',
    description: 'd',
    deadline: '2026-04-01T00:00:00Z',
    epic_id: 106,
    estimate: 3,
    external_links: ['https://x.example'],
    follower_ids: [BEN],
    group_id: GROUP,
    iteration_id: 104,
    owner_ids: [OWNER],
    project_id: 103,
    story_type: 'bug',
    workflow_state_id: 11,
  };
  const create = async (story_contents: object) =>
    (await ask('POST', '/entity-templates', { name: 't', story_contents })).body;
  test('contents come back as they were given, labels and tasks as records', async () => {
    const made = await create({
      ...contents,
      labels: [{ name: 'onboarding' }],
      tasks: [
        { description: 'one' },
        { description: 'two', complete: true, external_id: 'e', owner_ids: [BEN] },
      ],
    });
    expect(made).toMatchObject({
      name: 't',
      author_id: OWNER,
      entity_type: 'entity-template',
      story_contents: { ...contents, label_ids: [105], labels: [{ name: 'onboarding' }] },
    });
    expect(made.story_contents.labels[0]).not.toHaveProperty('stats');
    expect(made.story_contents.tasks).toEqual([
      { description: 'one', complete: false, external_id: null, owner_ids: [], position: 1 },
      { description: 'two', complete: true, external_id: 'e', owner_ids: [BEN], position: 2 },
    ]);
    expect((await ask('GET', `/entity-templates/${made.id}`)).body).toEqual(made);
  });
  test('an update changes only the given keys; null clears a value', async () => {
    const made = await create(contents);
    const { body } = await ask('PUT', `/entity-templates/${made.id}`, {
      story_contents: { estimate: null, name: 'new' },
    });
    expect(body.story_contents).toMatchObject({ name: 'new', description: 'd', epic_id: 106 });
    expect(body.story_contents).not.toHaveProperty('estimate');
    expect((await ask('PUT', `/entity-templates/${made.id}`, { name: 'renamed' })).body).toMatchObject({
      name: 'renamed',
      story_contents: { name: 'new' },
    });
  });
  test.each([
    { epic_id: 9 },
    { iteration_id: 9 },
    { project_id: 9 },
    { group_id: NO_UUID },
    { owner_ids: [NO_UUID] },
    { workflow_state_id: 9 },
    { file_ids: [9] },
  ])('contents with %o of what does not exist are 422', async (story_contents) => {
    expect((await ask('POST', '/entity-templates', { name: 't', story_contents })).status).toBe(422);
  });
  test.each([
    ['story_contents.nope', { nope: 1 }],
    ['story_contents.estimate', { estimate: '3' }],
    ['story_contents.description', { description: 'x'.repeat(100_001) }],
    ['story_contents.tasks[0].description', { tasks: [{}] }],
    ['story_contents.labels[0].name', { labels: [{ name: '' }] }],
  ])('%s is checked', async (path, story_contents) => {
    const answer = await ask('POST', '/entity-templates', { name: 't', story_contents });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [path]]);
  });
  test('disabled templates are read-only, and enabling restores them', async () => {
    expect((await ask('PUT', '/entity-templates/disable')).status).toBe(204);
    expect((await ask('POST', '/entity-templates', { name: 't', story_contents: {} })).status).toBe(422);
    expect((await ask('PUT', `/entity-templates/${TEMPLATE}`, {})).status).toBe(422);
    expect((await ask('GET', '/entity-templates')).body).toHaveLength(1);
    expect((await ask('PUT', '/entity-templates/enable')).status).toBe(204);
    expect((await ask('PUT', `/entity-templates/${TEMPLATE}`, {})).status).toBe(200);
  });
  test('files of the contents come back as records, as long as they are there', async () => {
    const [{ id: file }] = (await ask('POST', '/files', upload())).body;
    const { body: link } = await ask('POST', '/linked-files', {
      name: 'l',
      type: 'url',
      url: 'https://x.example',
    });
    const made = await create({ file_ids: [file], linked_file_ids: [link.id] });
    expect(made.story_contents).toMatchObject({
      files: [{ id: file, name: 'a.txt' }],
      linked_files: [{ id: link.id, name: 'l' }],
    });
    await ask('PUT', `/linked-files/${link.id}`, { name: 'renamed' });
    await ask('DELETE', `/files/${file}`);
    expect((await ask('GET', `/entity-templates/${made.id}`)).body.story_contents).toMatchObject({
      files: [],
      linked_files: [{ name: 'renamed' }],
    });
  });
  test('a story made from a template notes it', async () => {
    const { body } = await ask('POST', '/stories', { name: 's', story_template_id: TEMPLATE });
    expect(body.story_template_id).toBe(TEMPLATE);
    expect((await ask('POST', '/stories', { name: 's', story_template_id: NO_UUID })).status).toBe(422);
  });
});

describe('documents', () => {
  test('a new document is listed', async () => {
    const { body } = await ask('POST', '/documents', { title: 'Notes', content: '' });
    expect(Object.keys(body).sort()).toEqual(['app_url', 'id', 'title']);
    expect((await ask('GET', '/documents')).body).toContainEqual(body);
  });
  test('403 DisabledFeatureError on list and create when the feature is off', async () => {
    await ask('GET', '/documents');
    await fetch(`${server.mock.origin}/__opsctl/features`, {
      method: 'PUT',
      body: JSON.stringify({ documents: false }),
    });
    for (const answer of [
      await ask('GET', '/documents'),
      await ask('POST', '/documents', { title: 't', content: 'c' }),
    ]) {
      expect([answer.status, answer.body]).toEqual([
        403,
        { feature_tag: 'documents', message: 'Documents are switched off in this workspace.' },
      ]);
    }
  });
});

describe('switches of the workspace', () => {
  const features = (method: string, body?: unknown) =>
    fetch(`${server.mock.origin}/__opsctl/features`, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  test('all are on; they can be seen and set through the control interface, and a reset sets them on again', async () => {
    const on = {
      documents: true,
      'entity-templates': true,
      iterations: true,
      'group-entitlement': true,
      'objective-entitlement': true,
    };
    expect(await (await features('GET')).json()).toEqual(on);
    await ask('PUT', '/iterations/disable');
    expect(await (await features('PUT', { documents: false })).json()).toEqual({
      ...on,
      iterations: false,
      documents: false,
    });
    await fetch(`${server.mock.origin}/__opsctl/reset`, { method: 'POST', body: '{}' });
    expect(await (await features('GET')).json()).toEqual(on);
  });
  test.each([{ document: false }, { documents: 'off' }, { documents: null }])(
    '%o is refused',
    async (body) => {
      expect((await features('PUT', body)).status).toBe(400);
    },
  );
});

describe('names that client libraries send and the documents do not have (spec/tracker#choices-22)', () => {
  const requests = [
    ['POST', '/categories', { name: 'Retention', type: 'milestone' }],
    ['GET', '/groups?archived=false', undefined],
    ['GET', `/members?org-public-id=${NO_UUID}`, undefined],
    ['GET', `/members/${BEN}?org-public-id=${NO_UUID}`, undefined],
  ] as const;
  test.each(requests)('%s %s accepts them', async (method, path, body) => {
    expect((await ask(method, path, body)).status).toBe(method === 'POST' ? 201 : 200);
  });
  test.each(requests)('%s %s rejects them in strict mode', async (method, path, body) => {
    const strict = await startTracker({ isStrict: true });
    expect((await strict.ask(method, path, body)).status).toBe(400);
    await strict.close();
  });
  test.each([
    ['POST', '/categories', { name: 'Retention', type: 'other' }],
    ['POST', '/categories', { name: 'Retention', type: 5 }],
    ['GET', '/groups?archived=banana', undefined],
    ['GET', '/groups?archived=', undefined],
    ['GET', '/members?org-public-id=banana', undefined],
    ['GET', `/members/${BEN}?org-public-id=banana`, undefined],
  ] as const)('%s %s rejects another value in %j', async (method, path, body) => {
    expect((await ask(method, path, body)).status).toBe(400);
  });
  test('a list of groups is filtered by their state', async () => {
    const { body: other } = await ask('POST', '/groups', { name: 'o', mention_name: 'o' });
    await ask('PUT', `/groups/${other.id}`, { archived: true });
    const ids = async (state: string) =>
      (await ask('GET', `/groups?archived=${state}`)).body.map(({ id }: any) => id);
    expect([await ids('true'), await ids('false')]).toEqual([[other.id], [GROUP]]);
  });
});
