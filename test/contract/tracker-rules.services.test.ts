/** Rules of `docs/spec/tracker.md` that hold for several kinds of records: forms, states, sets, errors and limits. */
import { beforeEach, describe, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';

const OWNER = '11111111-0000-4000-8000-000000000001';
const BEN = '11111111-0000-4000-8000-000000000002';
const GROUP = '66666666-0000-4000-8000-000000000001';
const PRIORITY = '33333333-0000-4000-8000-000000000001';
const NO_UUID = 'ffffffff-0000-4000-8000-000000000000';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
const statusOf = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-05T10:00:00Z'));
});

describe('records', () => {
  test(
    'ids are integers, except of the kinds that have UUIDs',
    covers('spec/tracker#records-1'),
    async () => {
      const field = (await ask('GET', `/custom-fields/${PRIORITY}`)).body;
      const health = (await ask('POST', '/epics/106/health', { status: 'At Risk' })).body;
      const objective = (await ask('GET', '/objectives/102')).body;
      const first = async (path: string) => (await ask('GET', path)).body[0].id;
      const uuids = [
        await first('/members'),
        await first('/groups'),
        field.id,
        field.values[0].id,
        objective.key_result_ids[0],
        health.id,
        await first('/entity-templates'),
        await first('/documents'),
      ];
      for (const id of uuids) expect(id).toMatch(UUID);
      await ask('POST', '/linked-files', { name: 'l', type: 'url', url: 'https://x.example' });
      const integers = [
        'categories',
        'epics',
        'iterations',
        'labels',
        'linked-files',
        'objectives',
        'projects',
      ];
      for (const kind of [...integers, 'repositories', 'epics/106/stories'])
        expect([kind, Number.isInteger(await first(`/${kind}`))]).toEqual([kind, true]);
    },
  );
  test(
    'comments nest to any depth, and the health history starts with the newest record',
    covers('spec/tracker#records-5'),
    async () => {
      let parent = (await ask('POST', '/epics/106/comments', { text: 'level 0' })).body.id;
      for (let level = 1; level <= 12; level++)
        parent = (await ask('POST', `/epics/106/comments/${parent}`, { text: `level ${level}` })).body.id;
      let [comment] = (await ask('GET', '/epics/106')).body.comments;
      const texts: string[] = [];
      for (; comment !== undefined; [comment] = comment.comments) texts.push(comment.text);
      expect(texts).toEqual(Array.from({ length: 13 }, (_, level) => `level ${level}`));
      for (const text of ['1', '2', '3']) await ask('POST', '/epics/106/health', { status: 'At Risk', text });
      const history = (await ask('GET', '/epics/106/health-history')).body;
      expect(history.map((one: any) => one.text)).toEqual(['3', '2', '1']);
    },
  );
  test(
    'an epic without a health record has No Health, other fields null',
    covers('spec/tracker#records-6'),
    async () => {
      const expected = {
        status: 'No Health',
        id: null,
        author_id: null,
        text: null,
        created_at: null,
        updated_at: null,
      };
      expect((await ask('GET', '/epics/106/health')).body).toMatchObject(expected);
      expect((await ask('GET', '/epics/106')).body.health).toMatchObject(expected);
    },
  );
  test(
    'keys without a value are present with null, and keys of the contents of a template are absent',
    covers('spec/tracker#records-8', 'spec/tracker#choices-7'),
    async () => {
      const epic = (await ask('POST', '/epics', { name: 'e' })).body;
      for (const key of [
        'completed_at',
        'completed_at_override',
        'deadline',
        'external_id',
        'group_id',
        'milestone_id',
        'planned_start_date',
        'planningtool_id',
        'planningtool_name',
        'planningtool_plugin_id',
        'planningtool_url',
        'started_at',
        'started_at_override',
      ])
        expect([key, epic[key]]).toEqual([key, null]);
      const label = (await ask('POST', '/labels', { name: 'l' })).body;
      expect(label).toMatchObject({ color: null, description: null, external_id: null });
      const group = (await ask('POST', '/groups', { name: 'g', mention_name: 'g' })).body;
      expect(group).toMatchObject({
        color: null,
        display_icon: null,
        default_workflow_id: null,
        num_stories: 0,
      });
      const template = (await ask('POST', '/entity-templates', { name: 't', story_contents: {} })).body;
      expect(Object.keys(template.story_contents)).not.toContain('name');
      expect(
        (await ask('GET', '/key-results/55555555-0000-4000-8000-000000000001')).body.current_target_value,
      ).toEqual({
        boolean_value: true,
      });
      expect((await ask('GET', '/epics')).body[0]).not.toHaveProperty('description');
    },
  );
  test('a list is an array, and three lists have pages', covers('spec/tracker#service-3'), async () => {
    for (const path of ['/labels', '/epics', '/members', '/groups', '/iterations', '/epics/106/stories'])
      expect([path, Array.isArray((await ask('GET', path)).body)]).toEqual([path, true]);
    await ask('POST', '/epics', { name: 'second' });
    const byPage = (path: string) => ask('GET', path).then(({ body }) => body);
    expect(await byPage('/epics/paginated?page=1&page_size=1')).toMatchObject({
      data: [{ id: 106 }],
      next: 2,
    });
    expect((await byPage('/epics/paginated?page=2&page_size=1')).data[0].name).toBe('second');
    expect(await byPage(`/groups/${GROUP}/stories?offset=2`)).toEqual([expect.objectContaining({ id: 111 })]);
    const { stories } = await byPage('/search?query=is:story&page_size=2');
    expect([stories.data.length, stories.total]).toEqual([2, 3]);
    const next = await ask('GET', `${server.mock.origin}${stories.next}`);
    expect(next.body.stories.data).toHaveLength(1);
  });
});

