import { beforeAll, expect, test } from 'vitest';
import { defaultOptions, makeEnvironment } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { SearchLists } from '../../../src/mock-server/tracker/search.ts';
import { matches, storySubject, termsFrom } from '../../../src/mock-server/tracker/search-match.ts';
import { seedTracker } from '../../../src/mock-server/tracker/seed.ts';
import { type Tracker, trackerState } from '../../../src/mock-server/tracker/state.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { type TrackerServer, startTracker } from '../../support/tracker-server.ts';

const workspace = (): Tracker => {
  const { env } = makeEnvironment(fakeHost(), new Store(), { ...defaultOptions, trackerToken: 't' }, 'seed');
  const state = trackerState(env);
  state.env.store.transact(() => seedTracker(state, 'demo'));
  return state;
};
const QUERIES = ['even', 'label:bug', '!is:done', 'is:started even', 'epic:106'];

test('a cached result equals a new search after any change, and only changed stories are checked', () => {
  const state = workspace();
  const [model] = [...state.stories.values()];
  if (model === undefined) throw new Error('the demo data has stories');
  const kept = new SearchLists(state);
  const now = state.env.now();
  const idsOf = (lists: SearchLists, query: string) =>
    lists.stories(query, termsFrom(query), now).map(({ id }) => id);
  const change = (work: () => void): void => {
    state.env.store.transact(work);
    for (const query of QUERIES)
      expect([query, idsOf(kept, query)]).toEqual([query, idsOf(new SearchLists(state), query)]);
  };
  change(() => undefined);
  for (let id = 9000; id < 9040; id++)
    change(() => state.stories.put(id, { ...model, id, name: id % 2 === 0 ? 'even' : 'odd' }));
  change(() => state.stories.put(9003, { ...model, id: 9003, name: 'even now' }));
  change(() => state.stories.put(9004, { ...model, id: 9004, name: 'odd now', epic_id: null }));
  change(() => void state.stories.delete(9006));
  // A change in another collection can change the result of any term.
  const [label] = [...state.labels.values()];
  if (label === undefined) throw new Error('the demo data has a label');
  change(() => state.labels.put(label.id, { ...label, name: 'renamed' }));
  expect(() =>
    state.env.store.transact(() => {
      state.stories.delete(9008);
      throw new Error('undone');
    }),
  ).toThrow('undone');
  change(() => undefined);
  const reads: number[] = [];
  const get = state.stories.get.bind(state.stories);
  state.stories.get = (id) => {
    reads.push(Number(id));
    return get(id);
  };
  state.stories.filter = () => {
    throw new Error('a search looked at all stories');
  };
  state.env.store.transact(() => state.stories.put(9001, { ...model, id: 9001, name: 'even' }));
  expect(idsOf(kept, 'even')).toContain(9001);
  expect(reads).toEqual([9001]);
});

test('a new query that names a record checks only the stories of that record, even after a write', () => {
  const state = workspace();
  const [model] = [...state.stories.values()];
  const [label] = [...state.labels.values()];
  const [owner, other] = [...state.members.values()];
  if (!model || !label || !owner || !other) throw new Error('the demo data has a story, a label and members');
  const put = (id: number, more: object) =>
    state.env.store.transact(() =>
      state.stories.put(id, { ...model, label_ids: [], owner_ids: [], ...more, id }),
    );
  for (let id = 9000; id < 9200; id++) put(id, {});
  put(9201, { label_ids: [label.id], name: 'one' });
  put(9202, { label_ids: [label.id], owner_ids: [other.id], name: 'two' });
  const idsOf = (query: string) =>
    new SearchLists(state).stories(query, termsFrom(query), state.env.now()).map(({ id }) => id);
  const queries = [
    `label:"${label.name}"`,
    `label:${label.id} two`,
    `owner:@${other.profile.mention_name} label:"${label.name.toUpperCase()}"`,
    `!owner:${other.id} label:"${label.name}" one`,
    `label:nothing`,
    'id:9202',
    'id:x',
  ];
  const expected = queries.map((query) => [
    query,
    // Checks every story.
    [...state.stories.values()]
      .filter((story) => matches(storySubject(state, story), termsFrom(query), state.env.now()))
      .map(({ id }) => id),
  ]);
  for (const query of queries) idsOf(query);
  const all = state.stories.filter.bind(state.stories);
  state.stories.filter = () => {
    throw new Error('a search looked at all stories');
  };
  put(9203, { label_ids: [] });
  expect(queries.map((query) => [query, idsOf(query)])).toEqual(expected);
  expect(expected[0]?.[1]).toContain(9202);
  put(9204, { label_ids: [label.id] });
  expect(idsOf(queries[0] ?? '')).toContain(9204);
  state.stories.filter = all;
  expect(idsOf('two')).toContain(9202);
});

