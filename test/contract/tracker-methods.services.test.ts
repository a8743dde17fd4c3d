/** The methods of each kind of record: one test for each statement of `docs/spec/tracker.md` that lists them. */
import { beforeEach, describe, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { type Mark, covers, markTest } from '../support/covers.ts';

const OWNER = '11111111-0000-4000-8000-000000000001';
const BEN = '11111111-0000-4000-8000-000000000002';
const GROUP = '66666666-0000-4000-8000-000000000001';
const PRIORITY = '33333333-0000-4000-8000-000000000001';
const TEMPLATE = '77777777-0000-4000-8000-000000000001';
const NO_UUID = 'ffffffff-0000-4000-8000-000000000000';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
const idsOf = async (path: string): Promise<unknown[]> =>
  (await ask('GET', path)).body.map(({ id }: { readonly id: unknown }) => id);
/** Sends a request to a switch of the workspace. */
const setFeature = (feature: string, isOn: boolean) =>
  fetch(`${server.mock.origin}/__opsctl/features`, {
    method: 'PUT',
    body: JSON.stringify({ [feature]: isOn }),
  });
const upload = (...parts: readonly (readonly [string, string])[]): FormData => {
  const form = new FormData();
  for (const [part, name] of parts)
    form.set(part, new Blob([`bytes of ${name}`], { type: 'text/plain' }), name);
  return form;
};
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-05T10:00:00Z'));
});

/** A kind of record: its path, a body that creates one, and a change with the value that the record then has. */
type Kind = readonly [Mark, path: string, body: object, change: object];
const kinds: readonly Kind[] = [
  ['spec/tracker#categories-1', '/categories', { name: 'Quality' }, { name: 'Reliability' }],
  ['spec/tracker#epics-1', '/epics', { name: 'Reports' }, { name: 'Charts' }],
  [
    'spec/tracker#iterations-1',
    '/iterations',
    { name: 'Sprint 2', start_date: '2026-03-02', end_date: '2026-03-15' },
    { name: 'Sprint 3' },
  ],
  ['spec/tracker#labels-1', '/labels', { name: 'bug' }, { name: 'defect' }],
  ['spec/tracker#objectives-1', '/objectives', { name: 'Fewer refunds' }, { name: 'No refunds' }],
  ['spec/tracker#projects-1', '/projects', { name: 'App', team_id: 1 }, { name: 'Mobile app' }],
  [
    'spec/tracker#entity-templates-1',
    '/entity-templates',
    { name: 'Chore', story_contents: { name: 'c' } },
    { name: 'Task' },
  ],
  [
    'spec/tracker#linked-files-1',
    '/linked-files',
    { name: 'Plan', type: 'url', url: 'https://files.example/plan.pdf' },
    { name: 'New plan' },
  ],
  ['spec/tracker#epic-comments-1', '/epics/106/comments', { text: 'first' }, { text: 'changed' }],
];

describe('the methods of a kind of record', () => {
  test.each(kinds)('%s: create, list, read, update and delete', async (mark, path, body, change) => {
    markTest(mark, 'spec/tracker#service-1');
    const made = await ask('POST', path, body);
    expect([made.status, made.body]).toMatchObject([201, body]);
    expect(made.headers.get('content-type')).toMatch(/^application\/json/);
    const one = `${path}/${made.body.id}`;
    expect(await idsOf(path)).toContain(made.body.id);
    expect([(await ask('GET', one)).status, (await ask('GET', one)).body.id]).toEqual([200, made.body.id]);
    const changed = await ask('PUT', one, change);
    expect([changed.status, changed.body]).toMatchObject([200, change]);
    expect((await ask('GET', one)).body).toMatchObject(change);
    const deleted = await ask('DELETE', one);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await ask('GET', one)).status).toBe(404);
    expect(await idsOf(path)).not.toContain(made.body.id);
  });
  test.each([
    ['/groups', 'DELETE', `/groups/${GROUP}`, 'GET, PUT'],
    ['/custom-fields', 'POST', '/custom-fields', 'GET'],
    ['/key-results', 'DELETE', '/key-results/55555555-0000-4000-8000-000000000001', 'GET, PUT'],
    ['/members', 'POST', '/members', 'GET'],
    ['/repositories', 'PUT', '/repositories/31', 'GET'],
    ['/epic-workflow', 'PUT', '/epic-workflow', 'GET'],
  ])('%s has no method %s', async (_, method, path, allowed) => {
    const answer = await ask(method, path, {});
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
  });
});