/** A request that sets a value, and the values that the service accepts and rejects. */
type Enum = readonly [
  request: (value: unknown) => Parameters<TrackerServer['ask']>,
  good: string[],
  bad: string[],
];
const storyType: Enum = [
  (story_type) => ['POST', '/stories', { name: 's', story_type }],
  ['feature', 'bug', 'chore'],
  ['epic', 'Bug', ''],
];
const verb: Enum = [
  (value) => ['POST', '/story-links', { subject_id: 107, object_id: 110, verb: value }],
  ['blocks', 'duplicates', 'relates to'],
  ['blocked by', 'relates-to', ''],
];
const health: Enum = [
  (status) => ['POST', '/epics/106/health', { status }],
  ['At Risk', 'No Health', 'Off Track', 'On Track'],
  ['at risk', 'Good', ''],
];
const objectiveState: Enum = [
  (state) => ['PUT', '/objectives/102', { state }],
  ['to do', 'in progress', 'done'],
  ['started', 'To Do', ''],
];
describe('closed and open sets', () => {
  test.each([
    ['story types', storyType],
    ['verbs of links', verb],
  ] as const)('%s are a closed set', covers('spec/tracker#enums-1'), async (_, [request, good, bad]) => {
    for (const value of good) expect([value, await statusOf(...request(value))]).toEqual([value, 201]);
    for (const value of bad) expect([value, await statusOf(...request(value))]).toEqual([value, 400]);
  });
  test.each([
    ['health', health, 201],
    ['states of objectives', objectiveState, 200],
  ] as const)('%s: a closed set', covers('spec/tracker#enums-4'), async (_, [request, good, bad], status) => {
    for (const value of good) expect([value, await statusOf(...request(value))]).toEqual([value, status]);
    for (const value of bad) expect([value, await statusOf(...request(value))]).toEqual([value, 400]);
  });
});

