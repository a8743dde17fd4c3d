import { describe, expect, test } from 'vitest';
import { covers } from '../../support/covers.ts';
import { formats } from '../../../src/core/format.ts';
import { limits } from '../../../src/core/limits.ts';
import { naming } from '../../support/facts.ts';
import { namesMissingDay, readMoment } from '../../../src/tracker/bulk/presets.ts';
import { foreignColumns, presetNames } from '../../../src/tracker/bulk/presets.ts';
import { trackerInMemory } from '../../support/in-memory.ts';

/** Headers and rows as the export of each tool writes them. */
const exports: Readonly<Record<string, string>> = {
  jira: `\uFEFFSummary,Issue key,Issue id,Issue Type,Status,Assignee,Labels,Labels,Due Date,Description,Custom field (Story Points),Comment,Comment,Created
"Quoted ""name"", comma",PROJ-1,10001,Bug,In Progress,nobody,backend,team/1,15/Dec/26 12:00 AM,"line one
line two",3.0,02/Nov/26 9:30 AM;ana;Deploy,,01/Nov/26 9:30 PM
Second,PROJ-2,10002,Story,To Do,,,,,,,,,02/Nov/26 9:30 AM
`,
  linear: `"ID","Team","Title","Description","Status","Estimate","Priority","Creator","Assignee","Labels","Cycle Name","Created","Due Date"
"ENG-1","Eng","First","text","In Progress","2","High","a@example.com","b@example.com","bug, ops","","2026-11-02T10:00:00.000Z","2026-12-01"
"ENG-2","Eng","Second","","Done","","No priority","","","","Cycle 1","Mon Nov 02 2026 10:00:00 GMT+0000 (GMT)",""
`,
  trello: `Card ID,Card Name,Card URL,Card Description,Labels,Members,Due Date,List Name,Board Name,Archived
5f1a,First,https://trello.example/c/1,text,"bug (red),ops (blue_dark)","ana,ben",2026-12-01T10:00:00.000Z,Doing,Board,false
5f1b,Second,https://trello.example/c/2,,,,,Done,Board,true
`,
  asana: `Task ID,Created At,Completed At,Last Modified,Name,Section/Column,Assignee,Assignee Email,Start Date,Due Date,Tags,Notes,Projects,Parent task
12001,2026-11-01,,2026-11-02,First,Doing,Ana,ana@nowhere.example,,2026-12-01,"bug,ops",text,Project,
12002,2026-11-01,2026-11-02,2026-11-02,Second,Complete,,,,,,,Project,First
`,
  github: `Title,URL,Assignees,Status,Labels,Repository,Milestone
First,https://github.example/o/r/issues/1,"ana, ben",In Progress,"bug, ops",o/r,v1
Second,https://github.example/o/r/issues/2,,Done,,o/r,
`,
  gitlab: `Title,Description,Issue ID,URL,State,Author,Author Username,Assignee,Assignee Username,Confidential,Locked,Due Date,Created At (UTC),Updated At (UTC),Closed At (UTC),Milestone,Weight,Labels,Time Estimate,Time Spent,Epic ID,Epic Title
First,text,1,https://gitlab.example/g/p/-/issues/1,Open,Ana,ana,"Ana, Ben","ana, ben",No,No,2026-12-01,2026-11-01 10:11:12,2026-11-02 10:11:12,,v1,3,"bug,ops",0,0,,
Second,,2,https://gitlab.example/g/p/-/issues/2,Closed,Ana,ana,,,No,No,,2026-11-01 10:11:12,2026-11-02 10:11:12,2026-11-03 10:11:12,,,,0,0,,
`,
  'azure-boards': `\uFEFF"ID","Work Item Type","Title","Assigned To","State","Tags","Description","Story Points","Iteration Path"
"760","Bug","First","Ana <ana@nowhere.example>","Active","bug; ops","text","3","Project\\Sprint 1"
"761","User Story","Second",,"New",,,,"Project"
`,
  shortcut: `id,name,type,requester,owners,description,is_completed,created_at,updated_at,estimate,labels,tasks,state,epic_id,epic,iteration_id,utc_offset,is_archived,workflow,custom_fields
512,First,bug,ana@nowhere.example,ana@nowhere.example;ben@nowhere.example,text,FALSE,2026/11/01 16:00:00,2026/11/02 16:00:00,2,bug;ops,one;two,In Progress,99,An epic,77,-5:00,FALSE,Engineering,
513,Second,chore,ana@nowhere.example,,,TRUE,2026/11/01 16:00:00,2026/11/02 16:00:00,,,,Completed,,,,-5:00,TRUE,Engineering,
`,
};
type Bed = ReturnType<typeof trackerInMemory>;
const stories = (at: Bed): any[] =>
  at
    .send('POST', '/stories/search', { includes_description: true })
    .toSorted((a: any, b: any) => a.name.localeCompare(b.name));
const labelsOf = (story: any): string[] => story.labels.map(({ name }: any) => name).toSorted();