describe('categories, labels, projects and objectives', () => {
  test(
    'the milestones and objectives of a category have the form of a milestone',
    covers('spec/tracker#categories-1'),
    async () => {
      const milestones = await ask('GET', '/categories/101/milestones');
      const objectives = await ask('GET', '/categories/101/objectives');
      expect([milestones.status, objectives.status]).toEqual([200, 200]);
      expect(milestones.body).toEqual([expect.objectContaining({ id: 102, name: 'Faster sign-up' })]);
      expect(objectives.body).toEqual(milestones.body);
      expect(milestones.body[0]).toEqual((await ask('GET', '/milestones/102')).body);
    },
  );
  test('a label lists its epics and its stories', covers('spec/tracker#labels-1'), async () => {
    const { body: bare } = await ask('POST', '/labels', { name: 'unused' });
    expect([await idsOf('/labels/105/epics'), await idsOf('/labels/105/stories')]).toEqual([
      [106],
      [107, 110, 111],
    ]);
    expect([await idsOf(`/labels/${bare.id}/epics`), await idsOf(`/labels/${bare.id}/stories`)]).toEqual([
      [],
      [],
    ]);
  });
  test('a project lists its stories', covers('spec/tracker#projects-1'), async () => {
    await ask('PUT', '/stories/110', { project_id: null });
    expect(await idsOf('/projects/103/stories')).toEqual([107, 111]);
  });
  test(
    'a project accepts an abbreviation of 63 characters and rejects one of 64',
    covers('spec/tracker#projects-1'),
    async () => {
      const long = 'a'.repeat(63);
      const make = (abbreviation: string) =>
        ask('POST', '/projects', { name: 'App', team_id: 1, abbreviation });
      expect((await make(long)).body.abbreviation).toBe(long);
      const refused = await make(`${long}a`);
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['abbreviation']]);
    },
  );
});

