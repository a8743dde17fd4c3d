import { request } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, HIGH, LOW, NO_ID, NO_UUID, OWNER, PRIORITY } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
const statusOf = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;
const create = async (body: object = {}) => (await ask('POST', '/stories', { name: 's', ...body })).body;
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-01T10:00:00Z'));
});

describe('search of one kind (spec/tracker#search-5)', () => {
  test.each(['stories', 'epics', 'iterations', 'milestones'])('%s: as in the search of all', async (kind) => {
    const all = (await ask('GET', '/search?query=s')).body;
    const one = await ask('GET', `/search/${kind}?query=s`);
    expect([one.status, one.body]).toEqual([200, all[kind]]);
  });
  test('objectives are the milestones; a query is required; slim leaves descriptions out', async () => {
    expect((await ask('GET', '/search/objectives?query=sign')).body.total).toBe(1);
    expect(await statusOf('GET', '/search/stories')).toBe(400);
    const [slim] = (await ask('GET', '/search/stories?query=s&detail=slim')).body.data;
    expect(slim).not.toHaveProperty('description');
  });
  test('next leads from page to page on the same path', async () => {
    for (const name of ['page a', 'page b', 'page c']) await create({ name });
    const first = (await ask('GET', '/search/stories?query=page&page_size=2')).body;
    expect(first).toMatchObject({ total: 3, next: expect.stringMatching(/^\/api\/v3\/search\/stories\?/) });
    const second = (await ask('GET', first.next.replace('/api/v3', ''))).body;
    expect([first, second].flatMap(({ data }) => data.map(({ name }: { name: string }) => name))).toEqual([
      'page a',
      'page b',
      'page c',
    ]);
    expect(second.next).toBeNull();
  });
  test('documents by the words of their title, page by page', async () => {
    for (const title of ['Runbook one', 'Runbook two', 'Notes'])
      await ask('POST', '/documents', { title, content: '' });
    const first = (await ask('GET', '/search/documents?title=runbook&page_size=1')).body;
    expect(first).toMatchObject({ total: 2, data: [{ title: 'Runbook one' }] });
    const second = (await ask('GET', first.next.replace('/api/v3', ''))).body;
    expect(second).toMatchObject({ data: [{ title: 'Runbook two' }], next: null });
  });
});

describe('history and parts of a story (spec/tracker#stories-4)', () => {
  const history = async (id: number) => (await ask('GET', `/stories/${id}/history`)).body;
  test('the history starts with the creation and lists changes, comments and tasks', async () => {
    const { id } = await create({ name: 'first' });
    await ask('PUT', `/stories/${id}`, { name: 'second', owner_ids: [BEN] });
    await ask('PUT', `/stories/${id}`, {});
    await ask('POST', `/stories/${id}/comments`, { text: 'hi' });
    await ask('POST', `/stories/${id}/tasks`, { description: 'do' });
    const events = await history(id);
    expect(events.map(({ actions: [action] }: any) => `${action.entity_type} ${action.action}`)).toEqual([
      'story create',
      'story update',
      'story-comment create',
      'story-task create',
    ]);
    expect(events[0].actions[0].name).toBe('first');
    expect(events[1].actions[0].changes).toEqual({
      name: { old: 'first', new: 'second' },
      owner_ids: { adds: [BEN] },
    });
    expect(await history(id)).toEqual(events);
    expect(await statusOf('GET', `/stories/${NO_ID}/history`)).toBe(404);
  });
  test('the history keeps at most 200 changes, the newest', async () => {
    const { id } = await create();
    for (let i = 0; i <= 201; i++) await ask('PUT', `/stories/${id}`, { name: `n${i}` });
    const events = await history(id);
    expect(events).toHaveLength(201);
    expect(events.at(-1).actions[0].changes.name.new).toBe('n201');
  });
  test('parts are listed, and go on alone when the whole is deleted', async () => {
    const whole = await create();
    const part = await create({ parent_story_id: whole.id });
    expect(part.parent_story_id).toBe(whole.id);
    expect((await ask('GET', `/stories/${whole.id}`)).body.sub_task_story_ids).toEqual([part.id]);
    expect((await ask('GET', `/stories/${whole.id}/sub-tasks`)).body).toMatchObject([{ id: part.id }]);
    await ask('DELETE', `/stories/${whole.id}`);
    expect((await ask('GET', `/stories/${part.id}`)).body.parent_story_id).toBeNull();
  });
  test('a story cannot be its own sub-task, a sub-task of its sub-tasks, or of a missing story', async () => {
    const whole = await create();
    const part = await create({ parent_story_id: whole.id });
    for (const parent of [whole.id, part.id, NO_ID])
      expect(await statusOf('PUT', `/stories/${whole.id}`, { parent_story_id: parent })).toBe(422);
    expect(await statusOf('POST', '/stories', { name: 'x', parent_story_id: NO_ID })).toBe(422);
  });
});