describe('states and transitions', () => {
  test('a new health record becomes the current one', covers('spec/tracker#states-4'), async () => {
    for (const status of ['On Track', 'Off Track']) {
      const { body } = await ask('POST', '/epics/106/health', { status });
      expect((await ask('GET', '/epics/106/health')).body).toMatchObject({ id: body.id, status });
      expect((await ask('GET', '/epics/106')).body.health.id).toBe(body.id);
    }
  });
  test('only an empty project can be deleted', covers('spec/tracker#states-7'), async () => {
    expect(await statusOf('DELETE', '/projects/103')).toBe(422);
    for (const id of [107, 110]) await ask('PUT', `/stories/${id}`, { project_id: null });
    expect(await statusOf('DELETE', '/projects/103')).toBe(422);
    expect(await statusOf('GET', '/projects/103')).toBe(200);
    await ask('DELETE', '/stories/111');
    expect(await statusOf('DELETE', '/projects/103')).toBe(204);
    expect(await statusOf('GET', '/projects/103')).toBe(404);
  });
  test(
    'null clears the single ids of an epic and the color key of a value',
    covers('spec/tracker#choices-10'),
    async () => {
      const { body: epic } = await ask('POST', '/epics', {
        name: 'e',
        group_ids: [GROUP],
        objective_ids: [102],
      });
      expect([epic.group_id, epic.milestone_id]).toEqual([GROUP, 102]);
      const cleared = (await ask('PUT', `/epics/${epic.id}`, { group_id: null, milestone_id: null })).body;
      expect(cleared).toMatchObject({ group_id: null, group_ids: [], milestone_id: null, objective_ids: [] });
      const { values } = (await ask('GET', `/custom-fields/${PRIORITY}`)).body;
      const changed = values.map(({ id, value }: any) => ({ id, value, color_key: null }));
      const { status, body } = await ask('PUT', `/custom-fields/${PRIORITY}`, { values: changed });
      expect([status, body.values.map((one: any) => one.color_key)]).toEqual([200, [null, null, null]]);
    },
  );
  test('null clears a single value of template contents', covers('spec/tracker#choices-6'), async () => {
    const contents = { epic_id: 106, estimate: 3, group_id: GROUP, iteration_id: 104, project_id: 103 };
    const { body } = await ask('POST', '/entity-templates', {
      name: 't',
      story_contents: { name: 'n', ...contents },
    });
    for (const key of Object.keys(contents)) {
      const changed = await ask('PUT', `/entity-templates/${body.id}`, { story_contents: { [key]: null } });
      expect([key, changed.status, key in changed.body.story_contents]).toEqual([key, 200, false]);
    }
    expect((await ask('GET', `/entity-templates/${body.id}`)).body.story_contents.name).toBe('n');
  });
});

describe('requests', () => {
  test(
    'a fixed path takes precedence over a path with an ID',
    covers('spec/tracker#every-endpoint-3'),
    async () => {
      expect(Object.keys((await ask('GET', '/epics/paginated')).body).sort()).toEqual([
        'data',
        'next',
        'total',
      ]);
      for (const path of ['/iterations/enable', '/entity-templates/disable']) {
        expect(await statusOf('PUT', path)).toBe(204);
        const read = await ask('GET', path);
        expect([read.status, read.headers.get('allow')]).toEqual([405, 'PUT']);
      }
    },
  );
  test(
    'a request has a token and a JSON body, and an upload is multipart',
    covers('spec/tracker#every-endpoint-1'),
    async () => {
      expect(await statusOf('GET', '/labels', undefined, { 'Tracker-Token': '' })).toBe(401);
      expect(await statusOf('POST', '/labels', { name: 'a' })).toBe(201);
      const xml = await ask('POST', '/labels', '<label/>', { 'Content-Type': 'application/xml' });
      expect([xml.status, Object.keys(xml.body.errors)]).toEqual([400, ['content-type']]);
      const form = new FormData();
      form.set('file0', new Blob(['x']), 'x.txt');
      expect(await statusOf('POST', '/files', form)).toBe(201);
      const json = await ask('POST', '/files', { file0: 'x' });
      expect([json.status, Object.keys(json.body.errors)]).toEqual([400, ['content-type']]);
    },
  );
  test('the version is the prefix of the path', covers('spec/tracker#versions-1'), async () => {
    const { origin } = server.mock;
    expect(await statusOf('GET', `${origin}/api/v3/labels`)).toBe(200);
    const previous = await fetch(`${origin}/api/v2/labels`, { headers: { 'Tracker-Token': TOKEN } });
    expect(previous.status).toBe(404);
  });
});