describe('epics', () => {
  test(
    'an epic lists its stories, and a list of epics has pages',
    covers('spec/tracker#epics-1'),
    async () => {
      expect(await idsOf('/epics/106/stories')).toEqual([107, 110, 111]);
      expect((await ask('GET', '/epics/paginated?page=1&page_size=1')).body).toMatchObject({
        data: [{ id: 106 }],
        total: 1,
        next: null,
      });
    },
  );
  test('an epic is unlinked from the planning tool', covers('spec/tracker#epics-1'), async () => {
    expect((await ask('GET', '/epics/106')).body.planningtool_id).toBe(
      'aaaaaaaa-0000-4000-8000-000000000001',
    );
    expect((await ask('POST', '/epics/106/unlink-planningtool')).status).toBe(204);
    expect((await ask('GET', '/epics/106')).body.planningtool_id).toBeNull();
  });
  test(
    'the epic workflow has its states in order and the default state',
    covers('spec/tracker#epic-workflow-1'),
    async () => {
      const { status, body } = await ask('GET', '/epic-workflow');
      expect(status).toBe(200);
      expect(body.epic_states.map(({ id, name }: any) => [id, name])).toEqual([
        [21, 'To Do'],
        [22, 'In Progress'],
        [23, 'Done'],
      ]);
      expect(body.default_epic_state_id).toBe(21);
      expect((await ask('POST', '/epics', { name: 'e' })).body.epic_state_id).toBe(21);
    },
  );
  test(
    'the author of a comment and of a reply defaults to the owner of the token',
    covers('spec/tracker#epic-comments-1'),
    async () => {
      const { body: top } = await ask('POST', '/epics/106/comments', { text: 'top' });
      const reply = await ask('POST', `/epics/106/comments/${top.id}`, { text: 'reply' });
      expect([top.author_id, reply.status, reply.body.author_id]).toEqual([OWNER, 201, OWNER]);
      expect((await ask('GET', `/epics/106/comments/${top.id}`)).body.comments).toEqual([
        expect.objectContaining({ id: reply.body.id, text: 'reply' }),
      ]);
      const other = await ask('POST', '/epics/106/comments', { text: 'x', author_id: BEN });
      expect(other.body.author_id).toBe(BEN);
    },
  );
  test(
    'a comment of a missing epic, a missing comment and a comment of another epic are 404',
    covers('spec/tracker#epic-comments-2'),
    async () => {
      const { body: comment } = await ask('POST', '/epics/106/comments', { text: 'here' });
      const { body: other } = await ask('POST', '/epics', { name: 'other' });
      const paths = [
        `/epics/987654321/comments/${comment.id}`,
        '/epics/106/comments/987654321',
        `/epics/${other.id}/comments/${comment.id}`,
      ];
      for (const path of paths)
        for (const [method, body] of [
          ['GET'],
          ['PUT', { text: 'x' }],
          ['POST', { text: 'x' }],
          ['DELETE'],
        ] as const)
          expect([path, method, (await ask(method, path, body)).status]).toEqual([path, method, 404]);
      for (const [method, body] of [['GET'], ['POST', { text: 'x' }]] as const)
        expect((await ask(method, '/epics/987654321/comments', body)).status).toBe(404);
      expect((await ask('GET', `/epics/106/comments/${comment.id}`)).body.text).toBe('here');
    },
  );
  test(
    'an epic has a current health record and a history, and a record can be changed',
    covers('spec/tracker#health-1'),
    async () => {
      const made = await ask('POST', '/epics/106/health', { status: 'At Risk', text: 'late' });
      expect([made.status, made.body.status, made.body.epic_id]).toEqual([201, 'At Risk', 106]);
      expect((await ask('GET', '/epics/106/health')).body.id).toBe(made.body.id);
      expect(await idsOf('/epics/106/health-history')).toEqual([made.body.id]);
      const changed = await ask('PUT', `/health/${made.body.id}`, { status: 'On Track', text: 'fine' });
      expect([changed.status, changed.body]).toEqual([
        200,
        expect.objectContaining({ status: 'On Track', text: 'fine' }),
      ]);
      expect((await ask('GET', '/epics/106/health')).body).toEqual(changed.body);
    },
  );
});