test('each ready map has an export', () => {
  expect(Object.keys(exports)).toEqual([...presetNames]);
});
test.each([
  ['linear', 'ID,Title,Labels', 'a|b; c,d'],
  ['asana', 'Task ID,Name,Tags', 'a|b; c,d'],
  ['gitlab', 'URL,Title,Labels', 'a|b; c,d'],
  ['azure-boards', 'ID,Title,Tags', 'a|b, c;d'],
  ['shortcut', 'id,name,labels', 'a|b, c;d'],
])('only the separator of %s separates labels', async (tool, header, labels) => {
  const list = `"[""e, f;g""]"`;
  const at = trackerInMemory({ 'r.csv': `${header}\n1,A,"${labels}"\n2,B,${list}\n3,C,one\n` });
  const words = ['sync', '-f', 'r.csv', '--from', tool, '--create-labels', '-o', 'json'];
  expect((await at.run(words)).code).toBe(0);
  const [first = '', second = ''] = labels.split(labels.includes('; ') ? ',' : ';');
  expect(stories(at).map(labelsOf)).toEqual([[first, second], ['e, f;g'], ['one']]);
  expect((await at.run(words)).json().map(({ status }: any) => status)).toEqual(Array(3).fill('unchanged'));
});
test('IDs and times of another workspace are not the values of fields with the same name', async () => {
  const at = trackerInMemory({ 'r.csv': exports.shortcut ?? '' });
  const ran = await at.run(['sync', '-f', 'r.csv', '--from', 'shortcut', '--dry-run', '-o', 'json']);
  const keys = ran.json().flatMap(({ request }: any) => Object.keys(request.body));
  for (const column of foreignColumns.shortcut ?? []) expect(keys).not.toContain(column);
  const map = ['--map', 'created_at=created_at'];
  const mapped = await at.run([
    'sync',
    '-f',
    'r.csv',
    '--from',
    'shortcut',
    ...map,
    '--dry-run',
    '-o',
    'json',
  ]);
  expect(mapped.json()[0].request.body.created_at).toBe('2026-11-01T16:00:00Z');
});
test('a user of Azure Boards is found by the address', async () => {
  const row = (user: string) => `ID,Title,Assigned To\n1,A,${user}\n`;
  for (const [user, count] of [
    ['Ana Surname <ana@example.com>', 1],
    ['ana', 1],
    ['<ana@example.com> x', 0],
  ] as const) {
    const at = trackerInMemory({ 'r.csv': row(user) }, 'demo');
    const ran = await at.run(['sync', '-f', 'r.csv', '--from', 'azure-boards', '--dry-run', '-o', 'json']);
    expect([user, ran.json()[0].request.body.owner_ids?.length ?? 0]).toEqual([user, count]);
  }
});
test('a user of Azure Boards is found in a map file by the text of the cell', async () => {
  const users = `users: {'Lima, Ana <ana@nowhere.example>': ana, 'ben@nowhere.example': ana}\n`;
  const row = (user: string) => `1,A,"${user}","${user}"\n`;
  for (const [user, count] of [
    ['Lima, Ana <ana@nowhere.example>', 1],
    ['Ben <ben@nowhere.example>', 1],
    ['Eva <eva@nowhere.example>', 0],
  ] as const) {
    const text = `ID,Title,Assigned To,Created By\n${row(user)}`;
    const at = trackerInMemory({ 'r.csv': text, 'm.yaml': users }, 'demo');
    const words = ['sync', '-f', 'r.csv', '--from', 'azure-boards', '--map-file', 'm.yaml', '--dry-run'];
    const { body } = (await at.run([...words, '-o', 'json'])).json()[0].request;
    const found = [body.owner_ids?.length ?? 0, body.requested_by_id === undefined ? 0 : 1];
    expect([user, ...found]).toEqual([user, count, count]);
  }
});
test.each([
  ['Product Backlog Item', 'feature'],
  ['Issue', 'feature'],
  ['Bug', 'bug'],
  ['Task', 'chore'],
  ['Impediment', undefined],
])('a work item of the type %s of Azure Boards is a %s', async (type, expected) => {
  const at = trackerInMemory({ 'r.csv': `ID,Title,Work Item Type\n1,A,${type}\n` });
  const ran = await at.run(['sync', '-f', 'r.csv', '--from', 'azure-boards', '--dry-run', '-o', 'json']);
  expect(ran.json()[0].request.body.story_type).toBe(expected);
});
describe('the column workflow of Shortcut', () => {
  const states = (first: number) =>
    ['unstarted', 'started', 'done'].map((type, i) => ({
      id: first + i,
      name: ['Next', `Build ${first}`, 'Shipped'][i],
      type,
    }));
  const workflows = [10, 20].map((id) => ({ id, name: `Team ${id}`, states: states(id) }));
  const meanwhile = ({ path }: { path: string }) =>
    path.startsWith('/workflows') ? { status: 200, json: workflows } : undefined;
  const run = (rows: string, ...more: string[]) => {
    const at = trackerInMemory({
      'r.csv': `id,name,state,workflow\n${rows}\n`,
      'm.yaml': 'states: {Fertig: Shipped, Team 20/Neu: "11", Neu: "10"}\n',
    });
    const words = ['sync', '-f', 'r.csv', '--from', 'shortcut', '--dry-run', '-o', 'json', ...more];
    return at.run(words, { meanwhile });
  };
  test.each([
    ['1,A,Shipped,Team 10', 12],
    ['1,A,Shipped,Team 20', 22],
    ['1,A,shipped,team 20', 22],
    // The word means a type, which a state of each workflow has.
    ['1,A,Done,Team 20', 22],
    // Only one workflow has the state.
    ['1,A,Build 10,Team 20', 10 + 1],
    ['1,A,Build 20,Another', 21],
    ['1,A,21,Team 10', 21],
    ['1,A,Team 20/Next,', 20],
    ['1,A,Team 20/Next,Team 20', 20],
    ['1,A,Fertig,Team 20', 22],
    ['1,A,Neu,Team 10', 10],
    ['1,A,Neu,Team 20', 11],
  ])('leads the row %s to the state %i', async (row, id) => {
    const ran = await run(row, '--map-file', 'm.yaml');
    expect([ran.code, ran.json()[0].request.body.workflow_state_id]).toEqual([0, id]);
    expect(ran.err).not.toContain('"workflow"');
  });
  test('is read once, and another workflow or a map without the column decides nothing', async () => {
    const ran = await run(Array.from({ length: 30 }, (_, i) => `${i + 1},A,Shipped,Team 10`).join('\n'));
    expect(ran.requests.filter(({ path }) => path.startsWith('/workflows'))).toHaveLength(1);
    expect((await run('1,A,Shipped,Another')).code).not.toBe(0);
    expect((await run('1,A,Shipped,Team 20', '--map', 'workflow=')).code).not.toBe(0);
    const unknown = await run('1,A,Odd,Team 20');
    expect([unknown.code, unknown.err]).toEqual([0, naming('workflow_state_id', '"Odd"')]);
  });
});
test('a JSON document, a title and an ID of another tool have their own hint', async () => {
  const at = trackerInMemory({
    'list.json': '[\n  {"external_id": "1"}\n]\n',
    'object.json': '\n{\n  "external_id": "1"\n}\n',
    'title.csv': 'Table 1\n\nexternal_id,name\n1,A\n',
    'id.csv': 'ID,name\n1,A\n',
  });
  const run = async (file: string) => {
    const ran = await at.run(['sync', '-f', file, '--resource', 'stories', '-o', 'json']);
    expect([ran.code, ran.requests]).toEqual([2, []]);
    expect(ran.err).not.toContain('--resume');
    return ran.error();
  };
  expect(await run('list.json')).toMatchObject({
    problems: [{ file: 'list.json', line: 1 }],
    hint: "jq -c '.[]' list.json > ROWS.ndjson",
  });
  expect((await run('object.json')).problems).toMatchObject([{ file: 'object.json', line: 2 }]);
  expect((await run('title.csv')).problems[0].hint).toEqual(naming('lines before the header'));
  expect((await run('id.csv')).problems[0].hint).toEqual(naming('ID=external_id'));
});
test.each([
  ['[', true],
  ['[ {"a": 1},', true],
  ['[[1],', true],
  ['["a",', true],
  ['[1,', true],
  ['{', true],
  ['[2026-01-01 10:00] INFO started', false],
  ['[INFO] started', false],
  ['[12] started', false],
])('a first line %s is the start of a JSON document: %s', async (line, isDocument) => {
  const at = trackerInMemory({ 'r.ndjson': `${line}\n{"name": "A"}\n` });
  const ran = await at.run(['bulk', '-f', 'r.ndjson', '--resource', 'epics', '--dry-run', '-o', 'ndjson']);
  expect(ran.code).not.toBe(0);
  expect(`${ran.out}${ran.err}`.includes('ROWS.ndjson')).toBe(isDocument);
});

describe.each(Object.keys(exports))('an export of %s', (tool) => {
  test('an export is checked, imported, and imported again without a change', async () => {
    const at = trackerInMemory({ 'export.csv': exports[tool] ?? '' });
    const run = (...more: string[]) =>
      at.run(['sync', '-f', 'export.csv', '--from', tool, '-o', 'json', ...more]);
    const dry = await run('--dry-run');
    expect([dry.code, dry.json().map((row: any) => row.status)]).toEqual([0, ['would', 'would']]);
    const first = await run();
    expect([first.code, first.json().map((row: any) => row.op)]).toEqual([0, ['create', 'create']]);
    const [one, two] = stories(at);
    expect([one.description.split('\n')[0], one.external_id === two.external_id]).toEqual([
      tool === 'github' ? '' : tool === 'jira' ? 'line one' : 'text',
      false,
    ]);
    expect(labelsOf(one)).toEqual(tool === 'jira' ? ['backend', 'team/1'] : ['bug', 'ops']);
    const again = await run();
    expect(again.json().map((row: any) => row.status)).toEqual(['unchanged', 'unchanged']);
    expect(stories(at)).toHaveLength(2);
    // opsctl reports each column without a field once, not once for each row.
    const column = {
      jira: 'Comment',
      linear: 'Team',
      trello: 'Board Name',
      asana: 'Projects',
      github: 'Repository',
      gitlab: 'Milestone',
      'azure-boards': 'Iteration Path',
      shortcut: 'epic_id',
    };
    expect(again.err.split(`column "${column[tool as keyof typeof column]}"`)).toHaveLength(2);
  });
});