describe('errors', () => {
  test(
    'each kind of error has its status',
    covers('spec/tracker#errors-1', 'spec/tracker#every-endpoint-2'),
    async () => {
      const values = [{ id: NO_UUID, value: 'x' }];
      expect([
        await statusOf('POST', '/labels', { name: 1 }),
        await statusOf('GET', '/labels', undefined, { 'Tracker-Token': '' }),
        await statusOf('GET', '/labels', undefined, { 'Tracker-Token': 'wrong' }),
        await statusOf('GET', '/labels/987654321'),
        await statusOf('PUT', `/custom-fields/${PRIORITY}`, { values }),
        await statusOf('POST', '/epics', { name: 'e', owner_ids: [NO_UUID] }),
      ]).toEqual([400, 401, 401, 404, 409, 422]);
      const limited = await startTracker({ ratePerMinute: 1 });
      expect([
        (await limited.ask('GET', '/member')).status,
        (await limited.ask('GET', '/member')).status,
      ]).toEqual([200, 429]);
    },
  );
  test('the bodies of errors have the fields of their kind', covers('spec/tracker#errors-4'), async () => {
    const message = expect.stringMatching(/./);
    expect((await ask('POST', '/labels', { name: 1 })).body).toEqual({ message, errors: { name: message } });
    const missing = await ask('GET', '/labels', undefined, { 'Tracker-Token': '' });
    expect(missing.body).toEqual({ message, tag: 'organization2_missing' });
    expect((await ask('GET', '/labels/987654321')).body).toEqual({ message });
    expect((await ask('POST', '/epics', { name: 'e', owner_ids: [NO_UUID] })).body).toMatchObject({
      message,
    });
    const conflict = await ask('PUT', `/custom-fields/${PRIORITY}`, {
      values: [{ id: NO_UUID, value: 'x' }],
    });
    expect([conflict.status, conflict.body]).toMatchObject([409, { message, error: message }]);
    const setFeatures = (body: object) =>
      fetch(`${server.mock.origin}/__opsctl/features`, { method: 'PUT', body: JSON.stringify(body) });
    await setFeatures({ documents: false, 'group-entitlement': false });
    expect((await ask('GET', '/documents')).body).toEqual({ message, feature_tag: 'documents' });
    expect((await ask('PUT', `/groups/${GROUP}`, { name: 'x' })).body).toEqual({
      message,
      reason_tag: 'entitlement-violation',
      entitlement_tag: 'teams',
    });
  });
  test('a string that is too long is 400 and changes nothing', covers('spec/tracker#errors-3'), async () => {
    const refused = await ask('PUT', '/labels/105', { name: 'x'.repeat(129) });
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['name']]);
    expect((await ask('GET', '/labels/105')).body.name).toBe('onboarding');
  });
});