describe('iterations and story templates', () => {
  test('an iteration lists its stories', covers('spec/tracker#iterations-1'), async () => {
    await ask('PUT', '/stories/110', { iteration_id: null });
    expect(await idsOf('/iterations/104/stories')).toEqual([107, 111]);
  });
  test.each([
    [
      '/iterations',
      { name: 'i', start_date: '2026-03-02', end_date: '2026-03-15' },
      '/iterations/104',
      'spec/tracker#iterations-1',
    ],
    [
      '/entity-templates',
      { name: 't', story_contents: {} },
      `/entity-templates/${TEMPLATE}`,
      'spec/tracker#entity-templates-1',
    ],
  ] as const)(
    '%s can be disabled and enabled: only its writes depend on it',
    async (path, body, one, mark) => {
      markTest(mark, 'spec/tracker#service-2', 'spec/tracker#states-6', 'spec/tracker#choices-3');
      const { body: gone } = await ask('POST', path, body);
      expect((await ask('PUT', `${path}/disable`)).status).toBe(204);
      const writes = async () => [
        (await ask('POST', path, body)).status,
        (await ask('PUT', one, { name: 'x' })).status,
        (await ask('DELETE', `${path}/${gone.id}`)).status,
      ];
      expect(await writes()).toEqual([422, 422, 422]);
      expect([(await ask('GET', path)).status, (await ask('GET', one)).status]).toEqual([200, 200]);
      expect((await ask('PUT', `${path}/enable`)).status).toBe(204);
      expect(await writes()).toEqual([201, 200, 204]);
    },
  );
  test.each([
    ['documents', 'POST', '/documents', { title: 't', content: 'c' }],
    ['group-entitlement', 'POST', '/groups', { name: 'g', mention_name: 'g' }],
    ['objective-entitlement', 'POST', '/objectives', { name: 'o' }],
  ])(
    'the disabled feature %s is 403 and not 422',
    covers('spec/tracker#choices-3'),
    async (feature, method, path, body) => {
      await ask('GET', '/labels');
      await setFeature(feature, false);
      expect((await ask(method, path, body)).status).toBe(403);
      await setFeature(feature, true);
      expect((await ask(method, path, body)).status).toBe(201);
    },
  );
  test(
    'the dates of an iteration are days, and the end is not before the start',
    covers('spec/tracker#iterations-2'),
    async () => {
      const make = (start_date: string, end_date: string) =>
        ask('POST', '/iterations', { name: 'i', start_date, end_date });
      expect((await make('2026-03-02', '2026-03-02')).body).toMatchObject({
        start_date: '2026-03-02',
        end_date: '2026-03-02',
      });
      expect((await make('2026-03-02', '2026-03-01')).status).toBe(422);
      for (const day of ['2026-03-02T00:00:00Z', '2026-3-2', '2026-02-30', '']) {
        const refused = await make(day, '2026-03-15');
        expect([day, refused.status, Object.keys(refused.body.errors)]).toEqual([day, 400, ['start_date']]);
      }
    },
  );
  test(
    'an update of a template has the form of its create: it changes the given values, and null clears one',
    covers('spec/tracker#entity-templates-2'),
    async () => {
      const contents = { name: 'n', description: 'd', estimate: 3, story_type: 'bug', owner_ids: [BEN] };
      const { body } = await ask('POST', '/entity-templates', { name: 't', story_contents: contents });
      const at = `/entity-templates/${body.id}`;
      const change = { story_contents: { description: 'new', estimate: null } };
      const changed = (await ask('PUT', at, change)).body.story_contents;
      expect(changed).toMatchObject({ name: 'n', description: 'new', story_type: 'bug', owner_ids: [BEN] });
      expect(changed).not.toHaveProperty('estimate');
      for (const story_contents of [{ nope: 1 }, { estimate: '3' }]) {
        const made = await ask('POST', '/entity-templates', { name: 't', story_contents });
        const updated = await ask('PUT', at, { story_contents });
        expect([made.status, updated.status]).toEqual([400, 400]);
        expect(updated.body.errors).toEqual(made.body.errors);
      }
    },
  );
});

