import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { KEY_RESULT, KEY_RESULT_BOOLEAN } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker();
});

describe.each(['objectives', 'milestones'])('%s', (kind) => {
  const other = kind === 'objectives' ? 'milestones' : 'objectives';
  const create = async (body: object = {}) => (await ask('POST', `/${kind}`, { name: 'o', ...body })).body;

  test(
    'a record made under one name is the same under the other',
    covers('spec/tracker#records-2', 'spec/tracker#objectives-1'),
    async () => {
      const made = await create({ description: 'd', state: 'in progress' });
      expect((await ask('GET', `/${other}/${made.id}`)).body).toEqual(made);
      expect((await ask('GET', `/${other}`)).body).toEqual((await ask('GET', `/${kind}`)).body);
      await ask('DELETE', `/${other}/${made.id}`);
      expect((await ask('GET', `/${kind}/${made.id}`)).status).toBe(404);
    },
  );
  test.each([
    ['to do', false, false],
    ['in progress', true, false],
    ['done', true, true],
  ])('state %s means started %s and completed %s', async (state, started, completed) => {
    expect(await create({ state })).toMatchObject({ state, started, completed });
    expect((await ask('PUT', `/${kind}/102`, { state })).body).toMatchObject({ state, started, completed });
  });
  test('an objective without a state is to do', async () => {
    expect(await create()).toMatchObject({
      state: 'to do',
      description: '',
      archived: false,
      key_result_ids: [],
    });
  });
  test('overrides are set, and null clears them', async () => {
    const at = '2020-01-01T00:00:00Z';
    const made = await create({ started_at_override: at, completed_at_override: at });
    expect(made).toMatchObject({ started_at_override: at, completed_at_override: at });
    const { body } = await ask('PUT', `/${kind}/${made.id}`, {
      started_at_override: null,
      completed_at_override: null,
    });
    expect(body).toMatchObject({ started_at_override: null, completed_at_override: null });
  });
  test('categories are found by name or made, and replaced as a whole', async () => {
    const made = await create({
      categories: [{ name: 'Growth' }, { name: 'New', color: '#010203', external_id: 'n' }],
    });
    expect(made.categories.map((one: { id: number; name: string }) => one.name)).toEqual(['Growth', 'New']);
    expect(made.categories[0].id).toBe(101);
    expect((await ask('PUT', `/${kind}/${made.id}`, { categories: [] })).body.categories).toEqual([]);
    expect((await ask('GET', '/categories')).body).toHaveLength(2);
  });
  test('moves by before_id and after_id', async () => {
    const [a, b] = [await create({ name: 'a' }), await create({ name: 'b' })];
    const order = async (): Promise<number[]> =>
      (await ask('GET', `/${kind}`)).body.map((one: { id: number }) => one.id);
    await ask('PUT', `/${kind}/${b.id}`, { before_id: 102 });
    expect(await order()).toEqual([b.id, 102, a.id]);
    await ask('PUT', `/${kind}/${b.id}`, { after_id: 102 });
    expect(await order()).toEqual([102, b.id, a.id]);
    expect((await ask('PUT', `/${kind}/${b.id}`, { after_id: 9 })).status).toBe(422);
  });
  test('archiving works in both directions; an empty update makes no change', async () => {
    expect((await ask('PUT', `/${kind}/102`, { archived: true })).body.archived).toBe(true);
    expect((await ask('PUT', `/${kind}/102`, { archived: false })).body.archived).toBe(false);
    const before = (await ask('GET', `/${kind}/102`)).body;
    expect((await ask('PUT', `/${kind}/102`, {})).body).toEqual({
      ...before,
      updated_at: expect.any(String),
    });
  });
  test('deleting an objective keeps its epics', async () => {
    expect((await ask('GET', `/${kind}/102/epics`)).body.map((epic: { id: number }) => epic.id)).toEqual([
      106,
    ]);
    await ask('DELETE', `/${kind}/102`);
    expect((await ask('GET', '/epics/106')).body).toMatchObject({ objective_ids: [], milestone_id: null });
    expect((await ask('GET', `/key-results/${KEY_RESULT}`)).status).toBe(404);
  });
  test('average times come from the completed stories of its epics', async () => {
    const made = await create();
    await ask('PUT', '/epics/106', { objective_ids: [made.id] });
    await ask('PUT', '/stories/107', {
      workflow_state_id: 13,
      started_at_override: '2026-01-01T00:00:00Z',
      completed_at_override: '2026-01-01T01:00:00Z',
    });
    await ask('PUT', '/stories/110', {
      started_at_override: '2026-01-01T00:00:00Z',
      completed_at_override: '2026-01-01T03:00:00Z',
    });
    expect((await ask('GET', `/${kind}/${made.id}`)).body.stats.average_cycle_time).toBe(2 * 3600);
  });
  test(
    '403 UnusableEntitlementError when the plan does not include it',
    covers('spec/tracker#objectives-2', 'spec/tracker#errors-2'),
    async () => {
      await fetch(`${server.mock.origin}/__opsctl/features`, {
        method: 'PUT',
        body: JSON.stringify({ 'objective-entitlement': false }),
      });
      const answer = await ask('POST', `/${kind}`, { name: 'o' });
      expect([answer.status, answer.body]).toEqual([
        403,
        {
          reason_tag: 'entitlement-violation',
          entitlement_tag: 'objectives',
          message: 'The plan of this workspace does not include more objectives.',
        },
      ]);
      expect((await ask('PUT', `/${kind}/102`, {})).status).toBe(200);
    },
  );
});