test.each([
  ['jira', 'Zusammenfassung;Vorgangsschlüssel;Status\na;K-1;Offen\n', ['name', 'external_id']],
  ['linear', 'Summary,Issue key\na,K-1\n', ['name', 'external_id']],
  ['asana', 'Name,Notes\na,b\n', ['external_id']],
  // An empty cell behind the header is not a column.
  ['jira', 'Zusammenfassung;Vorgang;\na;K-1;\n', ['name', 'external_id']],
  // The first line of an export without a header is not a header.
  ['github', '12\tOPEN\tFirst\tbug\n', ['name', 'external_id']],
])('a header without the columns of %s is one error', async (tool, file, fields) => {
  const at = trackerInMemory({ 'a.csv': file });
  const ran = await at.run(['sync', '-f', 'a.csv', '--from', tool, '-o', 'json']);
  const { code, problems } = ran.error();
  expect([ran.code, code, ran.requests]).toEqual([2, 'MISSING_COLUMNS', []]);
  expect(problems.map((one: any) => /^reads (\S+)/.exec(one.message)?.[1])).toEqual(fields);
});
test.each(['jira', 'github'])(
  'a line of delimiters before the header of %s is not a header',
  async (tool) => {
    const at = trackerInMemory({ 'a.csv': ';;\nSummary;Issue key;Title\na;K-1;b\n' });
    const ran = await at.run(['sync', '-f', 'a.csv', '--from', tool, '-o', 'json']);
    const { code, problems } = ran.error();
    expect([ran.code, code, problems.map(({ line }: any) => line)]).toEqual([2, 'MALFORMED_CSV', [1]]);
  },
);
test('columns of another language are mapped, and a create needs no key', async () => {
  const at = trackerInMemory({
    'a.csv': 'Zusammenfassung;Vorgangsschlüssel\na;K-1\n',
    'b.csv': 'Title\nb\n',
  });
  const run = (...words: string[]) => at.run([...words, '-o', 'json']);
  const map = 'Zusammenfassung=name,Vorgangsschlüssel=external_id';
  const codes = [
    await run('sync', '-f', 'a.csv', '--from', 'jira', '--map', map),
    await run('bulk', '-f', 'b.csv', '--from', 'github', '--op', 'create'),
  ].map(({ code }) => code);
  expect([...codes, stories(at).map(({ name }) => name)]).toEqual([0, 0, ['a', 'b']]);
});
test('an export of a part of the columns changes the records that have its key', async () => {
  const at = trackerInMemory({
    'a.csv': 'Summary;Issue key\na;K-1\n',
    'b.csv': 'Issue key;Labels\nK-1;urgent\n',
  });
  const run = (...words: string[]) => at.run([...words, '--from', 'jira', '-o', 'json']);
  await run('sync', '-f', 'a.csv');
  const ran = await run('sync', '-f', 'b.csv');
  expect([ran.code, ran.json().map((row: any) => row.op)]).toEqual([0, ['update']]);
  expect(stories(at).map((one) => [one.name, labelsOf(one)])).toEqual([['a', ['urgent']]]);
});
test('only a new record needs a column for its name', async () => {
  const at = trackerInMemory();
  const [{ states }] = at.send('GET', '/workflows');
  const { id } = at.send('POST', '/stories', { name: 'a', workflow_state_id: states[0].id });
  const files: [text: string, ...flags: string[]][] = [
    ['op,id,Description\nupdate,ID,text\n'],
    ['id,Description\nID,more\n', '--op', 'update'],
    ['op,id\ndelete,ID\n', '--dry-run'],
    ['id,Status\nID,Done\n', '--op', 'delete', '--dry-run'],
  ];
  for (const [text, ...flags] of files) {
    await at.write('c.csv', text.replace('ID', String(id)));
    const words = ['bulk', '-f', 'c.csv', '--from', 'jira', '--map', 'id=id', '-o', 'json', ...flags];
    expect([text, (await at.run(words)).code]).toEqual([text, 0]);
  }
  expect(stories(at).map(({ name, description }) => [name, description])).toEqual([['a', 'more']]);
  await at.write('c.csv', 'Zusammenfassung;Issue key;\na;K-1;\n');
  const create = await at.run(['bulk', '-f', 'c.csv', '--from', 'jira', '--op', 'create', '-o', 'json']);
  expect([create.code, create.error().code]).toEqual([2, 'MISSING_COLUMNS']);
});
test.each([
  ['Fix; it (red), "quoted" (sky_light), (blue)', ['"quoted"', '(blue)', 'Fix; it']],
  ['Very (important) (red);plain', ['Very (important)', 'plain']],
  ['a, b', ['a', 'b']],
  ['a (null), b (red), c ()', ['a', 'b', 'c']],
  ['call() (red), (null), d', ['(null)', 'call()', 'd']],
  ['["Urgent, now", "call()"]', ['Urgent, now', 'call()']],
])('the labels of a board in %j keep their names', async (cell, names) => {
  const at = trackerInMemory({ 'a.csv': `Card ID,Card Name,Labels\n1,a,"${cell.replaceAll('"', '""')}"\n` });
  await at.run(['sync', '-f', 'a.csv', '--from', 'trello']);
  expect(labelsOf(stories(at)[0])).toEqual(names);
});
test.each([
  ['Backend, Urgent (red)', ['Backend, Urgent'], ['Backend', 'Urgent']],
  ['a (red), Backend, Urgent (null)', ['Backend, Urgent'], ['Backend', 'Urgent']],
  ['Backend, (red)', ['Backend,'], ['Backend', '(red)']],
  ['a (red), b, c', ['b, c'], ['b', 'c']],
])('a comma next to a color is refused with both meanings: %s', async (cell, one, other) => {
  const row = (labels: string) => `Card ID,Card Name,Labels\n1,a,"${labels.replaceAll('"', '""')}"\n`;
  const values = JSON.stringify({ [cell]: one });
  const at = trackerInMemory({
    'a.csv': row(cell),
    'm.yaml': `columns:\n  Labels: {field: labels, values: ${values}}\n`,
  });
  const words = ['sync', '-f', 'a.csv', '--from', 'trello', '-o', 'json'];
  const ran = await at.run(words);
  expect([ran.code, ran.writes]).toEqual([2, []]);
  const [{ error }] = ran.json();
  expect(error.problems[0]).toMatchObject({ path: 'Labels', rule: 'rule' });
  expect(error.problems[0].message).toEqual(naming(JSON.stringify(one), JSON.stringify(other)));
  expect((await at.run([...words, '--map-file', 'm.yaml'])).code).toBe(0);
  expect(labelsOf(stories(at)[0])).toEqual(one);
  await at.write('a.csv', row(JSON.stringify(other)));
  expect((await at.run(words)).code).toBe(0);
  expect(labelsOf(stories(at)[0])).toEqual(other.toSorted());
});
test('a map of some labels leaves the colors of the other labels out', async () => {
  const at = trackerInMemory({
    'a.csv': 'Card ID,Card Name,Labels\n1,a,old (red)\n2,b,"c (red), d (blue)"\n',
    'm.yaml': 'columns:\n  Labels: {field: labels, values: {old (red): [new]}}\n',
  });
  const ran = await at.run(['sync', '-f', 'a.csv', '--from', 'trello', '--map-file', 'm.yaml']);
  expect([ran.code, stories(at).map(labelsOf)]).toEqual([0, [['new'], ['c', 'd']]]);
});
test.each([
  ['Custom field (Story Points)', 'Custom field (Story point estimate)', '3', '5', 'estimate'],
  ['Due Date', 'Due', '2026-12-01', '2026-12-02', 'deadline'],
])('the columns %s and %s are one value', async (one, other, value, different, field) => {
  const rows = `1,a,${value},\n2,b,,${different}\n3,c,${value},${value}\n`;
  const at = trackerInMemory({
    'a.csv': `Issue key,Summary,${one},${other}\n${rows}`,
    'b.csv': `Issue key,Summary,${one},${other}\n4,d,${value},${different}\n`,
  });
  const run = (file: string, ...more: string[]) =>
    at.run(['sync', '-f', file, '--from', 'jira', '-o', 'json', ...more]);
  expect((await run('a.csv')).code).toBe(0);
  const shown = stories(at).map((story) => String(story[field]).slice(0, value.length));
  expect(shown).toEqual([value, different, value]);
  const ran = await run('b.csv');
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(JSON.stringify(ran.json()[0].error)).toEqual(naming(one, other, field));
  expect((await run('b.csv', '--map', `${other}=`)).code).toBe(0);
});
test('a value that the map file has for a date is used', async () => {
  const at = trackerInMemory({
    'a.csv': 'Issue key,Summary,Due\n1,a,someday\n',
    'm.yaml': 'columns:\n  Due: {field: deadline, values: {someday: 2026-12-31}}\n',
  });
  const ran = await at.run(['sync', '-f', 'a.csv', '--from', 'jira', '--map-file', 'm.yaml']);
  expect([ran.code, stories(at)[0]?.deadline]).toEqual([0, '2026-12-31T00:00:00Z']);
});
test('a list and a number of a map file keep their type in a row of NDJSON', async () => {
  const at = trackerInMemory({
    'a.ndjson': '{"external_id":"1","name":"a","Labels":"old","Size":"L"}\n',
    'm.yaml':
      'columns:\n  Labels: {field: labels, values: {old: [new]}}\n  Size: {field: estimate, values: {L: 5}}\n',
  });
  const words = [
    'sync',
    '-f',
    'a.ndjson',
    '--resource',
    'stories',
    '--map-file',
    'm.yaml',
    '--create-labels',
  ];
  const ran = await at.run(words);
  expect([ran.code, labelsOf(stories(at)[0]), stories(at)[0]?.estimate]).toEqual([0, ['new'], 5]);
});
test('items that a cell of a list repeats are sent as the file has them', async () => {
  const at = trackerInMemory({ 'a.csv': 'name,labels\nT1,a;b;a\n' });
  const ran = await at.run('bulk -f a.csv --resource stories --op create --create-labels'.split(' '));
  expect(ran.writes[0]?.body.labels).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'a' }]);
  expect([ran.code, labelsOf(stories(at)[0])]).toEqual([0, ['a', 'b']]);
});
test('texts and lists of GitLab have no quote that the export wrote before a formula', async () => {
  const rows = ["1,'- item,'-x,'@team", "2,';a,'=1,\"'+a,+b\"", "3,'tis,'|x,''-c"];
  const at = trackerInMemory({ 'a.csv': `URL,Title,Description,Labels\n${rows.join('\n')}\n` });
  const ran = await at.run(['sync', '-f', 'a.csv', '--from', 'gitlab', '--create-labels', '-o', 'json']);
  expect(ran.code).toBe(0);
  const read = new Map(stories(at).map((one) => [one.external_id, one]));
  expect(['1', '2', '3'].map((id) => [read.get(id).name, read.get(id).description])).toEqual([
    ['- item', '-x'],
    [';a', '=1'],
    ["'tis", "'|x"],
  ]);
  expect(['1', '2', '3'].map((id) => labelsOf(read.get(id)))).toEqual([['@team'], ['+a', '+b'], ["''-c"]]);
});
test('a text that was escaped for spreadsheets, and the time of archiving, are read', async () => {
  const file = `ID,Title,Description,Archived\n1,'=SUM(A1),'- item,2026-05-12T10:00:00Z\n2,'quoted' name,'tis,\n`;
  const at = trackerInMemory({ 'a.csv': file });
  const ran = await at.run(['sync', '-f', 'a.csv', '--from', 'linear', '-o', 'json']);
  expect([ran.code, stories(at).map((one) => [one.name, one.description, one.archived])]).toEqual([
    0,
    [
      ["'quoted' name", "'tis", false],
      ['=SUM(A1)', '- item', true],
    ],
  ]);
});
describe('a header of Linear that ends with a column which the rows leave out', () => {
  const sync = async (rows: string, header = 'ID,Title,SLA Status,Roadmaps', from = 'linear') => {
    const at = trackerInMemory({ 'a.csv': `${header}\n${rows}` });
    const ran = await at.run(['sync', '-f', 'a.csv', '--from', from, '-o', 'json']);
    return [
      ran.code,
      stories(at)
        .map((one) => one.name)
        .sort(),
    ];
  };
  test('is read if all rows leave it out, or none', async () => {
    expect(await sync('1,a,\n2,b,x\n')).toEqual([0, ['a', 'b']]);
    expect(await sync('1,a,,\n2,b,,r\n')).toEqual([0, ['a', 'b']]);
  });
  test.each([
    ['a later row is shorter than the first one', '1,a,,\n2,b,\n', undefined, undefined],
    ['a later row is longer than the first one', '1,a,\n2,b,,\n', undefined, undefined],
    ['two cells are missing', '1,a\n', undefined, undefined],
    ['another column is the last one', '1,a,\n', 'ID,Title,Roadmaps,SLA Status', undefined],
    ['another tool wrote it', 'u,a,\n', 'URL,Title,Body,Roadmaps', 'github'],
  ])('is refused if %s', async (_, rows, header, from) => {
    expect(await sync(rows, header, from)).toEqual([2, []]);
  });
});
test.each([
  ['{field: name}', 0],
  ['{field: name, values: {a: b}}', 0],
  ['{field: name, values: b}', 2],
  ['{values: {a: b}}', 2],
])('a map file with the column rule %s ends with exit code %i', async (rule, code) => {
  const at = trackerInMemory({ 'a.csv': 'Title\na\n', 'm.yaml': `columns:\n  Title: ${rule}\n` });
  const words = ['--map-file', 'm.yaml', '--resource', 'labels', '--op', 'create', '--dry-run', '-o', 'json'];
  expect((await at.run(['bulk', '-f', 'a.csv', ...words])).code).toBe(code);
});