describe('custom fields, documents and files', () => {
  test(
    'a custom field is listed, read, updated and deleted, and never created',
    covers('spec/tracker#custom-fields-1'),
    async () => {
      const at = `/custom-fields/${PRIORITY}`;
      expect(await idsOf('/custom-fields')).toContain(PRIORITY);
      expect((await ask('GET', at)).body).toMatchObject({ id: PRIORITY, name: 'Priority' });
      expect((await ask('PUT', at, { name: 'Urgency' })).body.name).toBe('Urgency');
      expect((await ask('GET', at)).body.name).toBe('Urgency');
      expect((await ask('POST', '/custom-fields', { name: 'Size' })).status).toBe(405);
      expect((await ask('DELETE', at)).status).toBe(204);
      expect((await ask('GET', at)).status).toBe(404);
    },
  );
  test(
    'a document has a title and a content, and 403 DisabledFeatureError if documents are disabled',
    covers('spec/tracker#documents-1'),
    async () => {
      const made = await ask('POST', '/documents', { title: 'Notes', content: '# Notes' });
      expect([made.status, made.body.title]).toEqual([201, 'Notes']);
      expect(await idsOf('/documents')).toContain(made.body.id);
      for (const [missing, body] of [
        ['content', { title: 'Notes' }],
        ['title', { content: '# Notes' }],
      ] as const) {
        const refused = await ask('POST', '/documents', body);
        expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, [missing]]);
      }
      await setFeature('documents', false);
      for (const answer of [
        await ask('GET', '/documents'),
        await ask('POST', '/documents', { title: 't', content: 'c' }),
      ])
        expect([answer.status, answer.body.feature_tag]).toEqual([403, 'documents']);
    },
  );
  test('the content of a new document is Markdown', covers('spec/tracker#documents-2'), async () => {
    const { body } = await ask('POST', '/documents', { title: 'Notes', content: 'One\n\nTwo' });
    const read = (await ask('GET', `/documents/${body.id}?content_format=html`)).body;
    expect(read).toMatchObject({ content_markdown: 'One\n\nTwo' });
    expect(read.content_html).toBe('<p>One</p>\n<p>Two</p>');
  });
  test(
    'a file is uploaded, listed, read, updated and deleted, and its url has its bytes',
    covers('spec/tracker#files-1', 'spec/tracker#service-1'),
    async () => {
      const made = await ask('POST', '/files', upload(['file0', 'a.txt']));
      const [file] = made.body;
      expect([made.status, file.name]).toEqual([201, 'a.txt']);
      expect(await idsOf('/files')).toEqual([file.id]);
      expect((await ask('GET', `/files/${file.id}`)).body.name).toBe('a.txt');
      const bytes = await fetch(file.url, { headers: { 'Tracker-Token': TOKEN } });
      expect([bytes.status, await bytes.text()]).toEqual([200, 'bytes of a.txt']);
      expect((await ask('PUT', `/files/${file.id}`, { description: 'd' })).body.description).toBe('d');
      expect((await ask('DELETE', `/files/${file.id}`)).status).toBe(204);
      expect((await ask('GET', `/files/${file.id}`)).status).toBe(404);
      expect((await fetch(file.url, { headers: { 'Tracker-Token': TOKEN } })).status).toBe(404);
    },
  );
  test.each([
    ['storage_a', 201],
    ['storage_b', 201],
    ['storage_c', 201],
    ['storage_d', 201],
    ['url', 201],
    ['storage_e', 400],
  ])('a linked file of the type %s is %d', covers('spec/tracker#linked-files-1'), async (type, status) => {
    const answer = await ask('POST', '/linked-files', { name: 'l', type, url: 'https://x.example' });
    expect(answer.status).toBe(status);
    if (status === 201) expect(answer.body.type).toBe(type);
  });
});

