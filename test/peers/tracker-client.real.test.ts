import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';

/** A public third-party client of this API. Only its base URL, its header name and one path segment are configured. */
const clientFor = (origin: string): any => {
  const { ShortcutClient } = peers()('@shortcut/client');
  const client = new ShortcutClient(TOKEN, { baseURL: origin, headers: { 'Tracker-Token': TOKEN } });
  client.instance.interceptors.request.use((config: { url: string; method: string }) => {
    config.url = config.url.replace(/unlink-(?!planningtool|from)\w+/, 'unlink-planningtool');
    return config;
  });
  return client;
};

let server: TrackerServer;
let client: any;
/** Method and path of every request to which the mock sent a success response. */
const answered = new Set<string>();
beforeAll(() => {
  peers();
});
beforeEach(async () => {
  server = await startTracker();
  client = clientFor(server.mock.origin);
  client.instance.interceptors.response.use((response: any) => {
    answered.add(`${response.config.method.toUpperCase()} ${response.config.url.replace('/api/v3', '')}`);
    return response;
  });
});

const GROUP = '66666666-0000-4000-8000-000000000001';
const FIELD = '33333333-0000-4000-8000-000000000001';
const BEN = '11111111-0000-4000-8000-000000000002';
const data = async (call: Promise<{ data: any }>): Promise<any> => (await call).data;
const status = async (call: Promise<{ status: number }>): Promise<number> => (await call).status;