test('unknown columns of a header are one error for any number of rows', async () => {
  const rows = Array.from({ length: 300 }, (_, i) => `a,b${i},c\n`);
  const file = `Summary,Issue key,Extra\n${rows.join('')}`;
  const at = trackerInMemory({ 'a.csv': file });
  const run = (...more: string[]) =>
    at.run(['bulk', '-f', 'a.csv', '--resource', 'stories', '--op', 'create', '-o', 'json', ...more]);
  const refused = await run();
  expect([refused.code, refused.error().code, refused.error().problems.length, refused.requests]).toEqual([
    ...[2, 'UNKNOWN_COLUMNS', 3, []],
  ]);
  const wrong = await run('--map', 'Summary=nam,Missing=name');
  expect(wrong.error().problems.map((one: any) => one.path)).toContain('--map');
  const mapped = await run('--map', 'Summary=name,Issue key=external_id', '--dry-run', '--ignore-unknown');
  expect([mapped.code, mapped.json()[0].request.body]).toEqual([0, { name: 'a', external_id: 'b0' }]);
});

test('a map file renames columns, values, users and states', async () => {
  const map = `columns:
  Key: external_id
  What: name
  Kind: {field: story_type, values: {Defect: bug, '*': chore}}
  Note: null
  Due: deadline
  State: workflow_state_id
states: {Fertig: external}
date_order: day-first
`;
  const at = trackerInMemory({
    'a.csv': 'Key;What;Kind;Note;Due\nK1;First;Defect;n;01.12.2026\nK2;Second;Other;n;2/12/2026\n',
    'map.yaml': map.replace('  State: workflow_state_id\n', ''),
  });
  const ran = await at.run([
    'sync',
    '-f',
    'a.csv',
    '--resource',
    'stories',
    '--map-file',
    'map.yaml',
    '-o',
    'json',
  ]);
  expect(ran.code).toBe(0);
  expect(stories(at).map((one) => [one.external_id, one.name, one.story_type, one.deadline])).toEqual([
    ['K1', 'First', 'bug', '2026-12-01T00:00:00Z'],
    ['K2', 'Second', 'chore', '2026-12-02T00:00:00Z'],
  ]);
  await at.write('bad.yaml', 'columns: {Key: 7}\nuser: {}\n');
  const bad = await at.run(['sync', '-f', 'a.csv', '--map-file', 'bad.yaml', '-o', 'json']);
  expect([bad.code, bad.error().problems.length]).toEqual([2, 2]);
});