test('more changes than are remembered are found by a new search', () => {
  const state = workspace();
  const [model] = [...state.stories.values()];
  if (model === undefined) throw new Error('the demo data has stories');
  const kept = new SearchLists(state);
  kept.stories('many', termsFrom('many'), 0);
  state.env.store.transact(() => {
    for (let id = 9000; id < 10_500; id++) state.stories.put(id, { ...model, id, name: 'many' });
  });
  expect(kept.stories('many', termsFrom('many'), 0)).toHaveLength(1500);
});

let server: TrackerServer;
beforeAll(async () => {
  server = await startTracker();
});

test('a search by external ID finds each story under its current key, in the order of their IDs', async () => {
  const make = async (name: string, key?: string): Promise<number> =>
    (await server.ask('POST', '/stories', { name, project_id: 103, external_id: key })).body.id;
  const found = async (body: object): Promise<number[]> =>
    (await server.ask('POST', '/stories/search', body)).body.map(({ id }: { id: number }) => id);
  const [first, second, third] = [await make('a', 'old'), await make('b', 'key'), await make('c', 'key')];
  expect(await found({ external_id: 'key' })).toEqual([second, third]);
  await server.ask('PUT', `/stories/${first}`, { external_id: 'key' });
  expect(await found({ external_id: 'key' })).toEqual([first, second, third]);
  expect(await found({ external_id: 'old' })).toEqual([]);
  await server.ask('PUT', `/stories/${third}`, { archived: true });
  expect(await found({ external_id: 'key', archived: false })).toEqual([first, second]);
  await server.ask('DELETE', `/stories/${second}`);
  expect(await found({ external_id: 'key' })).toEqual([first, third]);
});

test('a list of more than a thousand stories is whole after each change', async () => {
  const all = async () => (await server.ask('GET', '/projects/103/stories?includes_description=true')).body;
  const before = (await all()).length;
  for (let i = 0; i < 1100; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        server.ask('POST', '/stories', {
          name: `long é ${i + k}`,
          project_id: 103,
          labels: [{ name: 'long' }],
        }),
      ),
    );
  const rows = await all();
  expect(rows).toHaveLength(before + 1100);
  await server.ask('PUT', `/stories/${rows[700].id}`, { name: 'changed' });
  expect((await server.ask('DELETE', `/stories/${rows[3].id}`)).status).toBe(204);
  const [label] = rows[900].labels;
  await server.ask('PUT', `/labels/${label.id}`, { name: 'longer' });
  const after = await all();
  expect(after).toHaveLength(before + 1099);
  expect(after[699].name).toBe('changed');
  expect(after[900].labels[0].name).toBe('longer');
  const slow = await server.mock.origin;
  await fetch(`${slow}/__opsctl/faults`, {
    method: 'POST',
    body: JSON.stringify({ path: '/api/v3/projects/*', bytes_per_second: 50_000_000 }),
  });
  expect(await all()).toHaveLength(before + 1099);
});