describe('the public client', () => {
  test('categories', async () => {
    const made = await data(client.createCategory({ name: 'Quality', color: '#00ff00' }));
    expect(await data(client.getCategory(made.id))).toEqual(made);
    expect((await data(client.updateCategory(made.id, { archived: true }))).archived).toBe(true);
    expect(await data(client.listCategories())).toHaveLength(2);
    expect(await data(client.listCategoryMilestones(101))).toHaveLength(1);
    expect(await data(client.listCategoryObjectives(101))).toHaveLength(1);
    expect(await status(client.deleteCategory(made.id))).toBe(204);
  });
  test('custom fields', async () => {
    const field = await data(client.getCustomField(FIELD));
    const values = [...field.values].reverse().map(({ id }: { id: string }) => ({ id }));
    expect((await data(client.updateCustomField(FIELD, { values }))).values[0].value).toBe('High');
    expect(await data(client.listCustomFields())).toHaveLength(2);
    expect(await status(client.deleteCustomField(FIELD))).toBe(204);
  });
  test('documents and templates', async () => {
    const doc = await data(client.createDoc({ title: 't', content: 'c' }));
    expect(await data(client.listDocs())).toContainEqual(doc);
    const made = await data(
      client.createEntityTemplate({ name: 't', story_contents: { name: 'n', story_type: 'bug' } }),
    );
    expect(await data(client.getEntityTemplate(made.id))).toEqual(made);
    expect((await data(client.updateEntityTemplate(made.id, { name: 'u' }))).name).toBe('u');
    expect(await data(client.listEntityTemplates())).toHaveLength(2);
    expect(await status(client.disableStoryTemplates())).toBe(204);
    expect(await status(client.enableStoryTemplates())).toBe(204);
    expect(await status(client.deleteEntityTemplate(made.id))).toBe(204);
  });
  test('epics', async () => {
    const made = await data(
      client.createEpic({ name: 'e', labels: [{ name: 'new' }], owner_ids: [BEN], deadline: null }),
    );
    expect(await data(client.getEpic(made.id))).toEqual(made);
    expect((await data(client.updateEpic(made.id, { epic_state_id: 23, deadline: null }))).completed).toBe(
      true,
    );
    expect(await data(client.listEpics({ includes_description: true }))).toHaveLength(2);
    expect(await data(client.listEpicsPaginated({ page: 1, page_size: 1 }))).toMatchObject({
      next: 2,
      total: 2,
    });
    expect((await data(client.getEpicWorkflow())).epic_states).toHaveLength(3);
    expect(await data(client.listEpicStories(106, { includes_description: true }))).toHaveLength(3);
    expect(await status(client.unlinkProductboardFromEpic(106))).toBe(204);
    expect(await status(client.deleteEpic(made.id))).toBe(204);
  });
  test('comments and health of an epic', async () => {
    const comment = await data(client.createEpicComment(106, { text: 'a' }));
    const reply = await data(client.createEpicCommentComment(106, comment.id, { text: 'b' }));
    expect((await data(client.getEpicComment(106, comment.id))).comments).toEqual([reply]);
    expect((await data(client.updateEpicComment(106, reply.id, { text: 'c' }))).text).toBe('c');
    expect(await data(client.listEpicComments(106))).toHaveLength(1);
    expect(await status(client.deleteEpicComment(106, comment.id))).toBe(204);
    const health = await data(client.createEpicHealth(106, { status: 'At Risk' }));
    expect((await data(client.updateHealth(health.id, { status: 'On Track' }))).status).toBe('On Track');
    expect((await data(client.getEpicHealth(106))).id).toBe(health.id);
    expect(await data(client.listEpicHealths(106))).toHaveLength(1);
  });
  test('files, linked files and external links', async () => {
    const [file] = await data(
      client.uploadFiles({ file0: new File(['\u0000\u0001ÿ'], 'b.bin'), story_id: 107 }),
    );
    expect(file).toMatchObject({ name: 'b.bin', size: 4, story_ids: [107] });
    expect(await data(client.getFile(file.id))).toEqual(file);
    expect((await data(client.updateFile(file.id, { name: 'c.bin' }))).name).toBe('c.bin');
    expect(await data(client.listFiles())).toHaveLength(1);
    expect(await status(client.deleteFile(file.id))).toBe(204);
    const linked = await data(
      client.createLinkedFile({ name: 'l', type: 'url', url: 'https://x.example/a' }),
    );
    expect(await data(client.getLinkedFile(linked.id))).toEqual(linked);
    expect((await data(client.updateLinkedFile(linked.id, { name: 'm' }))).name).toBe('m');
    expect(await data(client.listLinkedFiles())).toHaveLength(1);
    expect(await status(client.deleteLinkedFile(linked.id))).toBe(204);
    expect(
      await data(client.getExternalLinkStories({ external_link: 'https://docs.example.com/sign-up' })),
    ).toHaveLength(2);
  });
  test('groups, members and webhooks', async () => {
    const made = await data(client.createGroup({ name: 'g', mention_name: 'g', member_ids: [BEN] }));
    expect(await data(client.getGroup(made.id))).toEqual(made);
    expect((await data(client.updateGroup(made.id, { archived: true, color: null }))).archived).toBe(true);
    expect(await data(client.listGroups())).toHaveLength(2);
    expect(await data(client.listGroupStories(GROUP, { limit: 2, offset: 1 }))).toHaveLength(2);
    const me = await data(client.getCurrentMemberInfo());
    expect((await data(client.getMember(me.id))).profile.mention_name).toBe(me.mention_name);
    expect(await data(client.listMembers({ disabled: true }))).toHaveLength(1);
    const hook = await client.createGenericIntegration({
      webhook_url: 'http://127.0.0.1:9/none',
      secret: 's',
    });
    const id = hook.headers.location.split('/').pop();
    expect(await data(client.getGenericIntegration(id))).toMatchObject({ has_secret: true });
    expect(await status(client.deleteGenericIntegration(id))).toBe(204);
  });
  test('iterations and key results', async () => {
    const made = await data(
      client.createIteration({ name: 'i', start_date: '2026-01-01', end_date: '2026-01-14' }),
    );
    expect(await data(client.getIteration(made.id))).toEqual(made);
    expect((await data(client.updateIteration(made.id, { name: 'j' }))).name).toBe('j');
    expect(await data(client.listIterations())).toHaveLength(2);
    expect(await data(client.listIterationStories(104, {}))).toHaveLength(3);
    expect(await status(client.disableIterations())).toBe(204);
    expect(await status(client.enableIterations())).toBe(204);
    expect(await status(client.deleteIteration(made.id))).toBe(204);
    const keyResult = await data(client.getKeyResult('55555555-0000-4000-8000-000000000002'));
    expect(
      (await data(client.updateKeyResult(keyResult.id, { observed_value: { numeric_value: '300' } })))
        .progress,
    ).toBe(100);
  });
  test('labels', async () => {
    const made = await data(client.createLabel({ name: 'l' }));
    expect(await data(client.getLabel(made.id))).toEqual(made);
    expect((await data(client.updateLabel(made.id, { color: null, archived: true }))).archived).toBe(true);
    expect(await data(client.listLabels({ slim: true }))).toHaveLength(2);
    expect(await data(client.listLabelEpics(105))).toHaveLength(1);
    expect(await data(client.listLabelStories(105, {}))).toHaveLength(3);
    expect(await status(client.deleteLabel(made.id))).toBe(204);
  });
  test.each(['Objective', 'Milestone'])('%ss', async (kind) => {
    const made = await data(client[`create${kind}`]({ name: 'o', categories: [{ name: 'Growth' }] }));
    expect(await data(client[`get${kind}`](made.id))).toEqual(made);
    expect(
      (await data(client[`update${kind}`](made.id, { state: 'done', completed_at_override: null })))
        .completed,
    ).toBe(true);
    expect(await data(client[`list${kind}s`]())).toHaveLength(2);
    expect(await data(client[`list${kind}Epics`](102))).toHaveLength(1);
    expect(await status(client[`delete${kind}`](made.id))).toBe(204);
  });
  test('projects, repositories and search', async () => {
    const made = await data(client.createProject({ name: 'p', team_id: 1 }));
    expect(await data(client.getProject(made.id))).toEqual(made);
    expect((await data(client.updateProject(made.id, { abbreviation: 'p' }))).abbreviation).toBe('p');
    expect(await data(client.listProjects())).toHaveLength(2);
    expect(await data(client.listStories(103, {}))).toHaveLength(3);
    expect(await status(client.deleteProject(made.id))).toBe(204);
    const [repository] = await data(client.listRepositories());
    expect(await data(client.getRepository(repository.id))).toEqual(repository);
    const found = await data(
      client.search({ query: 'is:started', entity_types: ['story', 'iteration'], page_size: 1 }),
    );
    expect([Object.keys(found).sort(), found.stories.total]).toEqual([['iterations', 'stories'], 1]);
  });
  test('stories and what belongs to them', async () => {
    const made = await data(
      client.createStory({ name: 's', workflow_state_id: 11, labels: [{ name: 'onboarding' }] }),
    );
    expect(await data(client.getStory(made.id))).toEqual(made);
    expect((await data(client.updateStory(made.id, { estimate: 3 }))).estimate).toBe(3);
    expect(await data(client.queryStories({ estimate: 3 }))).toHaveLength(1);
    const task = await data(client.createTask(made.id, { description: 't' }));
    expect((await data(client.updateTask(made.id, task.id, { complete: true }))).complete).toBe(true);
    expect((await data(client.getTask(made.id, task.id))).complete).toBe(true);
    expect(await status(client.deleteTask(made.id, task.id))).toBe(204);
    const comment = await data(client.createStoryComment(made.id, { text: 'c' }));
    expect((await data(client.updateStoryComment(made.id, comment.id, { text: 'd' }))).text).toBe('d');
    expect((await data(client.getStoryComment(made.id, comment.id))).text).toBe('d');
    expect(await data(client.listStoryComment(made.id))).toHaveLength(1);
    expect(await status(client.deleteStoryComment(made.id, comment.id))).toBe(204);
    const link = await data(client.createStoryLink({ subject_id: made.id, object_id: 107, verb: 'blocks' }));
    expect((await data(client.updateStoryLink(link.id, { verb: 'duplicates' }))).verb).toBe('duplicates');
    expect((await data(client.getStoryLink(link.id))).verb).toBe('duplicates');
    expect(await status(client.deleteStoryLink(link.id))).toBe(204);
    const [workflow] = await data(client.listWorkflows());
    expect(await data(client.getWorkflow(workflow.id))).toEqual(workflow);
    expect(await status(client.deleteStory(made.id))).toBe(204);
  });
  test('errors arrive as the client gives them', async () => {
    await expect(client.getLabel(9)).rejects.toMatchObject({
      response: { status: 404, data: { message: 'Resource not found.' } },
    });
    await expect(client.createLabel({ name: 'x'.repeat(129) })).rejects.toMatchObject({
      response: { status: 400 },
    });
    await expect(client.deleteProject(103)).rejects.toMatchObject({ response: { status: 422 } });
  });
});

afterAll(() => {
  const template = (path: string): RegExp => new RegExp(`^${path.replace(/\{[^}]*\}/g, '[^/]+')}$`);
  const untold = operations(tracker.table)
    // This client does not have the routes that extend the document.
    .filter(({ operation }) => operation.extension !== true)
    .filter(({ operation }) => operation.path !== '/files/{file-public-id}/download')
    .filter(
      ({ operation }) =>
        ![...answered].some(
          (one) =>
            one.startsWith(`${operation.method} `) && template(operation.path).test(one.split(' ')[1] ?? ''),
        ),
    );
  // The client received at least one response for every row of the table.
  expect(untold.map(({ operation }) => `${operation.method} ${operation.path}`)).toEqual([]);
});