test('an ambiguous day is not guessed', () => {
  for (const text of ['31.02.2026', '30/02/2026', '30/Feb/26', 'Feb 30, 2026', '2026/02/30'])
    expect([text, formats.datetime?.holds(readMoment(text))]).toEqual([text, false]);
  for (const text of ['31.02.2026', '30/02/2026', '30/Feb/26']) expect(readMoment(text)).toBe(text);
  expect(readMoment('15/Dec/26 12:00 AM')).toBe('2026-12-15T00:00:00Z');
  expect(readMoment('02/Nov/26 9:30 PM')).toBe('2026-11-02T21:30:00Z');
  expect(readMoment('Dec 1, 2026')).toBe('2026-12-01T00:00:00Z');
  expect(readMoment('2026-12-01 10:30')).toBe('2026-12-01T10:30Z');
  expect(readMoment('01/12/2026')).toBe('01/12/2026');
  expect(readMoment('01/12/2026', 'day-first')).toBe('2026-12-01T00:00:00Z');
  expect(readMoment('01/12/2026', 'month-first')).toBe('2026-01-12T00:00:00Z');
  expect(readMoment('13/12/2026')).toBe('2026-12-13T00:00:00Z');
  expect(readMoment('2026/05/01 09:11:02')).toBe('2026-05-01T09:11:02Z');
  expect(readMoment('2026/5/1')).toBe('2026-05-01T00:00:00Z');
  expect(readMoment('2026/05/01/02')).toBe('2026/05/01/02');
  expect(readMoment('soon')).toBe('soon');
});
test('a list cell is split at commas unless an item is in quotes', async () => {
  const at = trackerInMemory({
    'a.csv': 'name,labels\nT1,"bug, ops"\nT2,bug;ops\nT3,"""a;b"";c"\nT4,"""a, b"""\n',
  });
  await at.run([
    'bulk',
    '-f',
    'a.csv',
    '--resource',
    'stories',
    '--op',
    'create',
    '--create-labels',
    '--concurrency',
    '1',
  ]);
  expect(stories(at).map(labelsOf)).toEqual([['bug', 'ops'], ['bug', 'ops'], ['a;b', 'c'], ['a, b']]);
});
test.each([
  ['doubled quotes', `"${'""'.repeat(4_000_000)}"`],
  ['items', '"a";'.repeat(2_000_000)],
  ['quotes without an end', '"a'.repeat(4_000_000)],
  ['separators', ';'.repeat(8_000_000)],
])('a list cell with millions of %s is one row with a result', async (_, cell) => {
  const at = trackerInMemory({ 'a.csv': `name,labels\nT1,"${cell.replaceAll('"', '""')}"\n` });
  const ran = await at.run('bulk -f a.csv --resource stories --op create --dry-run -o json'.split(' '));
  expect(
    ran.json().map(({ line, status }: any) => [line, status === 'would' || status === 'failed']),
  ).toEqual([[2, true]]);
});
test('a list of a row: n items and n + 1', covers('limit/listItems'), async () => {
  for (const format of ['csv', 'ndjson'])
    for (const [count, path] of [
      [limits.listItems, undefined],
      [limits.listItems + 1, 'follower_ids'],
    ] as const) {
      const ids = Array.from({ length: count }, () => '11111111-0000-4000-8000-000000000001');
      const text =
        format === 'csv'
          ? `name,follower_ids\nT1,${ids.join(';')}\n`
          : JSON.stringify({ name: 'T1', follower_ids: ids });
      const at = trackerInMemory({ [`a.${format}`]: text });
      const ran = await at.run([
        ...[
          'bulk',
          '-f',
          `a.${format}`,
          '--resource',
          'stories',
          '--op',
          'create',
          '--dry-run',
          '-o',
          'json',
        ],
      ]);
      expect([format, count, ran.json()[0].error?.problems[0].path]).toEqual([format, count, path]);
    }
});
/** A record as each format of each command contains it. */
const filesOf = (record: Readonly<Record<string, string>>) =>
  [
    ['sync -f r.csv --resource epics', 'r.csv', ',\t'],
    ['sync -f r.tsv --resource epics --delimiter tab', 'r.tsv', '\t'],
    ['bulk -f r.csv --resource epics --op create', 'r.csv', ','],
    ['sync -f r.ndjson --resource epics', 'r.ndjson', ''],
    ['bulk -f r.ndjson --resource epics --op create', 'r.ndjson', ''],
    ['apply -f r.json --yes', 'r.json', ''],
    ['apply -f r.yaml --yes', 'r.yaml', ''],
  ].map(([command = '', file = '', delimiters = '']) => {
    const [delimiter = ''] = delimiters;
    const table = [Object.keys(record), Object.values(record).map((cell) => `"${cell}"`)];
    const text =
      delimiter !== ''
        ? table.map((cells) => `${cells.join(delimiter)}\n`).join('')
        : file.endsWith('.ndjson')
          ? `${JSON.stringify(record)}\n`
          : JSON.stringify({ epics: [record] });
    return { command, file, text };
  });
test.each([
  ['external_id', { external_id: 'K\u0007', name: 'a' }],
  ['external_id', { external_id: 'K\u200b', name: 'a' }],
  ['external_id', { external_id: 'K ', name: 'a' }],
  ['name', { external_id: 'K', name: 'a\rb' }],
  ['name', { external_id: 'K', name: 'a\u0007b' }],
  [undefined, { external_id: 'K', name: 'a \u{1F469}\u200d\u{1F4BB}' }],
])('each command and format has one rule for invisible characters: %s %j', async (path, record) => {
  for (const { command, file, text } of filesOf(record)) {
    const at = trackerInMemory({ [file]: text });
    const ran = await at.run([...command.split(' '), '-o', 'json']);
    const isRefused = path !== undefined;
    expect([command, ran.code !== 0, ran.writes.length === 0]).toEqual([command, isRefused, isRefused]);
    if (isRefused) expect([command, ran.out + ran.err]).toEqual([command, expect.stringContaining(path)]);
  }
});
test('the report names each state that a run chose by its type, once', async () => {
  const at = trackerInMemory({
    'j.csv':
      'Issue key,Summary,Issue Type,Status\nJ-1,a,Bug,In Review\nJ-2,b,Bug,In Review\nJ-3,c,Bug,Completed\n',
  });
  const ran = await at.run('sync -f j.csv --from jira --resource stories -o json'.split(' '));
  const lines = ran.err.split('\n').filter((line) => line.includes('workflow_state_id'));
  expect(lines).toEqual([naming('"In Review"', '"In Progress"', 'started')]);
  expect(lines[0]).not.toContain('Completed');
});
test('a cell with millions of thousands separators is not a number', async () => {
  const at = trackerInMemory({ 'a.csv': `name,estimate\nT1,1${'.000'.repeat(6_000_000)}\n` });
  const ran = await at.run('bulk -f a.csv --resource stories --op create --dry-run -o json'.split(' '));
  expect([ran.code, ran.json()[0].error.problems[0].path]).toEqual([2, 'estimate']);
});
test.each([
  ['"a",b;c', ['"a",b', 'c']],
  ['"a", "b,c" ,d', ['a', 'b,c', 'd']],
  ['a"b;c"d', ['a"b', 'c"d']],
  ['"say ""x;y""" ; z', ['say "x;y"', 'z']],
  ['"open;a', ['"open', 'a']],
  [' ; |a|', ['a']],
])('the list cell %s holds %j', async (cell, names) => {
  const at = trackerInMemory({ 'a.csv': `name,labels\nT1,"${cell.replaceAll('"', '""')}"\n` });
  await at.run([...'bulk -f a.csv --resource stories --op create --create-labels'.split(' ')]);
  expect(stories(at).map(labelsOf)).toEqual([names.toSorted()]);
});
test('a day and a time without a zone are accepted in every input', async () => {
  const rows = (deadline: string) => [
    ['csv', `name,deadline\nx,${deadline}\n`],
    ['ndjson', `${JSON.stringify({ name: 'x', deadline })}\n`],
  ];
  for (const [given, stored] of [
    ['2026-12-01', '2026-12-01T00:00:00Z'],
    ['2026-12-01T10:30:00', '2026-12-01T10:30:00Z'],
  ] as const) {
    for (const [end, text] of rows(given)) {
      const at = trackerInMemory({ [`a.${end}`]: text ?? '' });
      await at.run(['bulk', '-f', `a.${end}`, '--resource', 'epics', '--op', 'create']);
      expect(at.send('GET', '/epics')[0].deadline).toBe(stored);
    }
    const at = trackerInMemory({ 'w.yaml': `epics:\n  - name: x\n    deadline: ${given}\n` });
    expect((await at.run(['apply', '-f', 'w.yaml', '--yes'])).code).toBe(0);
    expect(at.send('GET', '/epics')[0].deadline).toBe(stored);
    await at.run(['epics', 'create', '--name', 'y', '--deadline', given]);
    expect(at.send('GET', '/epics')[1].deadline).toBe(stored);
  }
});

test.each([
  ['a.csv', 'name,deadline\nA,01/02/2026\n', []],
  ['a.ndjson', '{"name":"A","deadline":"01/02/2026"}\n', []],
  ['j.csv', 'Summary,Issue key,Due Date\nA,P-1,01/02/2026 12:00 AM\n', ['--from', 'jira']],
])(
  'the error for a day without an order in %s names date_order, which fixes it',
  async (file, text, more) => {
    const at = trackerInMemory({ [file]: text, 'days.yaml': 'date_order: day-first\ncolumns: {}\n' });
    const words = ['bulk', '-f', file, '--resource', 'epics', '--op', 'create', '--dry-run', ...more];
    if (more.length > 0) words.splice(0, words.length, 'sync', '-f', file, '--dry-run', ...more);
    const refused = await at.run([...words, '-o', 'ndjson']);
    expect(refused.code).toBe(2);
    expect(refused.out).toContain(
      'date_order: day-first or date_order: month-first in a file for --map-file',
    );
    const fixed = await at.run([...words, '--map-file', 'days.yaml', '-o', 'ndjson']);
    expect(fixed.out).toContain('"deadline":"2026-02-01T00:00:00Z"');
  },
);

