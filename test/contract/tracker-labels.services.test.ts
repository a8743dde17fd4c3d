import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-01T10:00:00Z'));
});

describe('labels', () => {
  test('a created label has every field, and is read back unchanged', async () => {
    const { body } = await ask('POST', '/labels', {
      name: 'bug',
      color: '#cc0000',
      description: 'Broken',
      external_id: 'x-1',
    });
    expect(body).toMatchObject({
      name: 'bug',
      color: '#cc0000',
      description: 'Broken',
      external_id: 'x-1',
      archived: false,
      entity_type: 'label',
    });
    expect([body.created_at, body.updated_at]).toEqual(['2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z']);
    expect((await ask('GET', `/labels/${body.id}`)).body).toEqual(body);
    expect((await ask('GET', '/labels')).body).toContainEqual(body);
  });
  test('omitted values of a label are null', async () => {
    const { body } = await ask('POST', '/labels', { name: 'bug' });
    expect([body.color, body.description, body.external_id]).toEqual([null, null, null]);
  });
  test(
    'a used name is 422 on update and on create, without a change',
    covers('spec/tracker#labels-2', 'spec/program#choices-5'),
    async () => {
      const { body: bug } = await ask('POST', '/labels', { name: 'bug' });
      const again = await ask('PUT', `/labels/${bug.id}`, { name: 'onboarding' });
      expect([again.status, again.body.errors.name]).toEqual([422, 'is already used by label 105']);
      expect((await ask('POST', '/labels', { name: 'bug' })).status).toBe(422);
      expect((await ask('GET', '/labels')).body).toHaveLength(2);
      expect((await ask('GET', `/labels/${bug.id}`)).body.name).toBe('bug');
    },
  );
  test("a label's own name is not a duplicate, and a name is free again after a rename or a delete", async () => {
    expect((await ask('PUT', '/labels/105', { name: 'onboarding' })).status).toBe(200);
    await ask('PUT', '/labels/105', { name: 'first steps' });
    const { body } = await ask('POST', '/labels', { name: 'onboarding' });
    await ask('DELETE', `/labels/${body.id}`);
    expect((await ask('POST', '/labels', { name: 'onboarding' })).status).toBe(201);
  });
  test(
    'archived goes both ways; null unsets the color; an update leaves the rest alone',
    covers('spec/tracker#states-1', 'spec/tracker#values-3'),
    async () => {
      expect((await ask('PUT', '/labels/105', { archived: true })).body).toMatchObject({
        archived: true,
        name: 'onboarding',
        color: '#cc4400',
      });
      expect((await ask('PUT', '/labels/105', { archived: false, color: null })).body).toMatchObject({
        archived: false,
        color: null,
      });
    },
  );
  test('updated_at moves with a change, created_at does not', async () => {
    await ask('GET', '/labels');
    await fetch(`${server.mock.origin}/__opsctl/clock`, {
      method: 'PUT',
      body: JSON.stringify({ advance_ms: 3_600_000 }),
    });
    const { body } = await ask('PUT', '/labels/105', { description: 'new' });
    expect([body.created_at.slice(0, 13), body.updated_at.slice(0, 13)]).toEqual([
      '2026-03-01T10',
      '2026-03-01T11',
    ]);
  });
  test('statistics are counted from the stories and epics', covers('spec/tracker#records-7'), async () => {
    const stats = async () => (await ask('GET', '/labels/105')).body.stats;
    expect(await stats()).toMatchObject({
      num_stories_total: 3,
      num_stories_completed: 1,
      num_stories_in_progress: 1,
      num_stories_unstarted: 1,
      num_stories_unestimated: 1,
      num_points_total: 6,
      num_points_completed: 2,
      num_points_in_progress: 4,
      num_epics: 1,
      num_epics_total: 1,
      num_epics_in_progress: 1,
      num_epics_unstarted: 0,
      num_epics_completed: 0,
    });
    await ask('POST', '/stories', {
      name: 's',
      labels: [{ name: 'onboarding' }],
      workflow_state_id: 10,
      estimate: 8,
    });
    await ask('PUT', '/epics/106', { epic_state_id: 23 });
    expect(await stats()).toMatchObject({
      num_stories_total: 4,
      num_stories_backlog: 1,
      num_points_backlog: 8,
      num_points_total: 14,
      num_epics_completed: 1,
    });
    await ask('DELETE', '/stories/107');
    expect(await stats()).toMatchObject({
      num_stories_total: 3,
      num_stories_in_progress: 0,
      num_points_total: 10,
    });
    expect((await ask('GET', '/labels')).body[0].stats).toEqual(await stats());
  });
  test(
    'the slim list leaves the statistics out, and so do labels inside stories and epics',
    covers('spec/tracker#records-3'),
    async () => {
      const [slim] = (await ask('GET', '/labels?slim=true')).body;
      expect(Object.keys(slim).sort()).toEqual(
        [
          'app_url',
          'archived',
          'color',
          'created_at',
          'description',
          'entity_type',
          'external_id',
          'id',
          'name',
          'updated_at',
        ].sort(),
      );
      expect((await ask('GET', '/labels?slim=false')).body[0].stats).toBeDefined();
      expect((await ask('GET', '/labels/105/stories')).body[0].labels).toEqual([slim]);
      expect((await ask('GET', '/labels/105/epics')).body[0].labels).toEqual([slim]);
      expect((await ask('GET', '/iterations/104')).body.labels[0].stats).toBeDefined();
    },
  );
  test('a renamed label has its new name in all records', async () => {
    await ask('GET', '/labels/105/stories');
    await ask('PUT', '/labels/105', { name: 'welcome' });
    expect((await ask('GET', '/labels/105/stories')).body[0].labels[0].name).toBe('welcome');
    expect((await ask('GET', '/epics')).body[0].labels[0].name).toBe('welcome');
  });
  test(
    'a deleted label is gone from stories, epics and iterations',
    covers('spec/tracker#choices-5'),
    async () => {
      await ask('DELETE', '/labels/105');
      expect((await ask('GET', '/labels')).body).toEqual([]);
      const places = await Promise.all(
        ['/epics/106', '/iterations/104', '/stories/107'].map((path) => ask('GET', path)),
      );
      for (const { body } of places) expect([body.label_ids, body.labels]).toEqual([[], []]);
      expect((await ask('GET', '/labels/105/stories')).status).toBe(404);
    },
  );
  test('stories of a label give descriptions only when asked', covers('spec/tracker#choices-2'), async () => {
    expect((await ask('GET', '/labels/105/stories')).body[0]).not.toHaveProperty('description');
    expect((await ask('GET', '/labels/105/stories?includes_description=true')).body[0].description).toMatch(
      /^Name, e-mail/,
    );
  });
  test('a list is the same text again until something changes', async () => {
    const first = await ask('GET', '/labels');
    expect((await ask('GET', '/labels')).text).toBe(first.text);
    await ask('POST', '/labels', { name: 'new' });
    expect((await ask('GET', '/labels')).body.map((label: { name: string }) => label.name)).toEqual([
      'onboarding',
      'new',
    ]);
  });
});

