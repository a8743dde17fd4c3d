import { describe, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { type InMemory, type RunOptions, trackerInMemory, workWhileAsking } from '../../support/in-memory.ts';

const apply = (at: InMemory, words: readonly string[], options?: RunOptions) =>
  at.run(['apply', '-f', 'workspace.yaml', '-o', 'json', ...words], options);
const namesOf = (at: InMemory, path: string): string[] =>
  at
    .send('GET', path)
    .map(({ name }: { name: string }) => name)
    .toSorted();
const workflowState = (at: InMemory): number =>
  at.send('GET', '/workflows').flatMap(({ states }: { states: { id: number }[] }) => states)[0].id;
/** Calls an action once, before the service responds to the first request of a method. */
const beforeFirst = (wanted: string, act: () => void, on = ''): RunOptions['meanwhile'] => {
  let isDone = false;
  return ({ method, path }) => {
    if (isDone || method !== wanted || !path.endsWith(on)) return;
    isDone = true;
    act();
  };
};

describe('tracker apply while other users work', () => {
  test('does not delete a label that another user started to use after the plan', async () => {
    const at = trackerInMemory();
    const [, used] = ['first', 'used'].map((name) => at.send('POST', '/labels', { name }));
    await at.write('workspace.yaml', 'labels:\n  - name: new\n');
    const state = workflowState(at);
    const use = () =>
      at.send('POST', '/stories', { name: 's', workflow_state_id: state, labels: [{ name: 'used' }] });
    const ran = await apply(at, ['--prune', '--yes'], { meanwhile: beforeFirst('POST', use) });
    expect([ran.code, ran.error().code]).toEqual([9, 'PLAN_OUTDATED']);
    expect(namesOf(at, '/labels')).toContain(used.name);
  });

  test('reads the workspace again before a removal that comes long after the last reading', async () => {
    const at = trackerInMemory();
    for (const name of ['a', 'b', 'c']) at.send('POST', '/labels', { name });
    await at.write('workspace.yaml', 'labels: []\n');
    const state = workflowState(at);
    let elapsed = 0;
    const meanwhile: RunOptions['meanwhile'] = ({ method, path }) => {
      if (method !== 'DELETE') return;
      if (elapsed === 0) {
        const left = namesOf(at, '/labels').filter((name) => !path.endsWith(`/${name}`));
        const [other] = at
          .send('GET', '/labels')
          .filter(
            ({ id, name }: { id: number; name: string }) => left.includes(name) && !path.endsWith(`/${id}`),
          );
        at.send('POST', '/stories', { name: 's', workflow_state_id: state, labels: [{ name: other.name }] });
      }
      elapsed += 6000;
    };
    const change = (host: Host): Host => ({ ...host, now: () => host.now() + elapsed });
    const ran = await apply(at, ['--prune', '--yes'], { meanwhile, change });
    expect([ran.code, ran.error().code]).toEqual([9, 'PLAN_OUTDATED']);
    const [story] = at.send('POST', '/stories/search', {});
    expect(story.labels).toHaveLength(1);
  });

  test('does not delete a label that another user renamed and uses', async () => {
    const at = trackerInMemory();
    const label = at.send('POST', '/labels', { name: 'stale' });
    await at.write('workspace.yaml', 'labels:\n  - name: new\n');
    const state = workflowState(at);
    const use = () => {
      at.send('PUT', `/labels/${label.id}`, { name: 'fresh' });
      at.send('POST', '/stories', { name: 's', workflow_state_id: state, labels: [{ name: 'fresh' }] });
    };
    const ran = await apply(at, ['--prune', '--yes'], { meanwhile: beforeFirst('POST', use) });
    expect([ran.code, ran.error().code]).toEqual([9, 'PLAN_OUTDATED']);
    expect(namesOf(at, '/labels')).toContain('fresh');
  });

  test('a record that another user already removed is not an error', async () => {
    const at = trackerInMemory();
    const gone = at.send('POST', '/labels', { name: 'gone' });
    await at.write('workspace.yaml', 'labels:\n  - name: new\n');
    const remove = () => at.send('DELETE', `/labels/${gone.id}`);
    const ran = await apply(at, ['--prune', '--yes'], { meanwhile: beforeFirst('POST', remove) });
    expect([ran.code, namesOf(at, '/labels')]).toEqual([0, ['new']]);
  });

  test('applies only the plan that the user confirmed', async () => {
    const at = trackerInMemory();
    const label = at.send('POST', '/labels', { name: 'a', color: '#111111' });
    await at.write('workspace.yaml', 'labels:\n  - name: a\n    color: "#222222"\n');
    const edit = () => at.send('PUT', `/labels/${label.id}`, { color: '#333333' });
    const ran = await apply(at, [], workWhileAsking(edit));
    expect([ran.code, ran.error().code, ran.writes]).toEqual([10, 'PLAN_OUTDATED', []]);
  });

  test('does not delete a value that another user added to a custom field after the plan', async () => {
    const at = trackerInMemory({}, 'demo');
    const [field] = at.send('GET', '/custom-fields');
    const values = field.values.map(({ value }: { value: string }) => value);
    const kept = values.slice(1).map((value: string) => `      - value: ${value}\n`);
    await at.write(
      'workspace.yaml',
      `custom_fields:\n  - name: ${field.name}\n    values:\n${kept.join('')}`,
    );
    const same = field.values.map(({ id, value }: { id: string; value: string }) => ({ id, value }));
    const add = () => at.send('PUT', `/custom-fields/${field.id}`, { values: [...same, { value: 'Later' }] });
    const ran = await apply(at, ['--prune', '--yes'], {
      meanwhile: beforeFirst('GET', add, `/custom-fields/${field.id}`),
    });
    expect([ran.code, ran.error().code]).toEqual([10, 'PLAN_OUTDATED']);
    const [now] = at.send('GET', '/custom-fields');
    expect(now.values.map(({ value }: { value: string }) => value)).toEqual([...values, 'Later']);
  });
});

test('rollover moves only the stories that were shown', async () => {
  const at = trackerInMemory();
  const [from, to] = [
    { name: 'Sprint 1', start_date: '2026-01-01', end_date: '2026-01-14' },
    { name: 'Sprint 2', start_date: '2026-01-15', end_date: '2026-01-28' },
    { name: 'Later', start_date: '2026-02-01', end_date: '2026-02-14' },
  ].map((body) => at.send('POST', '/iterations', body));
  const state = workflowState(at);
  const story = at.send('POST', '/stories', { name: 's', workflow_state_id: state, iteration_id: from.id });
  const [, , later] = at.send('GET', '/iterations');
  const move = () => at.send('PUT', `/stories/${story.id}`, { iteration_id: later.id });
  const line = ['iterations', 'rollover', '--from', 'Sprint 1', '--to', to.name, '-o', 'json'];
  const ran = await at.run(line, workWhileAsking(move));
  expect([ran.code, ran.error().code, ran.writes]).toEqual([5, 'CONFLICT', []]);
  expect(at.send('GET', `/stories/${story.id}`).iteration_id).toBe(later.id);
});
