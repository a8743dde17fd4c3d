import { expect, test } from 'vitest';
import { type Controlled, control, makeSnapshots } from '../../src/mock-server/control.ts';
import { Store } from '../../src/mock-server/store.ts';
import { partlyMade } from '../support/context.ts';
import { pause } from '../support/slow-host.ts';

/** The control interface of a server whose effects are noted, each with its end. */
const scene = () => {
  const steps: string[] = [];
  const store = new Store();
  const effect = (name: string) => async (what: unknown) => {
    steps.push(typeof what === 'string' ? `${name} ${what}` : name);
    await pause();
    steps.push(`${name} done`);
  };
  const on = partlyMade<Controlled>({
    env: { store, now: () => 0 },
    snapshots: makeSnapshots(store),
    services: { loadAll: effect('load'), reset: effect('reset'), restore: () => void steps.push('restore') },
    onReplaced: effect('compact'),
    clock: { state: () => ({}) },
    faults: { list: () => [] },
    log: { last: () => [], count: 0 },
    facts: () => ({}),
  });
  const ask = async (method: string, path: string, body = '') => {
    const reply = await control(on, method, path, '', Buffer.from(body));
    steps.push(`answer ${reply.status}`);
  };
  return { steps, ask };
};
const state = '{"opsctl_state":1,"collections":{}}';

test.each<readonly [string, string, string, readonly string[]]>([
  ['POST', 'reset', '{"kind":"empty"}', ['reset empty', 'reset done']],
  ['PUT', 'state', state, ['restore']],
  ['POST', 'snapshots/a/restore', '', ['restore']],
])(
  '%s %s: the state is replaced before the journal is compacted, and the response is last',
  async (...row) => {
    const [method, path, body, replaced] = row;
    const { steps, ask } = scene();
    await ask('PUT', 'snapshots/a');
    steps.splice(0);
    await ask(method, path, body);
    expect(steps).toEqual([...replaced, 'compact', 'compact done', 'load', 'load done', 'answer 200']);
  },
);
test('a snapshot and a saved state contain services that were not used before', async () => {
  for (const [method, path] of [
    ['GET', 'state'],
    ['PUT', 'snapshots/a'],
  ] as const) {
    const { steps, ask } = scene();
    await ask(method, path);
    expect(steps).toEqual(['load', 'load done', 'answer 200']);
  }
});
test('the switches of the tracker are read after their service is filled', async () => {
  const { steps, ask } = scene();
  await ask('GET', 'features');
  expect(steps).toEqual(['load', 'load done', 'answer 200']);
});
