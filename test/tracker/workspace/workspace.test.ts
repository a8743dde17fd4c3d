import { expect, test } from 'vitest';
import { planText, planWorkspace, refusal } from '../../../src/tracker/workspace/plan.ts';
import { idOf } from '../../../src/tracker/workspace/kinds.ts';
import { naming, errorWith } from '../../support/facts.ts';

const lookup = {
  epicStates: [{ id: 500, name: 'to do' }],
  groups: [{ id: 'g1', name: 'Platform', mention_name: 'platform' }],
  epics: [{ id: 9, objective_ids: [5] }],
  objectives: [{ id: 5, name: 'o', categories: [{ id: 3, name: 'c' }] }],
};
const label = (id: number, name: string, more = {}) => ({
  id,
  name,
  external_id: null,
  color: null,
  description: null,
  archived: false,
  stats: { num_stories_total: 0, num_epics: 0 },
  ...more,
});
const plan = (
  workspace: object,
  current: object,
  options: { prune?: boolean; force?: boolean } = {},
  known: Parameters<typeof planWorkspace>[2] = lookup,
) => planWorkspace(workspace as never, current as never, known, { prune: false, force: false, ...options });
const lines = (workspace: object, current: object, options = {}) =>
  plan(workspace, current, options).actions.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

test('a file that matches the service needs no changes, for absent, null and empty values', () => {
  expect(
    lines({ labels: [{ name: 'a', description: '', color: null }] }, { labels: [label(1, 'a')] }),
  ).toEqual([]);
});
test('create, update, and fields that the file leaves out stay', () => {
  const found = plan(
    { labels: [{ name: 'a', color: '#112233' }, { name: 'b' }] },
    { labels: [label(1, 'a', { description: 'kept' })] },
  );
  expect(found.actions).toMatchObject([
    { action: 'update', name: 'a', id: 1, changes: { color: { from: null, to: '#112233' } } },
    { action: 'create', name: 'b' },
  ]);
  expect(Object.keys(found.actions[0]?.changes ?? {})).toEqual(['color']);
});
test('a name may occur as often as in the service', () => {
  const twins = [label(1, 'twin'), label(2, 'twin', { color: '#112233' })];
  expect(
    lines(
      {
        labels: [
          { name: 'twin', color: null },
          { name: 'twin', color: '#112233' },
        ],
      },
      { labels: twins },
    ),
  ).toEqual([]);
  const third = { labels: [{ name: 'twin' }, { name: 'twin' }, { name: 'twin' }] };
  expect(() => plan(third, { labels: twins })).toThrow(errorWith('usage', 'workspace', 'contradicts'));
  expect(() => plan({ labels: [{ name: 'new' }, { name: 'new' }] }, { labels: twins })).toThrow(
    'contradicts itself',
  );
});
test('a changed name with the same external_id is a rename, even when another has the new name', () => {
  const current = { labels: [label(1, 'old', { external_id: 'x' }), label(2, 'other')] };
  expect(
    plan({ labels: [{ name: 'new', external_id: 'x' }, { name: 'other' }] }, current).actions,
  ).toMatchObject([{ action: 'update', id: 1, changes: { name: { from: 'old', to: 'new' } } }]);
});
test('records are removed only with --prune, and only if they are unused', () => {
  const current = {
    labels: [
      label(1, 'a'),
      label(2, 'used', { stats: { num_stories_total: 3, num_epics: 0 } }),
      label(3, 'free'),
    ],
  };
  const without = plan({ labels: [{ name: 'a' }] }, current);
  expect(without.actions).toEqual([]);
  expect(without.extra.map(({ name }) => name)).toEqual(['used', 'free']);
  const pruned = plan({ labels: [{ name: 'a' }] }, current, { prune: true });
  expect(pruned.actions.map(({ name }) => name)).toEqual(['free']);
  expect(refusal(pruned)?.detail.problems).toMatchObject([
    { path: 'labels: used', message: naming('used', '3', 'stories', 'pruned') },
  ]);
  expect(lines({ labels: [{ name: 'a' }] }, current, { prune: true, force: true })).toEqual([
    'delete labels free',
    'delete labels used',
  ]);
});
test('lists that the file does not have are ignored', () => {
  expect(lines({ categories: [] }, { labels: [label(1, 'a')], categories: [] }, { prune: true })).toEqual([]);
});
test.each<[string, object, object, string]>([
  [
    'an objective with epics',
    { objectives: [] },
    { objectives: [{ id: 5, name: 'o', categories: [] }] },
    naming('used', '1', 'epics', 'pruned'),
  ],
  [
    'a category of an objective',
    { categories: [] },
    { categories: [{ id: 3, name: 'c' }] },
    naming('used', '1', 'pruned'),
  ],
  [
    'a project with stories',
    { projects: [] },
    { projects: [{ id: 3, name: 'p', stats: { num_stories: 1 } }] },
    naming('used', '1', 'pruned'),
  ],
  [
    'an iteration with stories',
    { iterations: [] },
    { iterations: [{ id: 3, name: 'i', stats: { num_stories_done: 2 } }] },
    naming('used', '2', 'stories', 'pruned'),
  ],
])('%s is kept', (_, workspace, current, message) => {
  expect(plan(workspace, current, { prune: true }).refused.map((problem) => problem.message)).toEqual([
    message,
  ]);
});
test('a group cannot be deleted: it is archived, once', () => {
  const group = { id: 'g', name: 'G', mention_name: 'g', num_stories: 0, archived: false };
  expect(lines({ groups: [] }, { groups: [group] }, { prune: true })).toEqual(['archive groups G']);
  expect(lines({ groups: [] }, { groups: [{ ...group, archived: true }] }, { prune: true })).toEqual([]);
});
test('values of a custom field are ordered, and omitted ones are removed only with --prune', () => {
  const field = {
    id: 'f',
    name: 'Priority',
    enabled: true,
    values: [
      { id: '1', value: 'Low', color_key: 'blue' },
      { id: '2', value: 'High', color_key: 'red' },
    ],
  };
  const wanted = (...names: string[]) => ({
    custom_fields: [{ name: 'Priority', values: names.map((value) => ({ value })) }],
  });
  const to = (names: string[], options = {}) =>
    (
      plan(wanted(...names), { custom_fields: [field] }, options).actions[0]?.changes.values?.to as
        | { value: string }[]
        | undefined
    )?.map(({ value }) => value);
  expect(to(['Low', 'High'])).toBeUndefined();
  expect(to(['High', 'Low'])).toEqual(['High', 'Low']);
  expect(to(['Low', 'Mid'])).toEqual(['Low', 'Mid', 'High']);
  expect(to(['Low'])).toBeUndefined();
  expect(to(['Low'], { prune: true })).toEqual(['Low']);
});
test('a missing custom field cannot be created, and no change is applied', () => {
  const found = plan(
    { labels: [{ name: 'new' }], custom_fields: [{ name: 'Nope' }] },
    { labels: [], custom_fields: [] },
  );
  expect(refusal(found)?.category).toBe('unsafe');
});
test('names of labels, categories and groups in any order are the same', () => {
  const iteration = {
    id: 1,
    name: 'S',
    start_date: '2026-01-01',
    end_date: '2026-01-02',
    labels: [{ name: 'a' }, { name: 'b' }],
    group_ids: ['g1'],
  };
  expect(
    lines(
      {
        iterations: [
          {
            name: 'S',
            start_date: '2026-01-01',
            end_date: '2026-01-02',
            labels: ['b', 'a'],
            groups: ['platform'],
          },
        ],
      },
      { iterations: [iteration] },
    ),
  ).toEqual([]);
});
test('dependent records are created later and removed earlier than their targets', () => {
  const workspace = {
    iterations: [{ name: 'S', start_date: '2026-01-01', end_date: '2026-01-02' }],
    labels: [{ name: 'l' }],
  };
  expect(
    lines(workspace, { iterations: [{ id: 1, name: 'Z' }], labels: [label(2, 'z')] }, { prune: true }),
  ).toEqual(['create labels l', 'create iterations S', 'delete iterations Z', 'delete labels z']);
});
test('a renamed label stays the same in its uses, and its old name is unused', () => {
  const current = {
    labels: [label(1, 'old', { external_id: 'x' })],
    iterations: [
      {
        id: 1,
        name: 'S',
        start_date: '2026-01-01',
        end_date: '2026-01-02',
        labels: [{ name: 'old' }],
        group_ids: [],
      },
    ],
  };
  const iteration = (name: string) => ({
    name: 'S',
    start_date: '2026-01-01',
    end_date: '2026-01-02',
    labels: [name],
  });
  expect(
    lines({ labels: [{ name: 'new', external_id: 'x' }], iterations: [iteration('new')] }, current),
  ).toEqual(['update labels old']);
  expect(() =>
    plan({ labels: [{ name: 'new', external_id: 'x' }], iterations: [iteration('old')] }, current),
  ).toThrow(/contradicts itself/);
});
test('a duplicate name is rejected', () => {
  expect(() => plan({ labels: [{ name: 'a' }, { name: 'a' }] }, { labels: [] })).toThrow(
    /contradicts itself/,
  );
});
test('the plan as text', () => {
  expect(
    planText(
      plan(
        { labels: [{ name: 'a', color: '#112233' }, { name: 'b' }] },
        { labels: [label(1, 'a'), label(2, 'c')] },
      ),
    ),
  ).toBe(
    '~ update labels: a\n    color: null → "#112233"\n+ create labels: b\n1 more in the service than in the file; --prune removes them\n2 to change, 0 match the file\n',
  );
});

