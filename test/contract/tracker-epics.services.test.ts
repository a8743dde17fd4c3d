import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, GROUP, NO_UUID, OWNER } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-01T10:00:00Z'));
});
const create = async (body: object) => (await ask('POST', '/epics', { name: 'e', ...body })).body;
const update = async (id: number, body: object) => (await ask('PUT', `/epics/${id}`, body)).body;

describe('times', () => {
  test.each([
    ['2026-05-01T10:00:00.000Z', '2026-05-01T10:00:00.000Z'],
    ['2026-05-01T10:00:00.123Z', '2026-05-01T10:00:00.123Z'],
    ['2026-05-01T10:00:00Z', '2026-05-01T10:00:00Z'],
    ['2026-05-01T10:00:00.250+02:00', '2026-05-01T08:00:00.250Z'],
    ['2026-05-01T10:00:00+02:00', '2026-05-01T08:00:00Z'],
  ])(
    '%s is returned as the same instant: UTC text unchanged',
    covers('spec/tracker#choices-9', 'spec/tracker#values-2'),
    async (sent, back) => {
      const { id } = await create({ deadline: sent });
      expect((await ask('GET', `/epics/${id}`)).body.deadline).toBe(back);
    },
  );
});

describe('the deprecated single ids', () => {
  test('null unsets them on update as on create', async () => {
    const { id } = await create({ group_ids: [GROUP], objective_ids: [102] });
    expect(await update(id, { group_id: null })).toMatchObject({
      group_id: null,
      group_ids: [],
      milestone_id: 102,
    });
    expect(await update(id, { milestone_id: null })).toMatchObject({ milestone_id: null, objective_ids: [] });
  });
});

describe('create', () => {
  test('defaults: requester is the owner of the token, times are now, the state is the default one', async () => {
    expect(await create({})).toMatchObject({
      requested_by_id: OWNER,
      created_at: '2026-03-01T10:00:00Z',
      updated_at: '2026-03-01T10:00:00Z',
      epic_state_id: 21,
      state: 'to do',
      started: false,
      completed: false,
      archived: false,
      comments: [],
      deadline: null,
      group_ids: [],
      objective_ids: [],
      owner_ids: [],
      description: '',
      external_id: null,
    });
  });
  test(
    'created_at and updated_at may be other dates, and are returned in UTC',
    covers('spec/tracker#epics-2', 'spec/tracker#choices-17'),
    async () => {
      expect(
        await create({ created_at: '2020-01-02T03:04:05+02:00', updated_at: '2021-01-01T00:00:00Z' }),
      ).toMatchObject({
        created_at: '2020-01-02T01:04:05Z',
        updated_at: '2021-01-01T00:00:00Z',
      });
    },
  );
  test('labels are found by name or made', covers('spec/tracker#epics-5'), async () => {
    const epic = await create({
      labels: [
        { name: 'onboarding' },
        { name: 'new one', color: '#112233', description: 'd', external_id: 'e' },
      ],
    });
    expect(epic.labels.map((label: { name: string; color: string }) => [label.name, label.color])).toEqual([
      ['onboarding', '#cc4400'],
      ['new one', '#112233'],
    ]);
    expect(epic.label_ids[0]).toBe(105);
    expect((await ask('GET', '/labels')).body).toHaveLength(2);
  });
  test.each([
    ['labels[0].name', { labels: [{}] }],
    ['labels[0].name', { labels: [{ name: 'x'.repeat(129) }] }],
    ['labels[0].colour', { labels: [{ name: 'a', colour: '#112233' }] }],
    ['labels[0].color', { labels: [{ name: 'a', color: 'red' }] }],
  ])('%s is checked in each label', async (path, body) => {
    const answer = await ask('POST', '/epics', { name: 'e', ...body });
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [path]]);
  });
  test.each([
    ['owner_ids', { owner_ids: [NO_UUID] }],
    ['follower_ids', { follower_ids: [NO_UUID] }],
    ['group_ids', { group_ids: [NO_UUID] }],
    ['objective_ids', { objective_ids: [1] }],
    ['epic_state_id', { epic_state_id: 9 }],
    ['requested_by_id', { requested_by_id: NO_UUID }],
    ['milestone_id', { milestone_id: 9 }],
    ['group_id', { group_id: NO_UUID }],
    ['converted_from_story_id', { converted_from_story_id: 9 }],
  ])(
    '%s of a missing record is 422, and no record is created',
    covers('spec/tracker#choices-1'),
    async (field, body) => {
      const answer = await ask('POST', '/epics', { name: 'e', labels: [{ name: 'left over' }], ...body });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, [field]]);
      expect((await ask('GET', '/epics')).body).toHaveLength(1);
      expect((await ask('GET', '/labels')).body).toHaveLength(1);
    },
  );
});