describe('a table that a spreadsheet writes in another language', () => {
  const imported = async (text: string, ...more: string[]) => {
    const at = trackerInMemory({ 'a.csv': text, 'days.yaml': 'date_order: day-first\ncolumns: {}\n' });
    const words = ['sync', '-f', 'a.csv', '--resource', 'epics', '-o', 'json', ...more];
    const ran = await at.run(words);
    return { at, ran, again: () => at.run(words) };
  };
  test.each([
    ['German', 'WAHR', 'FALSCH', '01.12.2026'],
    ['French', 'VRAI', 'FAUX', '1 déc. 2026'],
    ['Spanish', 'VERDADERO', 'FALSO', '1 dic 2026'],
    ['Italian', 'VERO', 'FALSO', '01/dic/26'],
    ['Dutch', 'WAAR', 'ONWAAR', '2026-12-01'],
  ])('%s booleans and days are read, twice without a change', async (_, yes, no, day) => {
    const { at, ran, again } = await imported(
      `\uFEFFname;external_id;archived;deadline\r\n"Eins; ""x""\r\nzwei";E-1;${yes};${day}\r\nTwo;E-2;${no};\r\n`,
    );
    expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
    const epics = at.send('GET', '/epics').toSorted((a: any, b: any) => a.name.localeCompare(b.name));
    expect(epics.map((one: any) => [one.name, one.archived, one.deadline])).toEqual([
      ['Eins; "x"\r\nzwei', true, '2026-12-01T00:00:00Z'],
      ['Two', false, null],
    ]);
    expect((await again()).json().map((row: any) => row.status)).toEqual(['unchanged', 'unchanged']);
  });
  test.each([
    ['15/Okt/26 12:00 AM', '2026-10-15T00:00:00Z'],
    ['15/Mär/26 12:00 AM', '2026-03-15T00:00:00Z'],
    ['15/Mai/26 12:00 AM', '2026-05-15T00:00:00Z'],
    ['15 juin 2026', '2026-06-15T00:00:00Z'],
    ['15 juil. 2026', '2026-07-15T00:00:00Z'],
    ['15 août 2026', '2026-08-15T00:00:00Z'],
    ['15/Foo/26', '15/Foo/26'],
  ])('the day %s becomes %s', (text, expected) => expect(readMoment(text)).toBe(expected));
  test('a number with a thousands separator is not guessed', async () => {
    const at = trackerInMemory({ 'a.csv': 'name,estimate\nA,1.000\nB,"1,000"\nC,3.0\n' });
    const ran = await at.run([
      ...['bulk', '-f', 'a.csv', '--resource', 'stories', '--op', 'create', '--dry-run', '-o', 'json'],
    ]);
    expect(ran.json().map((row: any) => row.status)).toEqual(['failed', 'failed', 'would']);
  });
});

test.each<[string, string, string, string, (string | number)[]]>([
  [
    'two columns of one field',
    'r.csv',
    'external_id,Summary,Title\nE-1,a,b\n',
    '--map Summary=name,Title=name',
    ['"Summary"', 'name'],
  ],
  [
    'a mapped column and the field',
    'r.csv',
    'external_id,name,Title\nE-1,a,b\n',
    '--map Title=name',
    ['"name"', '"Title"'],
  ],
  [
    'two keys of one field',
    'r.ndjson',
    '{"external_id":"E-1","Summary":"a","Title":"b"}\n',
    '--map Summary=name,Title=name',
    ['"Summary"', 'name'],
  ],
  [
    'a column that is mapped twice',
    'r.csv',
    'external_id,Summary\nE-1,a\n',
    '--map Summary=name,summary=description',
    ['"summary"', '--map'],
  ],
  [
    'a field next to body',
    'r.ndjson',
    '{"external_id":"E-1","name":"a","body":{"name":"b"}}\n',
    '',
    ['name', 'body'],
  ],
  ['a body of text', 'r.ndjson', '{"external_id":"E-1","name":"a","body":"b"}\n', '', ['body', 'object']],
  ['a column body', 'r.csv', 'external_id,name,body\nE-1,a,b\n', '', ['FIELD']],
  ['a column params', 'r.csv', 'external_id,name,params\nE-1,a,b\n', '', ['FIELD']],
  [
    'two columns of a ready map',
    'r.csv',
    'external_id,Summary,summary\nE-1,a,b\n',
    '--from jira',
    ['"Summary"', 'name'],
  ],
  [
    'a column of a ready map and the field',
    'r.csv',
    'Card ID,Card Name,name\nE-1,a,b\n',
    '--from trello',
    ['"Card Name"', 'name'],
  ],
  [
    'op and action',
    'r.ndjson',
    '{"op":"upsert","action":"delete","external_id":"E-1","name":"a"}\n',
    '',
    ['"delete"', '"upsert"', 'action', 'op'],
  ],
  ['the ID of another record', 'r.ndjson', '{"id":999,"external_id":"E-1","name":"a"}\n', '', ['id', 999]],
  [
    'a parameter that no operation has',
    'r.ndjson',
    '{"params":{"zzz":1},"external_id":"E-1","name":"a"}\n',
    '',
    ['params.zzz'],
  ],
  ['params of text', 'r.ndjson', '{"params":"7","external_id":"E-1","name":"a"}\n', '', ['params', 'object']],
  ['the error value of a formula', 'r.csv', 'external_id,name\nE-1,#REF!\n', '', ['name', '"#REF!"']],
  [
    'the error value of a formula in quotes, in German',
    'r.csv',
    'external_id;name\n"#NV";a\n',
    '',
    ['external_id', '"#NV"'],
  ],
  [
    'an error value in one of two columns of a list',
    'r.csv',
    'external_id,name,labels,labels\nE-1,a,bug,Err:508\n',
    '--create-labels',
    ['labels', '"Err:508"'],
  ],
  [
    'a date that did not fit into its column',
    'r.csv',
    'external_id,name,deadline\nE-1,a,########\n',
    '',
    ['deadline', '########'],
  ],
  [
    'a formula instead of its text',
    'r.csv',
    'external_id,name\n"=""0017""",a\n',
    '',
    ['external_id', '0017'],
  ],
  ['a formula without quotes', 'r.csv', 'external_id,name\n="0017",a\n', '', ['r.csv', 2, 'formula']],
  ['a number in hexadecimal digits', 'r.csv', 'external_id,name,objective_ids\nE-1,a,0x10\n', '', ['0x10']],
  [
    'a key with an invisible character',
    'r.csv',
    'external_id,name\nE-1\u200b,a\n',
    '',
    ['external_id', 'E-1'],
  ],
  ['a key with a space at its end', 'r.csv', 'external_id,name\nE-1 ,a\n', '', ['external_id', '"E-1 "']],
  [
    'the conflict of a merge',
    'r.ndjson',
    '{"external_id":"E-1","name":"a"}\n<<<<<<< HEAD\n{"external_id":"E-2","name":"b"}\n=======\n',
    '',
    ['r.ndjson:2'],
  ],
  [
    'the conflict of a merge in a table of one column',
    'r.csv',
    'name\na\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n',
    '',
    ['r.csv:3'],
  ],
  ['a comma behind an object', 'r.ndjson', '{"external_id":"E-1","name":"a"},\n', '', ['comma']],
  ['an object of several lines', 'r.ndjson', '{\n"external_id":"E-1"\n}\n', '', ['jq -c . r.ndjson']],
  ['a list of several lines', 'r.ndjson', '[\n{"external_id":"E-1"},\n]\n', '', ["jq -c '.[]' r.ndjson"]],
  ['a table in a file of rows', 'r.ndjson', 'external_id,name\nE-1,a\n', '', ['--input-format csv']],
  ['a second header', 'r.csv', 'external_id,name\nexternal_id,name\nE-1,a\n', '', ['r.csv:2:1', 'header']],
  [
    'a second header with quotes and spaces',
    'r.csv',
    'external_id;name\n"external_id"; name\nE-2;b\n',
    '',
    ['r.csv:2:1', 'header'],
  ],
  [
    'a number that a spreadsheet shortened',
    'r.csv',
    'external_id,name\n1.23457E+11,a\n',
    '',
    ['external_id', '"1.23457E+11"'],
  ],
  [
    'a shortened number of a mapped column',
    'r.csv',
    'Key;name\n1,2E+17;a\n',
    '--map Key=external_id',
    ['external_id', '1,2E+17'],
  ],
])('no value of a row is lost: %s', async (_, file, text, flags, names) => {
  const at = trackerInMemory({ [file]: text });
  const ran = await at.run([
    'sync',
    '-f',
    file,
    '--resource',
    'epics',
    '-o',
    'json',
    ...flags.split(' ').filter(Boolean),
  ]);
  expect(ran.code).not.toBe(0);
  const [first = '', ...rest] = names;
  expect((ran.out + ran.err).replaceAll('\\"', '"')).toEqual(naming(first, ...rest));
  expect(ran.writes).toEqual([]);
});