test('the text of a plan names every record that rejects it', () => {
  const used = label(2, 'used', { stats: { num_stories_total: 3, num_epics: 0 } });
  const rejected = plan({ labels: [] }, { labels: [used] }, { prune: true });
  expect(rejected.actions).toEqual([]);
  const [first = '', total = ''] = planText(rejected).split('\n');
  expect(first).toContain(rejected.refused[0]?.path);
  expect(first).toContain('--force');
  expect(total).toBe('0 to change, 1 rejected, 0 match the file');
});
test('a list of 20,000 is matched entry by entry, by external_id, then by name', () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => label(i, `n${i}`, { external_id: `e${i}` }));
  const wanted = rows.map(({ name, external_id }, i) =>
    i === 7 ? { name: 'renamed', external_id } : { name },
  );
  expect(lines({ labels: wanted }, { labels: rows })).toEqual(['update labels n7']);
});
test('a group that --prune archived is active again when its entry returns', () => {
  const group = { id: 'g1', name: 'Platform', mention_name: 'platform', archived: false, num_stories: 0 };
  const entry = { name: 'Platform', mention_name: 'platform' };
  expect(lines({ groups: [] }, { groups: [group] }, { prune: true })).toEqual(['archive groups Platform']);
  const archived = { ...group, archived: true };
  expect(lines({ groups: [] }, { groups: [archived] }, { prune: true })).toEqual([]);
  expect(plan({ groups: [entry] }, { groups: [archived] }).actions).toMatchObject([
    { action: 'update', changes: { archived: { from: true, to: false } } },
  ]);
  expect(lines({ groups: [{ ...entry, archived: true }] }, { groups: [archived] })).toEqual([]);
});