describe('key results', () => {
  const put = (id: string, body: object) => ask('PUT', `/key-results/${id}`, body);
  test('numeric: progress goes from the first value to the target and stays within 0 and 100', async () => {
    expect((await ask('GET', `/key-results/${KEY_RESULT}`)).body).toMatchObject({
      type: 'numeric',
      progress: 25,
      objective_id: 102,
    });
    const progress = async (value: string) =>
      (await put(KEY_RESULT, { observed_value: { numeric_value: value } })).body.progress;
    expect([
      await progress('300'),
      await progress('400'),
      await progress('50'),
      await progress('200'),
    ]).toEqual([100, 100, 0, 50]);
    expect(
      (
        await put(KEY_RESULT, {
          target_value: { numeric_value: '1100' },
          initial_observed_value: { numeric_value: '0' },
        })
      ).body,
    ).toMatchObject({
      progress: 18,
      current_target_value: { numeric_value: '1100' },
      initial_observed_value: { numeric_value: '0' },
      current_observed_value: { numeric_value: '200' },
    });
  });
  test('a boolean key result is complete or not', async () => {
    expect((await put(KEY_RESULT_BOOLEAN, { name: 'renamed' })).body).toMatchObject({
      type: 'boolean',
      progress: 0,
      name: 'renamed',
    });
    expect((await put(KEY_RESULT_BOOLEAN, { observed_value: { boolean_value: true } })).body.progress).toBe(
      100,
    );
  });
  test.each([
    [KEY_RESULT, { observed_value: { boolean_value: true } }],
    [KEY_RESULT, { target_value: { numeric_value: 'many' } }],
    [KEY_RESULT_BOOLEAN, { initial_observed_value: { numeric_value: '1' } }],
  ])('%s refuses %o as a value of another type', covers('spec/tracker#records-10'), async (id, body) => {
    const answer = await put(id, body);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, Object.keys(body)]);
  });
  test('a value is an object with known keys', covers('spec/tracker#records-10'), async () => {
    expect((await put(KEY_RESULT, { observed_value: { value: '1' } })).status).toBe(400);
    expect((await put(KEY_RESULT, { observed_value: { numeric_value: 5 } })).status).toBe(400);
  });
  test('the objective lists its key results', async () => {
    expect((await ask('GET', '/objectives/102')).body.key_result_ids).toEqual([
      KEY_RESULT_BOOLEAN,
      KEY_RESULT,
    ]);
  });
});