describe('groups, key results, members and repositories', () => {
  test(
    'a group is listed, created, read and updated, and lists its stories',
    covers('spec/tracker#groups-1'),
    async () => {
      const made = await ask('POST', '/groups', { name: 'Design', mention_name: 'design' });
      expect([made.status, made.body.name]).toEqual([201, 'Design']);
      const at = `/groups/${made.body.id}`;
      expect(await idsOf('/groups')).toEqual([GROUP, made.body.id]);
      expect((await ask('PUT', at, { description: 'd' })).body.description).toBe('d');
      expect((await ask('GET', at)).body).toMatchObject({ name: 'Design', description: 'd' });
      expect([await idsOf(`/groups/${GROUP}/stories`), await idsOf(`${at}/stories`)]).toEqual([
        [107, 110, 111],
        [],
      ]);
    },
  );
  test(
    'the stories of a group have pages by limit and offset, without a total',
    covers('spec/tracker#groups-2', 'spec/tracker#service-3'),
    async () => {
      const at = `/groups/${GROUP}/stories`;
      const stories = Array.from({ length: 250 }, () => ({ name: 's', group_id: GROUP }));
      for (let i = 0; i < 4; i++) await ask('POST', '/stories/bulk', { stories });
      const all = await ask('GET', at);
      expect([Array.isArray(all.body), all.body.length]).toEqual([true, 1000]);
      expect(await idsOf(`${at}?offset=0`)).toEqual(await idsOf(at));
      expect(await idsOf(`${at}?limit=1000`)).toHaveLength(1000);
      expect(await idsOf(`${at}?offset=1000`)).toHaveLength(3);
      expect(await idsOf(`${at}?limit=2&offset=1`)).toEqual([110, 111]);
      expect((await ask('GET', `${at}?limit=1001`)).status).toBe(400);
      expect([...all.headers.keys()].filter((name) => /total|count/.test(name))).toEqual([]);
    },
  );
  test(
    'the archived property of a group accepts null and a boolean; its color keys are a closed set',
    covers('spec/tracker#groups-3'),
    async () => {
      const at = `/groups/${GROUP}`;
      for (const [archived, expected] of [
        [true, true],
        [null, false],
        [true, true],
        [false, false],
      ])
        expect((await ask('PUT', at, { archived })).body.archived).toBe(expected);
      for (const archived of ['true', 1]) expect((await ask('PUT', at, { archived })).status).toBe(400);
      expect((await ask('PUT', at, { color_key: 'midnight-blue' })).body.color_key).toBe('midnight-blue');
      for (const color_key of ['no such color', 'Blue', ''])
        expect((await ask('PUT', at, { color_key })).status).toBe(400);
    },
  );
  test(
    'a plan without groups rejects their writes with 403 UnusableEntitlementError',
    covers('spec/tracker#groups-4'),
    async () => {
      await ask('GET', '/groups');
      await setFeature('group-entitlement', false);
      for (const answer of [
        await ask('POST', '/groups', { name: 'a', mention_name: 'a' }),
        await ask('PUT', `/groups/${GROUP}`, { name: 'b' }),
      ])
        expect([answer.status, answer.body.reason_tag, answer.body.entitlement_tag]).toEqual([
          403,
          'entitlement-violation',
          'teams',
        ]);
    },
  );
  test('a key result is read and updated', covers('spec/tracker#key-results-1'), async () => {
    const at = '/key-results/55555555-0000-4000-8000-000000000002';
    expect((await ask('GET', at)).body).toMatchObject({ name: 'Sign-ups a week', type: 'numeric' });
    const changed = await ask('PUT', at, { name: 'Orders', observed_value: { numeric_value: '7' } });
    expect([changed.status, changed.body.name]).toEqual([200, 'Orders']);
    expect((await ask('GET', at)).body.current_observed_value.numeric_value).toBe('7');
    expect((await ask('GET', `/key-results/${NO_UUID}`)).status).toBe(404);
  });
  test(
    'members are listed and read, and one of them is the owner of the token',
    covers('spec/tracker#members-1'),
    async () => {
      const cleo = '11111111-0000-4000-8000-000000000003';
      expect(await idsOf('/members')).toEqual([OWNER, BEN, cleo]);
      expect(await idsOf('/members?disabled=false')).toEqual([OWNER, BEN]);
      expect(await idsOf('/members?disabled=true')).toEqual([cleo]);
      expect((await ask('GET', `/members/${BEN}`)).body.profile.mention_name).toBe('ben');
      expect((await ask('GET', '/member')).body.id).toBe(OWNER);
    },
  );
  test('repositories are listed and read', covers('spec/tracker#repositories-1'), async () => {
    expect(await idsOf('/repositories')).toEqual([31]);
    expect((await ask('GET', '/repositories/31')).body).toMatchObject({ id: 31, full_name: 'acme/web' });
    expect((await ask('GET', '/repositories/987654321')).status).toBe(404);
  });
});