test('a name that two records have is rejected in a changed field, and kept in an unchanged one', () => {
  const objectives = [
    { id: 5, name: 'o', external_id: 'a' },
    { id: 6, name: 'o', external_id: 'b' },
  ];
  const epic = { id: 7, name: 'e', objective_ids: [5] };
  const lookup = { groups: [], epics: [epic], objectives, epicStates: [] };
  const refusedFor = (epics: readonly object[], now: readonly object[]) =>
    plan({ epics }, { epics: now, objectives }, {}, lookup).refused;
  expect(refusedFor([{ name: 'e', objectives: ['o'] }], [epic])).toEqual([]);
  expect(refusedFor([{ name: 'new', objectives: ['o'] }], [epic])).toMatchObject([
    { path: 'epics: new', message: expect.stringContaining('5, 6') },
  ]);
});

test('two values of a custom field with one text are rejected, in the service and in the file', () => {
  const field = {
    id: 'f',
    name: 'Priority',
    values: ['High', 'High'].map((value, i) => ({ id: `v${i}`, value })),
  };
  const wanted = (...texts: string[]) => ({
    custom_fields: [{ name: 'Priority', values: texts.map((value) => ({ value })) }],
  });
  const refused = (workspace: object, values: object[]) =>
    plan(workspace, { custom_fields: [{ ...field, values }] }).refused.map(({ path }) => path);
  expect(refused(wanted('High', 'Low'), field.values)).toEqual(['custom_fields: Priority']);
  expect(refused(wanted('High', 'Low', 'Low'), field.values.slice(1))).toEqual(['custom_fields: Priority']);
  expect(refused(wanted('High', 'Low'), field.values.slice(1))).toEqual([]);
});

test('a label that an epic repeats is one label', () => {
  const epic = { id: 9, name: 'E', labels: [{ name: 'a' }, { name: 'b' }], objective_ids: [] };
  expect(lines({ epics: [{ name: 'E', labels: ['b', 'a', 'b'] }] }, { epics: [epic] })).toEqual([]);
  expect(lines({ epics: [{ name: 'E', labels: ['b', 'b'] }] }, { epics: [epic] })).toEqual([
    'update epics E',
  ]);
});