test('rows that name a field by either of two mapped columns are read', async () => {
  const at = trackerInMemory({ 'r.csv': 'external_id,Summary,Title\nE-1,a,\nE-2,,b\n1E5,c,\n' });
  const ran = await at.run([
    'sync',
    '-f',
    'r.csv',
    '--resource',
    'epics',
    '--map',
    'Summary=name,Title=name',
  ]);
  expect([ran.code, ran.writes.map(({ body }) => body.name)]).toEqual([0, ['a', 'b', 'c']]);
});

test.each([
  ['a row of delimiters', 'external_id,name\nE-1,a\n,\n,,,\nE-2,b\n', 'lines 3, 4'],
  ['rows of empty cells in quotes', 'external_id,name\nE-1,a\n"",""\nE-2,b\n', 'line 3'],
])('%s is left out and reported', async (_, text, lines) => {
  const at = trackerInMemory({ 'r.csv': text });
  const ran = await at.run(['sync', '-f', 'r.csv', '--resource', 'epics']);
  expect([ran.code, ran.writes.map(({ body }) => body.name)]).toEqual([0, ['a', 'b']]);
  expect(ran.err).toContain(`only empty cells and made no change: ${lines}`);
});

test('a row with an error value can be read with a map, or as NDJSON', async () => {
  const at = trackerInMemory({
    'r.csv': 'external_id,name,Note\nE-1,a,#N/A\nE-2,b,text\n',
    'm.yaml': 'columns:\n  Note:\n    field: description\n    values:\n      "#N/A": null\n',
    'r.ndjson': '{"external_id":"E-3","name":"#N/A"}\n',
    'i.csv': 'external_id,name,Note\nE-4,d,#REF!\n',
  });
  const run = (...words: string[]) => at.run(['sync', '--resource', 'epics', ...words]);
  const ran = [
    await run('-f', 'r.csv', '--map-file', 'm.yaml'),
    await run('-f', 'r.ndjson'),
    await run('-f', 'i.csv', '--ignore-unknown'),
  ];
  expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
  const made = ran.flatMap(({ writes }) => writes.map(({ body }) => [body.name, body.description]));
  expect(made).toEqual([
    ['a', undefined],
    ['b', 'text'],
    ['#N/A', undefined],
    ['d', undefined],
  ]);
});

test('an export of another tool may have its own IDs, actions and bodies', async () => {
  const at = trackerInMemory({
    'r.csv': 'Card ID,Card Name,id,action,body,params\nE-1,a,17,updateCard,x,y\n',
    'i.csv': 'external_id,name,body,params\nE-2,b,x,y\n',
  });
  const preset = await at.run(['sync', '-f', 'r.csv', '--from', 'trello']);
  const named = preset.writes.flatMap(({ body }) => body.name ?? []);
  expect([preset.code, named]).toEqual([0, ['a']]);
  for (const column of ['id', 'action', 'body', 'params'])
    expect(preset.err).toContain(`column "${column}" was not imported`);
  const ignored = await at.run(['sync', '-f', 'i.csv', '--resource', 'epics', '--ignore-unknown']);
  expect([ignored.code, ignored.writes.map(({ body }) => body.name)]).toEqual([0, ['b']]);
});

test('a row addresses a comment by the name of a parameter, by params, and by id', async () => {
  const at = trackerInMemory();
  const [{ states }] = at.send('GET', '/workflows');
  const story = at.send('POST', '/stories', { name: 's', workflow_state_id: states[0].id });
  const rows = [
    { 'story-public-id': story.id },
    { params: { 'story-public-id': story.id } },
    { params: { story: story.id } },
    { id: story.id },
  ];
  for (const row of rows) {
    const comment = { op: 'create', resource: 'story-comments', text: 't', ...row };
    await at.write('c.ndjson', `${JSON.stringify(comment)}\n`);
    const ran = await at.run(['bulk', '-f', 'c.ndjson', '--restart']);
    expect([row, ran.code, ran.writes.length]).toEqual([row, 0, 1]);
  }
  await at.write('c.csv', `story-public-id,text\n${story.id},t\n`);
  const csv = await at.run(['bulk', '-f', 'c.csv', '--resource', 'story-comments', '--op', 'create']);
  expect([csv.code, csv.writes.length]).toEqual([0, 1]);
});

test.each([
  [{ op: 'update', id: 7, params: { label: 8 }, name: 'n' }, naming(7, 'params.label', 8)],
  [{ op: 'create', id: 7, name: 'n' }, naming('ID', 'new')],
])('a row with two records, or a new record with an ID, is rejected: %j', async (row, message) => {
  const at = trackerInMemory({ 'r.ndjson': `${JSON.stringify({ resource: 'labels', ...row })}\n` });
  const ran = await at.run(['bulk', '-f', 'r.ndjson']);
  expect([ran.code, ran.writes, ran.out]).toEqual([2, [], message]);
});

test.each([
  ['op', { op: null, action: 'create' }],
  ['op', { op: '', action: 'create' }],
  ['id', { op: 'create', id: '' }],
  ['id', { op: 'create', id: null }],
])('an empty %s of a row states nothing: %j', async (_, row) => {
  const at = trackerInMemory({
    'r.ndjson': `${JSON.stringify({ resource: 'labels', name: 'n1', ...row })}\n`,
  });
  const ran = await at.run(['bulk', '-f', 'r.ndjson']);
  expect([ran.code, ran.writes.length]).toEqual([0, 1]);
});

test.each(['03', '1e2', '0x10', '-07'])(
  'a number of another form is refused with the form to write: %s',
  async (estimate) => {
    const at = trackerInMemory({ 's.csv': `name,estimate\ns1,${estimate}\n` });
    const ran = await at.run(['bulk', '-f', 's.csv', '--resource', 'stories', '--op', 'create']);
    expect([ran.code, ran.writes, ran.out]).toEqual([2, [], naming(estimate, 10)]);
  },
);

test.each<[string, object, string[]]>([
  ['documents', { title: 'a', content: 'c' }, ['documents', 'create, update, delete']],
  ['iterations', { start_date: '2026-01-01' }, ['iterations', 'name']],
  ['iterations', { name: 'a', external_id: 'k' }, ['iterations', 'external ID']],
  ['groups', { name: 'a', id: 'external:k' }, ['groups', 'external ID']],
])('an upsert of %s names the key that the resource has: %j', async (resource, row, names) => {
  const at = trackerInMemory({ 'r.ndjson': `${JSON.stringify({ op: 'upsert', resource, ...row })}\n` });
  const ran = await at.run(['bulk', '-f', 'r.ndjson']);
  expect([ran.code, ran.writes]).toEqual([2, []]);
  const [first = '', ...rest] = names;
  expect(ran.out).toEqual(naming(first, ...rest));
  expect(ran.out).not.toContain('add the column or key external_id');
});

test.each(['0x10', '0b1', '1e2', '1E+05', '007', '9007199254740993', '0o7'])(
  'the number %s of a table is not read as another number',
  async (text) => {
    const at = trackerInMemory({ 'r.csv': `op,id,name,estimate\nupdate,${text},a,\nupdate,1,b,${text}\n` });
    const ran = await at.run(['bulk', '-f', 'r.csv', '--resource', 'stories', '-o', 'json']);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    const messages = ran.json().map(({ error }: any) => error.message);
    expect(messages).toEqual([expect.stringContaining(text), naming(`"${text}"`)]);
  },
);

test('a table of one column may have its own name as a value', async () => {
  const at = trackerInMemory({ 'r.csv': 'name\nname\n' });
  const ran = await at.run(['bulk', '-f', 'r.csv', '--resource', 'labels', '--op', 'create']);
  expect([ran.code, ran.writes.length]).toEqual([0, 1]);
});