describe('categories', () => {
  test(
    'a name that is used gives 422 on update and on create',
    covers('spec/tracker#categories-2', 'spec/program#choices-5'),
    async () => {
      const { body } = await ask('POST', '/categories', {
        name: 'Quality',
        color: '#00ff00',
        external_id: 'c',
      });
      expect(body).toMatchObject({ name: 'Quality', color: '#00ff00', external_id: 'c', archived: false });
      const again = await ask('PUT', `/categories/${body.id}`, { name: 'Growth' });
      expect([again.status, Object.keys(again.body.errors)]).toEqual([422, ['name']]);
      expect((await ask('POST', '/categories', { name: 'Growth' })).status).toBe(422);
      expect((await ask('PUT', `/categories/${body.id}`, { name: 'Quality' })).status).toBe(200);
    },
  );
  test('archived goes both ways and null unsets the color', async () => {
    expect((await ask('PUT', '/categories/101', { archived: true, color: null })).body).toMatchObject({
      archived: true,
      color: null,
    });
    expect((await ask('PUT', '/categories/101', { archived: false })).body).toMatchObject({
      archived: false,
      color: null,
      name: 'Growth',
    });
  });
  test(
    'a category returns the same records for its milestones and its objectives',
    covers('spec/tracker#categories-1'),
    async () => {
      const objectives = (await ask('GET', '/categories/101/objectives')).body;
      expect(objectives.map((one: { id: number }) => one.id)).toEqual([102]);
      expect((await ask('GET', '/categories/101/milestones')).body).toEqual(objectives);
    },
  );
  test('a deleted category is gone from its objectives', covers('spec/tracker#choices-5'), async () => {
    expect((await ask('DELETE', '/categories/101')).status).toBe(204);
    expect((await ask('GET', '/objectives/102')).body.categories).toEqual([]);
    expect((await ask('GET', '/categories/101')).status).toBe(404);
  });
});