describe('state', () => {
  test.each([
    ['to do', 21, false, false],
    ['in progress', 22, true, false],
    ['done', 23, true, true],
  ])('the deprecated state %s is state %d of the workflow', async (state, id, started, completed) => {
    expect(await create({ state })).toMatchObject({ state, epic_state_id: id, started, completed });
    expect(await update(106, { state })).toMatchObject({ state, epic_state_id: id, started, completed });
  });
  test('state is ignored when epic_state_id is given', covers('spec/tracker#states-2'), async () => {
    expect(await create({ state: 'done', epic_state_id: 22 })).toMatchObject({
      state: 'in progress',
      epic_state_id: 22,
    });
    expect(await update(106, { state: 'to do', epic_state_id: 23 })).toMatchObject({
      state: 'done',
      epic_state_id: 23,
    });
  });
  test('times follow the state, and go away with it', async () => {
    expect(await update(106, { epic_state_id: 23 })).toMatchObject({
      completed_at: expect.stringMatching(/^2026/),
      started_at: expect.stringMatching(/^2026/),
    });
    expect(await update(106, { epic_state_id: 21 })).toMatchObject({
      completed_at: null,
      started_at: null,
      started: false,
      completed: false,
    });
  });
  test(
    'overrides are set on create and update, and null clears them',
    covers('spec/tracker#states-3'),
    async () => {
      const epic = await create({
        started_at_override: '2020-01-01T00:00:00Z',
        completed_at_override: '2020-02-01T00:00:00Z',
      });
      expect(epic).toMatchObject({
        started_at_override: '2020-01-01T00:00:00Z',
        completed_at_override: '2020-02-01T00:00:00Z',
      });
      expect(await update(epic.id, { started_at_override: null })).toMatchObject({
        started_at_override: null,
        completed_at_override: '2020-02-01T00:00:00Z',
      });
      expect(await update(epic.id, { completed_at_override: null })).toMatchObject({
        started_at_override: null,
        completed_at_override: null,
      });
    },
  );
});

describe('fields with two names', () => {
  test('group_id and group_ids', covers('spec/tracker#records-9'), async () => {
    expect(await create({ group_id: GROUP })).toMatchObject({ group_id: GROUP, group_ids: [GROUP] });
    expect(await create({ group_ids: [GROUP] })).toMatchObject({ group_id: GROUP, group_ids: [GROUP] });
    expect(await create({ group_id: null })).toMatchObject({ group_id: null, group_ids: [] });
    expect(await update(106, { group_ids: [] })).toMatchObject({ group_id: null, group_ids: [] });
  });
  test('milestone_id and objective_ids', covers('spec/tracker#records-9'), async () => {
    const { body: other } = await ask('POST', '/objectives', { name: 'other' });
    expect(await create({ milestone_id: 102 })).toMatchObject({ milestone_id: 102, objective_ids: [102] });
    expect(await create({ objective_ids: [other.id, 102] })).toMatchObject({
      milestone_id: other.id,
      objective_ids: [other.id, 102],
    });
    expect(await update(106, { milestone_id: other.id })).toMatchObject({
      milestone_id: other.id,
      objective_ids: [other.id],
    });
    expect(await create({ milestone_id: null })).toMatchObject({ milestone_id: null, objective_ids: [] });
  });
});

