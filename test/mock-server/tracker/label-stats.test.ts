import { expect, test } from 'vitest';
import { defaultOptions, makeEnvironment } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { fullLabel, fullLabelText, labelText, newLabel } from '../../../src/mock-server/tracker/epic-view.ts';
import { now, type Tracker, trackerState } from '../../../src/mock-server/tracker/state.ts';
import { seedTracker } from '../../../src/mock-server/tracker/seed.ts';
import { fakeHost } from '../../support/fake-host.ts';

const workspace = (): Tracker => {
  const options = { ...defaultOptions, trackerToken: 't' };
  const state = trackerState(makeEnvironment(fakeHost(), new Store(), options, 'seed').env);
  state.env.store.transact(() => seedTracker(state, 'demo'));
  return state;
};
const made = (state: Tracker, name: string) => state.env.store.transact(() => newLabel(state, { name }));

test('the text of a label is the JSON of the label: unused, with stories, and with epics', () => {
  const state = workspace();
  const labels = [made(state, 'first "quoted"'), ...state.labels.values(), made(state, 'second')];
  const [story] = state.stories.values();
  const [epic] = state.epics.values();
  const carried = [made(state, 'of a story'), made(state, 'of an epic')] as const;
  state.env.store.transact(() => {
    if (story !== undefined) state.stories.put(story.id, { ...story, label_ids: [carried[0].id] });
    if (epic !== undefined) state.epics.put(epic.id, { ...epic, label_ids: [carried[1].id] });
  });
  for (const label of [...labels, ...carried]) {
    const json = JSON.stringify(fullLabel(state, label));
    expect(labelText(state, label)).toBe(json);
    expect(fullLabelText(state, label)).toBe(json);
  }
  expect(fullLabel(state, carried[0]).stats.num_stories_total).toBe(1);
  expect(fullLabel(state, carried[1]).stats.num_epics).toBe(1);
});

test('a time is rounded to its own second, independent of previous calls', () => {
  const state = workspace();
  const at = Date.UTC(2026, 10, 23, 1, 2, 3);
  const times = [at, at + 999, at + 1000, at, at - 1].map((ms) =>
    now({ ...state, env: { ...state.env, now: () => ms } }),
  );
  expect(times).toEqual([
    '2026-11-23T01:02:03Z',
    '2026-11-23T01:02:03Z',
    '2026-11-23T01:02:04Z',
    '2026-11-23T01:02:03Z',
    '2026-11-23T01:02:02Z',
  ]);
});