const sprint = { start_date: '2026-03-02', end_date: '2026-03-15' };
describe('limits of texts', () => {
  test.each<[string, string, object, string, number]>([
    ['POST', '/epics', { name: 'e' }, 'description', 100_000],
    ['POST', '/epics/106/comments', {}, 'text', 100_000],
    ['POST', '/epics', {}, 'name', 256],
    ['POST', '/iterations', sprint, 'name', 256],
    ['POST', '/objectives', {}, 'name', 256],
    ['POST', '/labels', {}, 'name', 128],
    ['POST', '/categories', {}, 'name', 128],
    ['POST', '/projects', { team_id: 1 }, 'name', 128],
    ['POST', '/entity-templates', { story_contents: {} }, 'name', 128],
    ['POST', '/groups', { mention_name: 'g' }, 'name', 63],
    ['PUT', `/custom-fields/${PRIORITY}`, {}, 'name', 63],
    ['POST', '/labels', { name: 'l' }, 'external_id', 128],
    ['PUT', '/key-results/55555555-0000-4000-8000-000000000001', {}, 'name', 1024],
    ['POST', '/documents', { content: 'c' }, 'title', 256],
  ])(
    '%s %s %j: %s has at most %d characters',
    covers('spec/tracker#limits-3'),
    async (method, path, body, key, max) => {
      expect((await ask(method, path, { ...body, [key]: 'x'.repeat(max) })).status).toBeLessThan(300);
      const refused = await ask(method, path, { ...body, [key]: 'x'.repeat(max + 1) });
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, [key]]);
    },
  );
  test('the name of a file has at most 1,024 characters', covers('spec/tracker#limits-3'), async () => {
    const send = (length: number) => {
      const form = new FormData();
      form.set('file0', new Blob(['x']), 'x'.repeat(length));
      return statusOf('POST', '/files', form);
    };
    expect([await send(1024), await send(1025)]).toEqual([201, 400]);
  });
  test('a URL has at most 2,048 characters', covers('spec/tracker#limits-3'), async () => {
    const send = (length: number) =>
      statusOf('POST', '/linked-files', {
        name: 'l',
        type: 'url',
        url: 'https://x.example/'.padEnd(length, 'x'),
      });
    expect([await send(2048), await send(2049)]).toEqual([201, 400]);
  });
});

describe('stories', () => {
  test(
    'a story with its comments, tasks, links and workflow is created, read, updated, searched and deleted',
    covers('spec/tracker#stories-1'),
    async () => {
      const made = await ask('POST', '/stories', { name: 'needle' });
      const at = `/stories/${made.body.id}`;
      expect([made.status, (await ask('GET', at)).body.name]).toEqual([201, 'needle']);
      expect((await ask('PUT', at, { name: 'needle two' })).body.name).toBe('needle two');
      expect((await ask('GET', '/search/stories?query=needle')).body.data).toMatchObject([
        { id: made.body.id },
      ]);
      expect((await ask('POST', '/stories/search', { story_type: 'bug' })).body).toMatchObject([{ id: 110 }]);
      const comment = await ask('POST', `${at}/comments`, { text: 'c' });
      const task = await ask('POST', `${at}/tasks`, { description: 't' });
      const link = await ask('POST', '/story-links', {
        subject_id: made.body.id,
        object_id: 107,
        verb: 'blocks',
      });
      expect([comment.status, task.status, link.status]).toEqual([201, 201, 201]);
      expect((await ask('GET', at)).body).toMatchObject({
        comments: [{ id: comment.body.id }],
        tasks: [{ id: task.body.id }],
        story_links: [{ id: link.body.id }],
      });
      expect((await ask('GET', '/workflows')).body[0].states.map((one: any) => one.id)).toContain(
        made.body.workflow_state_id,
      );
      expect(await statusOf('DELETE', at)).toBe(204);
      expect(await statusOf('GET', at)).toBe(404);
    },
  );
  test.each<[string, unknown]>([
    ['epic_id', 987654321],
    ['iteration_id', 987654321],
    ['project_id', 987654321],
    ['workflow_state_id', 987654321],
    ['group_id', NO_UUID],
    ['owner_ids', [NO_UUID]],
    ['follower_ids', [NO_UUID]],
    ['requested_by_id', NO_UUID],
    ['file_ids', [987654321]],
    ['linked_file_ids', [987654321]],
    ['custom_fields', [{ field_id: NO_UUID, value_id: NO_UUID }]],
  ])('a missing record in %s of a story is 422', covers('spec/tracker#stories-2'), async (key, value) => {
    expect(await statusOf('POST', '/stories', { name: 's', [key]: value })).toBe(422);
    expect(await statusOf('PUT', '/stories/107', { [key]: value })).toBe(422);
  });
  test('a link joins two different stories', covers('spec/tracker#stories-2'), async () => {
    const link = (subject_id: number, object_id: number) =>
      statusOf('POST', '/story-links', { subject_id, object_id, verb: 'blocks' });
    expect([await link(107, 107), await link(107, 987654321), await link(107, 110)]).toEqual([422, 422, 201]);
  });
  test(
    'the name, external ID and tasks of a story have limits',
    covers('spec/tracker#stories-3'),
    async () => {
      const story = (body: object) => statusOf('POST', '/stories', { name: 's', ...body });
      const task = (length: number) =>
        statusOf('POST', '/stories/107/tasks', { description: 'x'.repeat(length) });
      expect([await story({ name: 'x'.repeat(512) }), await story({ name: 'x'.repeat(513) })]).toEqual([
        201, 400,
      ]);
      expect([
        await story({ external_id: 'x'.repeat(1024) }),
        await story({ external_id: 'x'.repeat(1025) }),
      ]).toEqual([201, 400]);
      expect([await task(0), await task(1), await task(2048), await task(2049)]).toEqual([
        400, 201, 201, 400,
      ]);
    },
  );
});