const epic = (id: number, more = {}) => ({ id, name: 'E', external_id: null, description: '', ...more });
const found = (entries: object[], rows: object[], options = {}) => {
  const { actions, refused } = plan({ epics: entries }, { epics: rows }, options);
  return [actions.map(({ action, id }) => [action, id]), refused.map(({ message }) => message)];
};
test('an entry that may mean several records is refused and names their IDs', () => {
  const twins = [epic(1), epic(2, { description: 'b' })];
  const refusal = [expect.stringContaining('1, 2')];
  expect(found([{ name: 'E', description: 'c' }], twins)).toEqual([[], refusal]);
  const both = [
    { name: 'E', description: 'c' },
    { name: 'E', description: 'd' },
  ];
  expect(found(both, twins)).toEqual([[], [...refusal, ...refusal]]);
  // The entry that needs no change shows which record the other entry means, in any order.
  const moved = [
    { name: 'E', description: 'b' },
    { name: 'E', description: 'c' },
  ];
  expect(found(moved, twins)).toEqual([[['update', 1]], []]);
  expect(found([{ name: 'E', description: 'b' }], twins)).toEqual([[], []]);
  expect(found([{ name: 'E', description: 'b' }], twins, { prune: true })).toEqual([[['delete', 1]], []]);
  expect(found([{ name: 'E' }], twins, { prune: true, force: true })).toEqual([
    [],
    [expect.stringContaining('2')],
  ]);
  const keyed = twins.map((row) => ({ ...row, external_id: 'k' }));
  expect(found([{ name: 'N', external_id: 'k' }], keyed)).toEqual([[], refusal]);
});
test('an archived record with the same name leaves the active record to an entry', () => {
  const rows = [epic(1, { archived: true }), epic(2, { archived: false })];
  const prune = { prune: true };
  expect(found([{ name: 'E', description: 'c' }], rows)).toEqual([[['update', 2]], []]);
  expect(found([{ name: 'E' }], rows, prune)).toEqual([[['delete', 1]], []]);
  expect(found([{ name: 'E', archived: true }, { name: 'E' }], rows, prune)).toEqual([[], []]);
  // Two entries of one state may mean the record of the other state.
  const both = [
    { name: 'E', description: 'c' },
    { name: 'E', description: 'd' },
  ];
  expect(found(both, rows)).toEqual([[], [expect.stringContaining('1, 2'), expect.stringContaining('1, 2')]]);
});
test('an entry does not take over a record that has another external_id', () => {
  const rows = [epic(1, { external_id: 'old' })];
  expect(found([{ name: 'E', external_id: 'new' }], rows)).toEqual([[], [naming('"new"', '"old"', '1')]]);
  expect(found([{ name: 'E', external_id: 'new' }], [epic(1)])).toEqual([[['update', 1]], []]);
  expect(found([{ name: 'E' }], rows)).toEqual([[], []]);
});
test('a template changes the parts that differ and refuses a state that two workflows have', () => {
  const none = { epics: [], iterations: [], projects: [], groups: [], custom_fields: [], linked_files: [] };
  const workflowStates = [3, 4].map((id) => ({ id, name: 'Done' }));
  const templates = { ...none, workflowStates };
  const row = { id: 't', name: 'T', story_contents: { name: 'a', workflow_state_id: 4 } };
  const planned = (story: object) =>
    plan(
      { entity_templates: [{ name: 'T', story }] },
      { entity_templates: [row] },
      {},
      {
        ...lookup,
        templates,
      },
    );
  expect(planned({ name: 'b', state: 'Done' })).toMatchObject({
    actions: [{ changes: { story: { from: { name: 'a' }, to: { name: 'b' } } } }],
    refused: [],
  });
  expect(
    Object.keys((planned({ name: 'b', state: 'Done' }).actions[0]?.changes.story?.to ?? {}) as object),
  ).toEqual(['name']);
  const other = { ...row, story_contents: { name: 'a' } };
  const refused = plan(
    { entity_templates: [{ name: 'T', story: { state: 'Done' } }] },
    { entity_templates: [other] },
    {},
    { ...lookup, templates },
  ).refused;
  expect(refused).toMatchObject([{ message: naming('story.state', '3, 4') }]);
});
test('a group of a file is the one with this mention name', () => {
  const groups = [
    { id: 'g1', name: 'dev', mention_name: 'one' },
    { id: 'g2', name: 'Two', mention_name: 'dev' },
    { id: 'g3', name: 'Two', mention_name: 'three' },
  ];
  expect(idOf(groups, 'dev', 'mention_name')).toBe('g2');
  expect(() => idOf(groups, 'Two')).toThrow(errorWith('usage', 'g2', 'g3'));
});