describe('batch requests for stories (spec/tracker#stories-5)', () => {
  test('created together, all or none', async () => {
    const made = await ask('POST', '/stories/bulk', { stories: [{ name: 'a' }, { name: 'b' }] });
    expect([made.status, made.body.map(({ name }: any) => name)]).toEqual([201, ['a', 'b']]);
    const before = server.store.collection('tracker.stories').size;
    expect(
      await statusOf('POST', '/stories/bulk', { stories: [{ name: 'c' }, { name: 'd', epic_id: NO_ID }] }),
    ).toBe(422);
    expect(server.store.collection('tracker.stories').size).toBe(before);
    for (const stories of [[], Array.from({ length: 251 }, () => ({ name: 'x' }))])
      expect(await statusOf('POST', '/stories/bulk', { stories })).toBe(400);
  });
  test('changed together: the same fields, added and taken away', async () => {
    const a = await create({
      owner_ids: [OWNER],
      labels: [{ name: 'onboarding' }],
      custom_fields: [{ field_id: PRIORITY, value_id: LOW }],
    });
    const b = await create({ follower_ids: [OWNER] });
    const change = {
      story_ids: [a.id, b.id],
      estimate: 3,
      owner_ids_add: [BEN],
      owner_ids_remove: [OWNER],
      follower_ids_remove: [OWNER],
      labels_add: [{ name: 'bulk' }],
      labels_remove: [{ name: 'onboarding' }],
      custom_fields_add: [{ field_id: PRIORITY, value_id: HIGH }],
    };
    const { status, body } = await ask('PUT', '/stories/bulk', change);
    expect(status).toBe(200);
    for (const story of body)
      expect(story).toMatchObject({
        estimate: 3,
        owner_ids: [BEN],
        follower_ids: [],
        labels: [{ name: 'bulk' }],
        custom_fields: [{ value: 'High' }],
      });
    const taken = { story_ids: [a.id], custom_fields_remove: [{ field_id: PRIORITY, value_id: HIGH }] };
    expect((await ask('PUT', '/stories/bulk', taken)).body[0].custom_fields).toEqual([]);
    expect(await statusOf('PUT', '/stories/bulk', { story_ids: [a.id, NO_ID], estimate: 8 })).toBe(404);
    expect((await ask('GET', `/stories/${a.id}`)).body.estimate).toBe(3);
  });
  test.each(['first', 'last'] as const)('moved to the %s place in their order', async (to) => {
    const ids: number[] = [];
    for (const name of ['a', 'b', 'c']) ids.push((await create({ name })).id);
    const moved = to === 'first' ? [ids[2], ids[1]] : [ids[1], ids[0]];
    await ask('PUT', '/stories/bulk', { story_ids: moved, move_to: to });
    const all = [...server.store.collection<any>('tracker.stories').values()].sort(
      (x, y) => x.position - y.position,
    );
    const order = all.map(({ id }) => id);
    expect(to === 'first' ? order.slice(0, 2) : order.slice(-2)).toEqual(moved);
  });
  test('deleted together, all or none', async () => {
    const [a, b] = [await create(), await create()];
    expect(await statusOf('DELETE', '/stories/bulk', { story_ids: [a.id, NO_ID] })).toBe(404);
    expect(await statusOf('GET', `/stories/${a.id}`)).toBe(200);
    expect(await statusOf('DELETE', '/stories/bulk', { story_ids: [a.id, b.id] })).toBe(204);
    expect(await statusOf('GET', `/stories/${a.id}`)).toBe(404);
  });
});