test(
  'operators of a search are joined by AND; ! inverts, quotes join words, and dates have ranges',
  covers('spec/tracker#search-4'),
  async () => {
    const found = async (query: string): Promise<number[]> =>
      (await ask('GET', `/search/stories?query=${encodeURIComponent(query)}`)).body.data
        .map(({ id }: { readonly id: number }) => id)
        .sort();
    expect(await found('is:started')).toEqual([107]);
    expect(await found('type:feature is:started')).toEqual([107]);
    expect(await found('type:bug is:started')).toEqual([]);
    expect(await found('!is:started')).toEqual([110, 111]);
    expect([
      await found('form sign-up'),
      await found('"form sign-up"'),
      await found('"sign-up form"'),
    ]).toEqual([[107], [], [107]]);
    expect(await found('created:2026-03-01..2026-03-31')).toEqual([107, 110, 111]);
    expect(await found('created:2026-04-01..2026-04-30')).toEqual([]);
    expect([await found('created:*..2026-03-04'), await found('created:2026-03-05..*')]).toEqual([
      [],
      [107, 110, 111],
    ]);
  },
);

test('members have one of four states and a role', covers('spec/tracker#enums-2'), async () => {
  const members = (await ask('GET', '/members')).body;
  expect(members.map(({ state, role, id }: any) => [id, state, role]).slice(0, 2)).toEqual([
    [OWNER, 'full', 'owner'],
    [BEN, 'full', 'member'],
  ]);
  for (const { state } of members) expect(['full', 'partial', 'disabled', 'imported']).toContain(state);
});

test('a repository has one of three types', covers('spec/tracker#enums-3'), async () => {
  const types = (await ask('GET', '/repositories')).body.map(({ type }: { readonly type: string }) => type);
  expect(types.length).toBeGreaterThan(0);
  for (const type of types) expect(['github', 'gitlab', 'bitbucket']).toContain(type);
});

test(
  'times are RFC 3339 in UTC, a time without a zone is in UTC, and dates are days',
  covers('spec/tracker#values-2'),
  async () => {
    const deadline = async (sent: unknown) => {
      const { status, body } = await ask('POST', '/epics', { name: 'e', deadline: sent });
      return status === 201 ? body.deadline : status;
    };
    expect(await deadline('2026-05-01T10:00:00Z')).toBe('2026-05-01T10:00:00Z');
    expect(await deadline('2026-05-01T10:00:00+02:00')).toBe('2026-05-01T08:00:00Z');
    expect(await deadline('2026-05-01T10:00:00')).toBe('2026-05-01T10:00:00Z');
    for (const wrong of ['2026-05-01', '10:00', '1 May 2026', 1777629600])
      expect([wrong, await deadline(wrong)]).toEqual([wrong, 400]);
    expect((await ask('GET', '/iterations/104')).body).toMatchObject({
      start_date: '2026-03-03',
      end_date: '2026-03-16',
    });
  },
);
