import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultOptions, makeEnvironment } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { seedTracker } from '../../../src/mock-server/tracker/seed.ts';
import { type Tracker, trackerState } from '../../../src/mock-server/tracker/state.ts';
import { type StoredStory, StoryCounters } from '../../../src/mock-server/tracker/row.ts';
import { createStory } from '../../../src/mock-server/tracker/stories.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { testSeed } from '../../support/seeded.ts';

const env = (store: Store) => {
  const host = fakeHost();
  return makeEnvironment(host, store, { ...defaultOptions, trackerToken: 't' }, 'seed').env;
};
const workspace = (): Tracker => {
  const state = trackerState(env(new Store()));
  state.env.store.transact(() => seedTracker(state, 'demo'));
  return state;
};
const GROUP = '66666666-0000-4000-8000-000000000001';

/** Returns all counters for every container of a story. */
const said = (counters: StoryCounters) =>
  (
    [
      'label 105',
      'epic 106',
      'iteration 104',
      'project 103',
      'state 10',
      'state 11',
      'state 12',
      'state 13',
      `group ${GROUP}`,
    ] as const
  ).map((name) => {
    const [kind, id = ''] = name.split(' ') as ['label', string];
    const {
      version: _v,
      lastUpdate: _l,
      projects,
      groups,
      ...counts
    } = counters.of(kind, kind === ('group' as string) ? id : Number(id));
    return { name, ...counts, projects: [...projects].sort(), groups: [...groups].sort() };
  });

const times = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'];
const change = fc.record(
  {
    workflow_state_id: fc.constantFrom(10, 11, 12, 13),
    estimate: fc.option(fc.integer({ min: 0, max: 8 })),
    epic_id: fc.constantFrom(null, 106),
    project_id: fc.constantFrom(null, 103),
    iteration_id: fc.constantFrom(null, 104),
    group_id: fc.constantFrom(null, GROUP),
    label_ids: fc.constantFrom([], [105]),
    updated_at: fc.constantFrom(...times),
    cycle_time: fc.option(fc.nat(1000), { nil: undefined }),
    lead_time: fc.option(fc.nat(1000), { nil: undefined }),
  },
  { requiredKeys: [] },
);
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('change' as const), which: fc.nat(20), to: change }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), which: fc.nat(20), to: change }) },
);

test('incremental counters equal a full count after any changes and undone transactions', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
      const state = workspace();
      const { store } = state.env;
      said(state.counters);
      for (const one of actions) {
        const stories = [...state.stories.values()];
        const picked = 'which' in one ? stories[one.which % stories.length] : undefined;
        const run = (): void => {
          if (one.do === 'create')
            createStory(state, { name: 's', epic_id: 106, labels: [{ name: 'onboarding' }], estimate: 1 });
          else if (picked && one.do === 'delete') state.stories.delete(picked.id);
          else if (picked && 'to' in one)
            state.stories.put(picked.id, { ...picked, ...one.to } as StoredStory);
          if (one.do === 'fail') throw new Error('undo');
        };
        if (one.do === 'fail') expect(() => store.transact(run)).toThrow('undo');
        else store.transact(run);
        const fresh = new StoryCounters(state.stories, state.workflows);
        expect(said(state.counters)).toEqual(said(fresh));
        expect(state.counters.lastUpdate(106)).toBe(fresh.lastUpdate(106));
      }
    }),
    { seed: testSeed, numRuns: 60 },
  );
});

test('the time of the last change is right after each kind of change', () => {
  const state = workspace();
  const { store } = state.env;
  const of = (id: number): StoredStory => state.stories.get(id) as StoredStory;
  const set = (id: number, at: string) =>
    store.transact(() => state.stories.put(id, { ...of(id), updated_at: at }));
  for (const id of [107, 110, 111]) set(id, times[0] as string);
  expect(state.counters.lastUpdate(106)).toBe(times[0]);
  set(110, times[2] as string);
  expect(state.counters.lastUpdate(106)).toBe(times[2]);
  set(110, times[1] as string);
  expect(state.counters.lastUpdate(106)).toBe(times[1]);
  store.transact(() => state.stories.delete(110));
  expect(state.counters.lastUpdate(106)).toBe(times[0]);
  store.transact(() => {
    state.stories.delete(107);
    state.stories.delete(111);
  });
  expect(state.counters.lastUpdate(106)).toBeNull();
});

test('a state of the workflow that changes its type moves its stories', () => {
  const state = workspace();
  expect(state.counters.of('project', 103).stories).toMatchObject({ started: 1, done: 1 });
  const workflow = state.workflows.get(1);
  if (workflow === undefined) throw new Error('no workflow');
  const states = workflow.states.map((one) =>
    one.type === 'started' ? { ...one, type: 'done' as const } : one,
  );
  state.env.store.transact(() => state.workflows.put(1, { ...workflow, states }));
  expect(state.counters.of('project', 103).stories).toMatchObject({ started: 0, done: 2 });
});