test('a reaction occurs once, and can be removed (spec/tracker#stories-6)', async () => {
  const { id } = await create();
  const comment = (await ask('POST', `/stories/${id}/comments`, { text: 'hi' })).body;
  const at = `/stories/${id}/comments/${comment.id}`;
  for (let twice = 0; twice < 2; twice++) {
    const { status, body } = await ask('POST', `${at}/reactions`, { emoji: ':+1:' });
    expect([status, body]).toEqual([201, [{ emoji: ':+1:', permission_ids: [OWNER] }]]);
  }
  expect((await ask('GET', at)).body.reactions).toHaveLength(1);
  expect(await statusOf('DELETE', `${at}/reactions`, { emoji: ':eyes:' })).toBe(404);
  expect(await statusOf('DELETE', `${at}/reactions`, { emoji: ':+1:' })).toBe(204);
  expect((await ask('GET', at)).body.reactions).toEqual([]);
});

describe('a story with its parts (spec/tracker#stories-7)', () => {
  const at = '2026-01-02T03:04:05Z';
  test('tasks and comments keep the times of the request, and so does the story', async () => {
    const story = await create({
      archived: true,
      created_at: '2026-01-01T00:00:00',
      updated_at: at,
      tasks: [{ description: 't', created_at: at }],
      comments: [
        { text: 'one', author_id: BEN, created_at: '2026-01-02T03:04:05', external_id: 'c1' },
        { text: 'two' },
      ],
    });
    expect(story).toMatchObject({ archived: true, created_at: '2026-01-01T00:00:00Z', updated_at: at });
    expect(story.tasks[0].created_at).toBe(at);
    const comments = (await ask('GET', `/stories/${story.id}/comments`)).body;
    expect(comments).toMatchObject([
      { text: 'one', author_id: BEN, created_at: at, external_id: 'c1', position: 1 },
      { text: 'two', author_id: OWNER, created_at: '2026-03-01T10:00:00Z', position: 2 },
    ]);
  });
  test('several stories with comments are created atomically', async () => {
    const good = { name: 'a', comments: [{ text: 'x' }] };
    const body = (more: object) => ({ stories: [good, { name: 'b', ...more }] });
    const before = (await ask('POST', '/stories/search', {})).body.length;
    const wrong = { comments: [{ text: 'x', author_id: NO_UUID }] };
    expect(await statusOf('POST', '/stories/bulk', body(wrong))).toBe(422);
    expect((await ask('POST', '/stories/search', {})).body).toHaveLength(before);
    const made = await ask('POST', '/stories/bulk', body({}));
    expect([made.status, made.body.map((one: any) => one.comment_ids.length)]).toEqual([201, [1, 0]]);
  });
  test('sub-stories are existing or new, and an update lists all of them', async () => {
    const child = await create();
    const parent = await create({ sub_tasks: [{ story_id: child.id }, { name: 'new', owner_ids: [BEN] }] });
    expect(parent.sub_task_story_ids).toHaveLength(2);
    const [, made] = (await ask('GET', `/stories/${parent.id}/sub-tasks`)).body;
    expect(made).toMatchObject({ name: 'new', owner_ids: [BEN] });
    const only = { sub_tasks: [{ story_id: made.id }] };
    expect((await ask('PUT', `/stories/${parent.id}`, only)).body.sub_task_story_ids).toEqual([made.id]);
    expect((await ask('GET', `/stories/${child.id}`)).body.parent_story_id).toBeNull();
    for (const wrong of [{}, { story_id: NO_ID }, { story_id: child.id, name: 'both' }])
      expect(await statusOf('POST', '/stories', { name: 's', sub_tasks: [wrong] })).toBe(422);
    const self = { sub_tasks: [{ story_id: parent.id }] };
    expect(await statusOf('PUT', `/stories/${parent.id}`, self)).toBe(422);
  });
  test('a story moves to the first or the last position', async () => {
    const first = await create({ move_to: 'first' });
    const last = await create({});
    const places = async (): Promise<number[]> =>
      (await ask('POST', '/stories/search', {})).body
        .toSorted((a: any, b: any) => a.position - b.position)
        .map(({ id }: { id: number }) => id);
    expect([(await places())[0], (await places()).at(-1)]).toEqual([first.id, last.id]);
    await ask('PUT', `/stories/${first.id}`, { move_to: 'last' });
    expect((await places()).at(-1)).toBe(first.id);
  });
  test('a reference to a record that does not exist is 422', async () => {
    const { id } = await create();
    expect(await statusOf('POST', '/stories', { name: 's', source_task_id: NO_ID })).toBe(422);
    for (const field of ['branch_ids', 'commit_ids', 'pull_request_ids']) {
      expect(await statusOf('PUT', `/stories/${id}`, { [field]: [1] })).toBe(422);
      expect(await statusOf('PUT', `/stories/${id}`, { [field]: [] })).toBe(200);
    }
  });
});