test('keys of a map file that differ only in case are rejected with the line', async () => {
  for (const [table, value] of [
    ['columns', 'name'],
    ['users', 'ana'],
    ['states', 'Done'],
  ] as const) {
    const map = `${table}:\n  Title: ${value}\n  ' title': null\n`;
    const at = trackerInMemory({ 'r.csv': 'Title\na\n', 'm.yaml': map });
    const words = ['bulk', '-f', 'r.csv', '--map-file', 'm.yaml', '--resource', 'labels', '--op', 'create'];
    const ran = await at.run([...words, '-o', 'json']);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error().problems[0]).toMatchObject({ file: 'm.yaml', line: 3, path: `${table}. title` });
  }
});

test('a state of another tool that fits two workflows is rejected, and a map file decides', async () => {
  const csv = 'Title,URL,Status\nA,https://github.example/o/r/issues/1,Doing\n';
  const at = trackerInMemory({ 'r.csv': csv, 'm.yaml': 'states: {Doing: "11"}\n' });
  const states = (first: number) =>
    ['unstarted', 'started'].map((type, i) => ({ id: first + i, name: `${type} ${first}`, type }));
  const workflows = [10, 20].map((id) => ({ id, name: `w${id}`, states: states(id) }));
  const meanwhile = ({ path }: { path: string }) =>
    path.startsWith('/workflows') ? { status: 200, json: workflows } : undefined;
  const words = ['sync', '-f', 'r.csv', '--from', 'github', '--dry-run', '-o', 'json'];
  const ran = await at.run(words, { meanwhile });
  expect([ran.code === 0, ran.writes]).toEqual([false, []]);
  expect(`${ran.out}${ran.err}`).toEqual(naming('11', '21'));
  expect((await at.run([...words, '--map-file', 'm.yaml'], { meanwhile })).code).toBe(0);
});

test.each(['epics', 'stories'])(
  'a label that a row of %s repeats is no change the second time',
  async (resource) => {
    const csv = 'external_id,name,labels,labels,labels\nP-1,A,infra,ops,infra\n';
    const at = trackerInMemory({ 'r.csv': csv });
    const words = ['sync', '-f', 'r.csv', '--resource', resource, '--create-labels', '-o', 'json'];
    expect((await at.run(words)).json()).toMatchObject([{ op: 'create' }]);
    expect((await at.run(words)).json()).toMatchObject([{ status: 'unchanged' }]);
    await at.write('r.csv', csv.replace('ops', 'api'));
    expect((await at.run(words)).json()).toMatchObject([{ op: 'update', status: 'done' }]);
  },
);

test.each([
  ['jira', 'Summary,Issue key,Created', '14/Jul/25 3:42 PM', 1],
  ['jira', 'Summary,Issue key,Created', '2025-07-14 15:42', 1],
  ['jira', 'Summary,Issue key,Created', '2025-07-14T15:42:00', 1],
  ['jira', 'Summary,Issue key,Due Date', '14/Jul/25 12:00 AM', 0],
  ['jira', 'Summary,Issue key,Due Date', '2025-07-14 00:00', 0],
  ['jira', 'Summary,Issue key,Created', '2025-07-14T15:42:00.000+0200', 0],
  ['jira', 'Summary,Issue key,Created', '14-Jul-2025 3:42 PM', 1],
  ['jira', 'Summary,Issue key,Created', '14-Jul-2025 15:42', 1],
  ['jira', 'Summary,Issue key,Created', '14-Jul-2025 3:42 PM UTC', 0],
  ['jira', 'Summary,Issue key,Created', '14-Jul-2025 12:00 AM', 0],
  ['jira', 'Summary,Issue key,Created', '2025-07-14T15:42:00-07:00', 0],
  ['linear', 'Title,ID,Created', 'Tue May 14 2024 08:53:33 GMT+0000 (GMT)', 0],
  ['linear', 'Title,ID,Created', '2024-05-14T08:53:33Z', 0],
  ['github', 'Title,URL,Created', '2024-05-14 08:53:33 UTC', 0],
  ['gitlab', 'Title,URL,Created At (UTC)', '2024-05-14 08:53:33', 0],
])('a time of %s without a zone is reported: %s, %s', async (tool, header, time, count) => {
  const at = trackerInMemory({ 'r.csv': `${header}\nA,1,${time}\nB,2,\n` });
  const ran = await at.run(['sync', '-f', 'r.csv', '--from', tool, '--dry-run', '-o', 'json']);
  expect([ran.code, ran.err.match(/time zone, read as UTC \(1 row\)/g)?.length ?? 0]).toEqual([0, count]);
});

test.each([
  ['columns: {A: {field: name, vales: {x: y}}}', 'columns.A.vales'],
  ['columns: {A: {field: name, optional: yes}}', 'columns.A.optional'],
  ['users: {js: [ana, ben]}', 'users.js'],
  ['states: {Neu: true}', 'states.Neu'],
  ['states: {Neu: 1.5}', 'states.Neu'],
])('a map file with %s is rejected with its line', async (line, path) => {
  const at = trackerInMemory({ 'r.csv': 'A\n1\n', 'm.yaml': `# a comment\n${line}\n` });
  const words = ['bulk', '-f', 'r.csv', '--map-file', 'm.yaml', '--resource', 'labels', '--op', 'create'];
  const ran = await at.run([...words, '-o', 'json']);
  expect([ran.code, ran.requests]).toEqual([2, []]);
  expect(ran.error().problems).toMatchObject([{ file: 'm.yaml', line: 2, path }]);
});
test('an optional column of a map file leaves unknown users and states unset', async () => {
  const rule = (field: string, isOptional: boolean) => `{field: ${field}, optional: ${isOptional}}`;
  const map = (isOptional: boolean) =>
    `columns: {S: ${rule('workflow_state_id', isOptional)}, W: ${rule('owner_ids', isOptional)}}\n`;
  const at = trackerInMemory({ 'r.csv': 'external_id,name,S,W\n1,A,Neu,nobody\n' });
  const words = ['sync', '-f', 'r.csv', '--resource', 'stories', '--map-file', 'm.yaml', '-o', 'json'];
  await at.write('m.yaml', map(false));
  expect((await at.run(words)).code).not.toBe(0);
  await at.write('m.yaml', map(true));
  const ran = await at.run(words);
  expect([ran.code, ran.err]).toEqual([0, naming('workflow_state_id', 'owner_ids', '"Neu"', '"nobody"')]);
  expect((await at.run(words)).json()).toMatchObject([{ status: 'unchanged' }]);
});
test('a column or a field that a map names wrongly has its text, and the line of the map file', async () => {
  const at = trackerInMemory({
    'a.csv': 'Summary,Key\na,b\n',
    'm.yaml': 'columns:\n  Summary: name\n  Issue.Key No: external_id\n  Key: externl_id\n',
  });
  const run = async (...words: string[]) => {
    const ran = await at.run(['bulk', '-f', 'a.csv', '--op', 'create', '-o', 'json', ...words]);
    expect([ran.code, ran.requests]).toEqual([2, []]);
    return ran.error().problems;
  };
  expect(await run('--map-file', 'm.yaml')).toMatchObject([
    { file: 'm.yaml', line: 3, path: 'columns.Issue.Key No', message: naming('"Issue.Key No"') },
    { file: 'm.yaml', line: 4, path: 'columns.Key', message: naming('"externl_id"') },
  ]);
  // The flag replaces the line of the file.
  expect(await run('--map-file', 'm.yaml', '--map', 'issue.key NO=x,Key=external_id')).toMatchObject([
    { file: 'a.csv', line: 1, path: '--map', message: naming('"issue.key NO"') },
  ]);
});

test('a date of a day that does not exist is named as such in every form that is accepted', () => {
  const missing = [
    '02/31/2026',
    '31/02/2026',
    '31.02.2026',
    '31-Feb-2026',
    'Feb 31, 2026',
    '31 February 2026',
  ];
  expect(missing.filter((text) => !namesMissingDay(text))).toEqual([]);
  const others = ['28-Feb-2026', '01/02/2026', '12/31/2026', '31-Xyz-2026', 'soon', '28-Feb-2026 99:99:99x'];
  expect(others.filter(namesMissingDay)).toEqual([]);
});
