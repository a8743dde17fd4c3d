import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, GROUP, HIGH, NO_UUID, OWNER, PRIORITY, upload } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-01T10:00:00Z'));
});
const create = async (body: object = {}) => (await ask('POST', '/stories', { name: 's', ...body })).body;
const update = async (id: number, body: object) => (await ask('PUT', `/stories/${id}`, body)).body;
const get = async (id: number) => (await ask('GET', `/stories/${id}`)).body;

describe('stories (an extension of the document)', () => {
  test('defaults of a new story', async () => {
    expect(await create()).toMatchObject({
      name: 's',
      description: '',
      story_type: 'feature',
      workflow_state_id: 11,
      workflow_id: 1,
      requested_by_id: OWNER,
      created_at: '2026-03-01T10:00:00Z',
      estimate: null,
      epic_id: null,
      archived: false,
      started: false,
      completed: false,
      blocked: false,
      blocker: false,
      labels: [],
      tasks: [],
      comments: [],
      files: [],
      linked_files: [],
      branches: [],
      commits: [],
      pull_requests: [],
      entity_type: 'story',
    });
  });
  test('everything that can be given comes back', covers('spec/program#choices-7'), async () => {
    const [{ id: file }] = (await ask('POST', '/files', upload())).body;
    const given = {
      description: 'd',
      story_type: 'bug',
      epic_id: 106,
      project_id: 103,
      iteration_id: 104,
      group_id: GROUP,
      estimate: 8,
      external_id: 'x',
      external_links: ['https://a.example'],
      follower_ids: [BEN],
      owner_ids: [OWNER, BEN],
      requested_by_id: BEN,
      deadline: '2026-04-01T00:00:00Z',
      created_at: '2020-01-01T00:00:00Z',
      updated_at: '2020-01-02T00:00:00Z',
    };
    const more = {
      file_ids: [file],
      labels: [{ name: 'onboarding' }],
      custom_fields: [{ field_id: PRIORITY, value_id: HIGH }],
    };
    const made = await create({ ...given, ...more });
    expect(made).toMatchObject({
      ...given,
      label_ids: [105],
      files: [{ id: file }],
      custom_fields: [{ value: 'High' }],
    });
    expect(await get(made.id)).toEqual(made);
  });
  test('the slim form has ids where the full one has records', async () => {
    const slim = (await ask('GET', '/epics/106/stories')).body[0];
    const full = await get(107);
    for (const key of ['comment_ids', 'file_ids', 'linked_file_ids', 'task_ids', 'num_tasks_completed']) {
      expect(slim).toHaveProperty(key);
      expect(full).not.toHaveProperty(key);
    }
    expect(slim).toMatchObject({
      num_tasks_completed: 1,
      task_ids: full.tasks.map((task: { id: number }) => task.id),
    });
  });
  test('moves through the workflow set times; cycle and lead time follow', async () => {
    const made = await create({ created_at: '2026-02-01T00:00:00Z' });
    expect(await update(made.id, { workflow_state_id: 12 })).toMatchObject({
      started: true,
      started_at: '2026-03-01T10:00:00Z',
      moved_at: '2026-03-01T10:00:00Z',
    });
    const done = await update(made.id, {
      workflow_state_id: 13,
      started_at_override: '2026-03-01T09:00:00Z',
    });
    expect(done).toMatchObject({
      completed: true,
      completed_at: '2026-03-01T10:00:00Z',
      cycle_time: 3600,
      lead_time: 28 * 86_400 + 36_000,
    });
    const back = await update(made.id, { workflow_state_id: 10 });
    expect(back).toMatchObject({ started: false, completed: false, started_at: null, completed_at: null });
    expect(back).toMatchObject({ cycle_time: null, lead_time: null });
  });
  test.each([
    { epic_id: 9 },
    { project_id: 9 },
    { iteration_id: 9 },
    { group_id: NO_UUID },
    { owner_ids: [NO_UUID] },
    { follower_ids: [NO_UUID] },
    { requested_by_id: NO_UUID },
    { workflow_state_id: 9 },
    { file_ids: [9] },
    { linked_file_ids: [9] },
  ])('%o of what does not exist is 422', async (body) => {
    for (const answer of [
      await ask('POST', '/stories', { name: 's', ...body }),
      await ask('PUT', '/stories/107', body),
    ]) {
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, Object.keys(body)]);
    }
  });
  test.each([
    ['name', { name: 'x'.repeat(513) }],
    ['description', { description: 'x'.repeat(100_001) }],
    ['story_type', { story_type: 'epic' }],
    ['external_id', { external_id: 'x'.repeat(1025) }],
    ['tasks[0].description', { tasks: [{ description: 'x'.repeat(2049) }] }],
  ])('%s is checked', async (path, body) => {
    const answer = await ask('POST', '/stories', { name: 's', ...body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [path]]);
  });
  test('before_id and after_id move a story, even without a free position', async () => {
    const made = [await create({ name: 'a' }), await create({ name: 'b' })];
    for (let i = 0; i < 40; i++) await update(made[i % 2].id, { after_id: 107 });
    const positions = await Promise.all(
      [107, made[1].id, made[0].id, 110].map(async (id) => (await get(id)).position),
    );
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(new Set(positions).size).toBe(4);
    expect((await ask('PUT', '/stories/107', { before_id: 107 })).status).toBe(422);
  });
  test(
    'a deleted story takes its tasks, comments and links with it',
    covers('spec/program#choices-7'),
    async () => {
      const { body: comment } = await ask('POST', '/stories/107/comments', { text: 'hi' });
      const { body: link } = await ask('POST', '/story-links', {
        subject_id: 107,
        object_id: 110,
        verb: 'blocks',
      });
      expect((await ask('DELETE', '/stories/107')).status).toBe(204);
      for (const path of ['/stories/107', `/stories/107/comments/${comment.id}`, `/story-links/${link.id}`])
        expect((await ask('GET', path)).status).toBe(404);
      expect(await get(110)).toMatchObject({ story_links: [], blocked: false });
      expect((await ask('GET', '/epics/106')).body.stats.num_stories_total).toBe(2);
    },
  );
});