describe('lists and pages', () => {
  const names = async (path = '/epics'): Promise<string[]> =>
    (await ask('GET', path)).body.map((epic: { name: string }) => epic.name);
  test(
    'descriptions only when asked; never comments or health',
    covers('spec/tracker#epics-6', 'spec/tracker#records-4'),
    async () => {
      const [slim] = (await ask('GET', '/epics')).body;
      for (const key of ['description', 'comments', 'health']) expect(slim).not.toHaveProperty(key);
      const [full] = (await ask('GET', '/epics?includes_description=true')).body;
      expect(full.description).toBe('From the first click to the first order.');
    },
  );
  test('pages of ten by default, next and total', covers('spec/tracker#epics-3'), async () => {
    for (let i = 1; i <= 24; i++) await create({ name: `e${i}` });
    const page = async (query: string) => (await ask('GET', `/epics/paginated${query}`)).body;
    expect(await page('')).toMatchObject({
      data: expect.objectContaining({ length: 10 }),
      next: 2,
      total: 25,
    });
    expect(await page('?page=3')).toMatchObject({
      data: expect.objectContaining({ length: 5 }),
      next: null,
      total: 25,
    });
    expect(await page('?page=4')).toMatchObject({ data: [], next: null, total: 25 });
    expect(await page('?page_size=25')).toMatchObject({ next: null });
    const statusOf = async (size: number) => (await ask('GET', `/epics/paginated?page_size=${size}`)).status;
    expect([await statusOf(0), await statusOf(1), await statusOf(250), await statusOf(251)]).toEqual([
      400, 200, 200, 400,
    ]);
    const seen = [
      ...(await page('?page=1&page_size=7')).data,
      ...(await page('?page=2&page_size=18')).data,
    ].map((epic) => epic.name);
    expect(new Set(seen).size).toBe(seen.length);
    expect((await page('?includes_description=true')).data[0]).toHaveProperty('description');
  });
  test('before_id and after_id move an epic', covers('spec/tracker#epics-4'), async () => {
    const [a, b] = [await create({ name: 'a' }), await create({ name: 'b' })];
    await update(b.id, { before_id: 106 });
    expect(await names()).toEqual(['b', 'Sign-up in five minutes', 'a']);
    await update(b.id, { after_id: a.id });
    expect(await names()).toEqual(['Sign-up in five minutes', 'a', 'b']);
    const positions = (await ask('GET', '/epics')).body.map((epic: { position: number }) => epic.position);
    expect(positions).toEqual([...positions].sort((x, y) => x - y));
  });
  test.each([{ before_id: 9 }, { after_id: 9 }, { after_id: 106 }])('a move to %o is 422', async (body) => {
    const answer = await ask('PUT', '/epics/106', body);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, Object.keys(body)]);
  });
});

describe('values that an epic shows of other records', () => {
  test('statistics, projects and groups of its stories', async () => {
    expect((await ask('GET', '/epics/106')).body).toMatchObject({
      associated_groups: [{ associated_stories_count: 3, group_id: GROUP }],
      project_ids: [103],
      stories_without_projects: 0,
      stats: {
        num_stories_total: 3,
        num_stories_done: 1,
        num_stories_started: 1,
        num_stories_unstarted: 1,
        num_points: 6,
        num_points_done: 2,
        num_stories_unestimated: 1,
      },
    });
    await ask('POST', '/stories', { name: 'loose', epic_id: 106, estimate: 1, workflow_state_id: 10 });
    expect((await ask('GET', '/epics/106')).body).toMatchObject({
      stories_without_projects: 1,
      stats: { num_stories_total: 4, num_stories_backlog: 1, num_points_backlog: 1, num_points: 7 },
    });
  });
  test('the time of the last change of a story, null without stories', async () => {
    const epic = await create({});
    expect(epic.stats.last_story_update).toBeNull();
    const { body: story } = await ask('POST', '/stories', {
      name: 's',
      epic_id: epic.id,
      updated_at: '2020-01-01T00:00:00Z',
    });
    expect((await ask('GET', `/epics/${epic.id}`)).body.stats.last_story_update).toBe('2020-01-01T00:00:00Z');
    const { body: newer } = await ask('POST', '/stories', {
      name: 't',
      epic_id: epic.id,
      updated_at: '2021-01-01T00:00:00Z',
    });
    expect((await ask('GET', `/epics/${epic.id}`)).body.stats.last_story_update).toBe('2021-01-01T00:00:00Z');
    await ask('DELETE', `/stories/${newer.id}`);
    expect((await ask('GET', `/epics/${epic.id}`)).body.stats.last_story_update).toBe('2020-01-01T00:00:00Z');
    await ask('DELETE', `/stories/${story.id}`);
    expect((await ask('GET', `/epics/${epic.id}`)).body.stats.last_story_update).toBeNull();
  });
  test('people and groups named in the description', async () => {
    expect(await create({ description: 'ask @ben or @platform, not @nobody or a@b' })).toMatchObject({
      mention_ids: [BEN, GROUP],
      member_mention_ids: [BEN],
      group_mention_ids: [GROUP],
    });
  });
  test('a deleted epic leaves its stories without one', async () => {
    await ask('DELETE', '/epics/106');
    expect((await ask('GET', '/stories/107')).body.epic_id).toBeNull();
    expect((await ask('GET', '/epics/106/stories')).status).toBe(404);
  });
  test('unlinking the planning tool empties its four fields, also twice', async () => {
    expect((await ask('GET', '/epics/106')).body.planningtool_name).toBe('Roadmap 2026');
    for (const _ of [1, 2]) expect((await ask('POST', '/epics/106/unlink-planningtool')).status).toBe(204);
    const { body } = await ask('GET', '/epics/106');
    expect([
      body.planningtool_id,
      body.planningtool_name,
      body.planningtool_plugin_id,
      body.planningtool_url,
    ]).toEqual([null, null, null, null]);
  });
});