test('a read accepts its parameters as a JSON body, and the query wins (spec/tracker#search-6)', async () => {
  const read = (path: string, body: string) =>
    new Promise<{ status: number | undefined; body: any }>((resolve, reject) => {
      const headers = {
        ...{ 'tracker-token': TOKEN, 'content-type': 'application/json' },
        'content-length': Buffer.byteLength(body),
      };
      const sent = request(`${server.mock.origin}/api/v3${path}`, { method: 'GET', headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  const expected = (await ask('GET', '/search/stories?query=sign&page_size=1')).body;
  const inBody = await read('/search/stories', '{"query":"sign","page_size":1}');
  expect([inBody.status, inBody.body]).toEqual([200, expected]);
  expect((await read('/search/stories?query=sign&page_size=1', '{"query":"other"}')).body).toEqual(expected);
  expect((await read('/search/stories?query=s', '{"page_size":"1"}')).status).toBe(400);
  expect((await read('/search/stories?query=s', '{"unknown":1}')).status).toBe(400);
  expect((await read('/labels/100', 'not JSON')).status).toBe(404);
});

test('a document is read in both formats, changed and deleted (spec/tracker#documents-3)', async () => {
  const { id } = (await ask('POST', '/documents', { title: 'T', content: 'one\n\n<two>' })).body;
  const doc = (await ask('GET', `/documents/${id}`)).body;
  expect(doc).toMatchObject({
    title: 'T',
    content_markdown: 'one\n\n<two>',
    created_at: '2026-03-01T10:00:00Z',
  });
  expect(doc).not.toHaveProperty('content_html');
  expect((await ask('GET', `/documents/${id}?content_format=html`)).body.content_html).toBe(
    '<p>one</p>\n<p>&lt;two&gt;</p>',
  );
  const changed = await ask('PUT', `/documents/${id}`, { content: '<b>x</b>', content_format: 'html' });
  expect(changed.body).toMatchObject({ title: 'T', content_html: '<b>x</b>', content_markdown: '<b>x</b>' });
  expect(await statusOf('GET', `/documents/${NO_UUID}`)).toBe(404);
  expect(await statusOf('DELETE', `/documents/${id}`)).toBe(204);
  expect(await statusOf('GET', `/documents/${id}`)).toBe(404);
});

test('a document is created in HTML as well (spec/tracker#documents-3)', async () => {
  const { id } = (
    await ask('POST', '/documents', { title: 'T', content: '<i>x</i>', content_format: 'html' })
  ).body;
  expect((await ask('GET', `/documents/${id}?content_format=html`)).body.content_html).toBe('<i>x</i>');
  expect(await statusOf('POST', '/documents', { title: 'T', content: 'x', content_format: 'rtf' })).toBe(400);
});

test(
  'the demo seed contains records that the API cannot create',
  covers('spec/program#mock-server-3'),
  async () => {
    const get = async (path: string) => (await ask('GET', path)).body;
    expect((await get('/members')).length).toBeGreaterThan(1);
    expect((await get('/epic-workflow')).epic_states.length).toBeGreaterThan(1);
    expect((await get('/custom-fields')).map(({ name }: { name: string }) => name)).toEqual([
      'Priority',
      'Product Area',
    ]);
    const repositories = await get('/repositories');
    expect(repositories).toHaveLength(1);
    const [objective] = await get('/objectives');
    expect(objective.key_result_ids).toHaveLength(2);
    const [result] = objective.key_result_ids;
    expect((await get(`/key-results/${result}`)).objective_id).toBe(objective.id);
    const [epic] = await get('/epics');
    expect(epic.objective_ids).toEqual([objective.id]);
    const [story] = await get(`/epics/${epic.id}/stories`);
    expect(story).toMatchObject({ epic_id: epic.id, iteration_id: expect.any(Number) });
  },
);