describe('tasks', () => {
  test('life of a task; the story counts the done ones', async () => {
    const { body: task } = await ask('POST', '/stories/110/tasks', {
      description: 'do',
      owner_ids: [BEN],
      external_id: 'e',
    });
    expect(task).toMatchObject({
      description: 'do',
      complete: false,
      completed_at: null,
      story_id: 110,
      owner_ids: [BEN],
      position: 1,
    });
    const at = `/stories/110/tasks/${task.id}`;
    expect((await ask('PUT', at, { complete: true })).body).toMatchObject({
      complete: true,
      completed_at: '2026-03-01T10:00:00Z',
    });
    const counted = async () =>
      (await ask('GET', '/projects/103/stories')).body.find((story: { id: number }) => story.id === 110);
    expect(await counted()).toMatchObject({ num_tasks_completed: 1, task_ids: [task.id] });
    expect((await ask('GET', at)).body.complete).toBe(true);
    expect((await ask('GET', `/stories/107/tasks/${task.id}`)).status).toBe(404);
    expect((await ask('DELETE', at)).status).toBe(204);
    expect(await counted()).toMatchObject({ num_tasks_completed: 0, task_ids: [] });
  });
  test('tasks move', async () => {
    const [first, second] = (await get(107)).tasks;
    await ask('PUT', `/stories/107/tasks/${second.id}`, { before_id: first.id });
    expect((await get(107)).tasks.map((task: { id: number }) => task.id)).toEqual([second.id, first.id]);
    expect((await ask('PUT', `/stories/107/tasks/${second.id}`, { after_id: 9 })).status).toBe(422);
  });
});

