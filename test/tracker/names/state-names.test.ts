import { expect, test } from 'vitest';
import { findState, stateTexts } from '../../../src/tracker/stories.ts';
import { naming } from '../../support/facts.ts';
import { type RunOptions, trackerInMemory } from '../../support/in-memory.ts';

const stateAt = (id: number, name: string) => ({ id, name, type: 'started' });
/** Two workflows that share a state name, as the workflows of two teams do. */
const workflows = [
  { id: 1, name: 'Web', states: [stateAt(11, 'Done'), stateAt(12, 'Ready')] },
  { id: 2, name: 'App', states: [stateAt(21, 'Done'), stateAt(22, 'Web/Ready')] },
];
const meanwhile: RunOptions['meanwhile'] = ({ path }) =>
  path.startsWith('/workflows') ? { status: 200, json: workflows } : undefined;

/** Each way to name a state: the files and the words of a command. */
const rows = '{"op":"create","resource":"stories","name":"s","workflow_state_id":"STATE"}\n';
const ways: Readonly<Record<string, { files: Record<string, string>; words: string[] }>> = {
  'a flag': {
    files: {},
    words: ['stories', 'create', '--name', 's', '--workflow-state', 'STATE', '--dry-run', '-o', 'json'],
  },
  'a row of NDJSON': {
    files: { 'r.ndjson': rows },
    words: ['bulk', '-f', 'r.ndjson', '--dry-run', '-o', 'json'],
  },
  'a cell of a table': {
    files: { 'r.csv': 'name,workflow_state_id\ns,STATE\n' },
    words: ['bulk', '-f', 'r.csv', '--resource', 'stories', '--op', 'create', '--dry-run', '-o', 'json'],
  },
  'a map file': {
    files: { 'r.csv': 'Title,URL,Status\ns,u,Own word\n', 'm.yaml': 'states: {Own word: STATE}\n' },
    words: ['sync', '-f', 'r.csv', '--from', 'github', '--map-file', 'm.yaml', '--dry-run', '-o', 'json'],
  },
  'a template of a workspace file': {
    files: { 'w.yaml': 'entity_templates: [{name: T, story: {name: s, state: STATE}}]\n' },
    words: ['diff', '-f', 'w.yaml', '-o', 'json'],
  },
};
const runWay = (way: string, state: string) => {
  const { files, words } = ways[way] ?? { files: {}, words: [] };
  const filled = Object.entries(files).map(([name, text]) => [name, text.replace('STATE', state)]);
  const at = trackerInMemory(Object.fromEntries(filled));
  return at.run(
    words.map((word) => word.replace('STATE', state)),
    { meanwhile },
  );
};
test.each(Object.keys(ways))('%s names a state of one of two workflows as WORKFLOW/STATE', async (way) => {
  const found = await runWay(way, 'App/Done');
  expect([0, 20]).toContain(found.code);
  expect(found.out).toEqual(expect.stringMatching(/"workflow_state_id": 21|"state": "App\/Done"/));
  const shared = await runWay(way, 'Done');
  expect([shared.code === 0, shared.writes]).toEqual([false, []]);
  expect(`${shared.out}${shared.err}`).toEqual(naming('Web/Done', 'App/Done'));
  // A state may be called like the long name of another state.
  const both = await runWay(way, 'Web/Ready');
  expect(both.code).not.toBe(0);
  expect(`${both.out}${both.err}`).toEqual(naming('12', '22', 'App/Web/Ready'));
});

test('each state has one text in a file, and its ID if it shares all names', () => {
  const alike = { ...(workflows[0] ?? { id: 0, name: '' }), states: [stateAt(31, 'Done')] };
  expect([...stateTexts(workflows)]).toEqual([
    [11, 'Web/Done'],
    [12, 'Ready'],
    [21, 'App/Done'],
    [22, 'App/Web/Ready'],
  ]);
  expect([...stateTexts([...workflows, alike])].filter(([id]) => id === 11 || id === 31)).toEqual([
    [11, '11'],
    [31, '31'],
  ]);
});

test('an export names the state of a template so that the file makes no change', async () => {
  const at = trackerInMemory();
  const [{ states }] = at.send('GET', '/workflows');
  const { id } = states[0];
  at.send('POST', '/entity-templates', {
    name: 'T',
    story_contents: { name: 's', workflow_state_id: id },
  });
  for (const [name, text] of [
    ['Web', 'Web/Done'],
    ['App', `"${id}"`],
  ]) {
    const json = [
      { id: 1, name: 'Web', states: [stateAt(id, 'Done')] },
      { id: 2, name: name === 'Web' ? 'App' : 'Web', states: [stateAt(7, 'Done')] },
    ];
    const options: RunOptions = {
      meanwhile: ({ path }) => (path.startsWith('/workflows') ? { status: 200, json } : undefined),
    };
    const exported = await at.run(['export'], options);
    expect(exported.out).toContain(`state: ${text}`);
    await at.write('w.yaml', exported.out);
    expect((await at.run(['diff', '-f', 'w.yaml', '-o', 'json'], options)).code).toBe(0);
  }
});

test('a story moves to a state that its workflow names', () => {
  const states = [{ ...stateAt(11, 'Done'), names: ['Done', 'Web/Done'] }, stateAt(12, 'Ready')];
  expect(['Web/Done', 'web/done', 'ready'].map((word) => findState(states, word, 'state').id)).toEqual([
    11, 11, 12,
  ]);
  expect(() => findState(states, 'App/Done', 'state')).toThrow();
});

test('an unknown name of a workspace file is shown as the file has it, with its line', async () => {
  const at = trackerInMemory({
    'w.yaml': 'entity_templates:\n  - name: T\n    story:\n      name: s\n      state: Engineering/Nope\n',
    'g.yaml': 'groups:\n  - name: G\n    mention_name: g\n    member_ids: [nobody]\n',
  });
  for (const [file, path, line, name] of [
    ['w.yaml', 'entity_templates[0].story.state', 5, '"Engineering/Nope"'],
    ['g.yaml', 'groups[0].member_ids[0]', 4, '"nobody"'],
  ] as const) {
    const error = (await at.run(['diff', '-f', file, '-o', 'json'])).error();
    expect([error.code, error.message]).toEqual(['NO_SUCH_NAME', expect.stringContaining(name)]);
    expect(error.problems).toMatchObject([{ file, path, line }]);
  }
});
