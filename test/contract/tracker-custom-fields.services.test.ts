import { beforeEach, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { AREA, HIGH, LOW, MEDIUM, NO_UUID, PRIORITY } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker();
});
const at = `/custom-fields/${PRIORITY}`;
const texts = (field: { values: { value: string }[] }): string[] => field.values.map(({ value }) => value);

test('the seeded fields, in their order, with three values each', async () => {
  const { body } = await ask('GET', '/custom-fields');
  expect(body.map((field: { name: string }) => field.name)).toEqual(['Priority', 'Product Area']);
  expect(body[0]).toMatchObject({
    field_type: 'enum',
    entity_type: 'custom-field',
    enabled: true,
    canonical_name: 'priority',
  });
  expect(texts(body[0])).toEqual(['Low', 'Medium', 'High']);
  expect(body[0].values[0]).toMatchObject({
    id: LOW,
    color_key: 'blue',
    position: 0,
    entity_type: 'custom-field-enum-value',
  });
});
test('the order of the values is the sort order', covers('spec/tracker#custom-fields-2'), async () => {
  const { body } = await ask('PUT', at, { values: [{ id: HIGH }, { id: LOW }, { id: MEDIUM }] });
  expect(texts(body)).toEqual(['High', 'Low', 'Medium']);
  expect(body.values.map((value: { position: number }) => value.position)).toEqual([0, 1, 2]);
  expect(texts((await ask('GET', at)).body)).toEqual(['High', 'Low', 'Medium']);
});
test(
  'an existing value that is left out is deleted, also from stories',
  covers('spec/tracker#custom-fields-2'),
  async () => {
    expect((await ask('GET', '/stories/107')).body.custom_fields).toEqual([
      { field_id: PRIORITY, value: 'High', value_id: HIGH },
    ]);
    expect(texts((await ask('PUT', at, { values: [{ id: LOW }] })).body)).toEqual(['Low']);
    expect((await ask('GET', '/stories/107')).body.custom_fields).toEqual([]);
  },
);
test('an item with a value and no id is a new value', covers('spec/tracker#custom-fields-2'), async () => {
  const { body } = await ask('PUT', at, {
    values: [{ id: LOW }, { value: 'Urgent', color_key: 'pink' }, { id: HIGH }],
  });
  expect(texts(body)).toEqual(['Low', 'Urgent', 'High']);
  expect(body.values[1]).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    color_key: 'pink',
    enabled: true,
    position: 1,
  });
});
test('null removes the color of a value, and a read value can be sent back', async () => {
  const { body } = await ask('PUT', at, { values: [{ id: LOW, color_key: null }, { id: MEDIUM }] });
  expect(body.values.map((value: { color_key: string | null }) => value.color_key)).toEqual([null, 'yellow']);
  const values = body.values.map(({ id, value, color_key, enabled }: Record<string, unknown>) => ({
    id,
    value,
    color_key,
    enabled,
  }));
  expect((await ask('PUT', at, { values })).body.values).toEqual(body.values);
});
test('a value can be renamed; stories show the new text', async () => {
  const { body } = await ask('PUT', at, {
    values: [{ id: LOW }, { id: MEDIUM }, { id: HIGH, value: 'Top', color_key: 'black' }],
  });
  expect(body.values[2]).toMatchObject({ id: HIGH, value: 'Top', color_key: 'black' });
  expect((await ask('GET', '/stories/107')).body.custom_fields[0].value).toBe('Top');
});
test('values stay if the request omits them; an empty list deletes all of them', async () => {
  expect(
    texts((await ask('PUT', at, { name: 'Rank', description: 'd', icon_set_identifier: 'star' })).body),
  ).toHaveLength(3);
  expect((await ask('PUT', at, { values: [] })).body).toMatchObject({
    name: 'Rank',
    description: 'd',
    icon_set_identifier: 'star',
    values: [],
  });
});
test(
  '409 DataConflictError when a value in the request was deleted in the meantime',
  covers('spec/tracker#custom-fields-3', 'spec/tracker#choices-4'),
  async () => {
    const stale = [{ id: LOW }, { id: MEDIUM }, { id: HIGH }];
    await ask('PUT', at, { values: [{ id: LOW }, { id: HIGH }] });
    const answer = await ask('PUT', at, { values: stale });
    expect([answer.status, answer.body.error]).toEqual([409, 'data-conflict-error']);
    expect(answer.body.message).toContain(MEDIUM);
    expect(texts((await ask('GET', at)).body)).toEqual(['Low', 'High']);
  },
);
test(
  '409 when the field changed since the read that If-Match names',
  covers('spec/tracker#custom-fields-3', 'spec/tracker#choices-4'),
  async () => {
    const tag = (await ask('GET', at)).headers.get('etag') ?? '';
    expect(tag).toMatch(/^".+"$/);
    expect((await ask('PUT', at, { enabled: true }, { 'If-Match': tag })).status).toBe(200);
    await ask('PUT', at, { description: 'changed by another' });
    const answer = await ask('PUT', at, { description: 'mine' }, { 'If-Match': tag });
    expect([answer.status, answer.body.error]).toEqual([409, 'data-conflict-error']);
    expect((await ask('PUT', at, { description: 'mine' }, { 'If-Match': '*' })).status).toBe(200);
    // Two values of one length in one second differ as well.
    const tagOf = async (description: string) => {
      await ask('PUT', at, { description });
      return (await ask('GET', at)).headers.get('etag');
    };
    expect(await tagOf('a')).not.toBe(await tagOf('b'));
  },
);
test.each([
  ['values[0]', 400, [{ color_key: 'red' }]],
  ['values[1]', 422, [{ id: LOW }, { id: LOW }]],
  ['values[1]', 422, [{ value: 'a' }, { value: 'a' }]],
  ['values[0].id', 400, [{ id: 'x' }]],
  ['values[0].value', 400, [{ value: '' }]],
  ['values[0].position', 400, [{ value: 'a', position: 1 }]],
])('%s is refused with %d', async (path, status, values) => {
  const answer = await ask('PUT', at, { values });
  expect([answer.status, Object.keys(answer.body.errors)]).toEqual([status, [path]]);
});
test(
  'stories and templates accept only enabled fields and values',
  covers('spec/tracker#states-5'),
  async () => {
    const applied = { custom_fields: [{ field_id: PRIORITY, value_id: LOW }] };
    const send = async () => [
      (await ask('PUT', '/stories/107', applied)).status,
      (await ask('POST', '/stories', { name: 's', ...applied })).status,
      (await ask('POST', '/entity-templates', { name: 't', story_contents: applied })).status,
    ];
    expect(await send()).toEqual([200, 201, 201]);
    expect((await ask('PUT', at, { enabled: false })).body.enabled).toBe(false);
    expect(await send()).toEqual([422, 422, 422]);
    expect(
      (await ask('PUT', at, { enabled: true, values: [{ id: LOW, enabled: false }] })).body.values[0].enabled,
    ).toBe(false);
    expect(await send()).toEqual([422, 422, 422]);
  },
);
test('a field is applied by value id or by the text of the value', async () => {
  const set = async (value: object) =>
    (await ask('PUT', '/stories/107', { custom_fields: [{ field_id: PRIORITY, ...value }] })).body;
  expect((await set({ value: 'Medium' })).custom_fields).toEqual([
    { field_id: PRIORITY, value: 'Medium', value_id: MEDIUM },
  ]);
  expect((await set({ value_id: HIGH })).custom_fields[0].value).toBe('High');
  for (const bad of [{ value_id: NO_UUID }, { value: 'none' }, {}]) {
    expect(
      (await ask('PUT', '/stories/107', { custom_fields: [{ field_id: PRIORITY, ...bad }] })).status,
    ).toBe(422);
  }
  expect(
    (await ask('PUT', '/stories/107', { custom_fields: [{ field_id: NO_UUID, value: 'x' }] })).status,
  ).toBe(422);
});
test('fields move by before_id and after_id', async () => {
  const order = async (): Promise<string[]> =>
    (await ask('GET', '/custom-fields')).body.map((field: { id: string }) => field.id);
  await ask('PUT', `/custom-fields/${AREA}`, { before_id: PRIORITY });
  expect(await order()).toEqual([AREA, PRIORITY]);
  await ask('PUT', `/custom-fields/${AREA}`, { after_id: PRIORITY });
  expect(await order()).toEqual([PRIORITY, AREA]);
  expect((await ask('PUT', at, { after_id: NO_UUID })).status).toBe(422);
  expect((await ask('PUT', at, { after_id: 7 })).status).toBe(400);
});
test('a deleted field is gone, also from stories', async () => {
  expect((await ask('DELETE', at)).status).toBe(204);
  expect((await ask('GET', at)).status).toBe(404);
  expect((await ask('GET', '/stories/107')).body.custom_fields).toEqual([]);
});