describe('comments and links', () => {
  test('life of a comment', async () => {
    const { body } = await ask('POST', '/stories/107/comments', { text: 'hi @ben', author_id: BEN });
    expect(body).toMatchObject({
      text: 'hi @ben',
      author_id: BEN,
      story_id: 107,
      mention_ids: [BEN],
      parent_id: null,
    });
    const at = `/stories/107/comments/${body.id}`;
    expect(
      (await ask('POST', '/stories/107/comments', { text: 're', parent_id: body.id })).body.parent_id,
    ).toBe(body.id);
    expect((await ask('POST', '/stories/110/comments', { text: 're', parent_id: body.id })).status).toBe(404);
    expect((await ask('PUT', at, { text: 'new' })).body.text).toBe('new');
    expect((await ask('GET', '/stories/107/comments')).body).toHaveLength(2);
    expect((await ask('DELETE', at)).status).toBe(204);
    expect((await get(107)).comments).toHaveLength(1);
  });
  test('a link shows on both stories; blocking follows the verb', async () => {
    const { body: link } = await ask('POST', '/story-links', {
      subject_id: 107,
      object_id: 111,
      verb: 'blocks',
    });
    expect(link).toMatchObject({
      subject_id: 107,
      object_id: 111,
      verb: 'blocks',
      subject_workflow_state_id: 12,
    });
    expect(await get(107)).toMatchObject({
      blocker: true,
      blocked: false,
      story_links: [{ id: link.id, type: 'subject' }],
    });
    expect(await get(111)).toMatchObject({
      blocker: false,
      blocked: true,
      story_links: [{ id: link.id, type: 'object' }],
    });
    await ask('PUT', `/story-links/${link.id}`, { verb: 'relates to', object_id: 110 });
    expect(await get(107)).toMatchObject({ blocker: false });
    expect(await get(111)).toMatchObject({ blocked: false, story_links: [] });
    expect((await ask('DELETE', `/story-links/${link.id}`)).status).toBe(204);
    expect((await get(110)).story_links).toEqual([]);
  });
  test.each([
    { subject_id: 107, object_id: 107, verb: 'blocks' },
    { subject_id: 107, object_id: 9, verb: 'blocks' },
    { subject_id: 9, object_id: 107, verb: 'blocks' },
  ])('the link %o is 422', async (body) => {
    expect((await ask('POST', '/story-links', body)).status).toBe(422);
  });
});

describe('workflows and the query of stories', () => {
  test('states count their stories', async () => {
    const [workflow] = (await ask('GET', '/workflows')).body;
    expect(workflow.states.map((one: any) => [one.name, one.type, one.num_stories])).toEqual([
      ['Backlog', 'backlog', 0],
      ['Ready', 'unstarted', 1],
      ['In Progress', 'started', 1],
      ['Completed', 'done', 1],
    ]);
    expect((await ask('GET', '/workflows/1')).body).toEqual(workflow);
  });
  test.each<[object, number[]]>([
    [{}, [107, 110, 111]],
    [{ story_type: 'bug' }, [110]],
    [{ owner_id: BEN, estimate: 4 }, [107]],
    [{ owner_ids: [OWNER] }, []],
    [{ workflow_state_types: ['started', 'done'] }, [107, 110]],
    [
      { label_name: 'onboarding', epic_id: 106, project_id: 103, iteration_id: 104, group_id: GROUP },
      [107, 110, 111],
    ],
    [{ label_ids: [1] }, []],
    [{ epic_id: null }, []],
    [{ archived: true }, []],
    [{ created_at_start: '2026-03-02T00:00:00Z' }, []],
    [{ created_at_end: '2026-03-02T00:00:00Z', workflow_state_id: 13 }, [110]],
  ])('%o finds %o', async (query, expected) => {
    const answer = await ask('POST', '/stories/search', query);
    expect([answer.status, answer.body.map((story: { id: number }) => story.id)]).toEqual([201, expected]);
  });
});
