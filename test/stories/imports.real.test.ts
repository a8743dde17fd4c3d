/** CSV files in the shape that other tools export, imported twice by the built program with the ready map of the tool. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

type Export = { readonly name: string; readonly text: string; readonly flags?: readonly string[] };
const BOM = '\uFEFF';
const quoted = (cells: readonly string[]): string =>
  cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');
/** A row with values by column; columns without a value are empty. Repeated columns take the values of a list in order. */
const rowOf = (
  header: readonly string[],
  values: Readonly<Record<string, string | readonly string[]>>,
): string[] => {
  const used: Record<string, number> = {};
  return header.map((column) => {
    const value = values[column];
    if (typeof value === 'string') return value;
    used[column] = (used[column] ?? 0) + 1;
    return value?.[used[column] - 1] ?? '';
  });
};
const tableOf = (
  header: readonly string[],
  rows: readonly Readonly<Record<string, string | readonly string[]>>[],
  join: (cells: readonly string[]) => string = quoted,
): string[] => [join(header), ...rows.map((row) => join(rowOf(header, row)))];
const words = (text: string): string[] => text.split('|');
const plain = (cells: readonly string[]): string =>
  cells.map((cell) => (/[",\n]/.test(cell) ? quoted([cell]) : cell)).join(',');

const jira = words(
  'Summary|Issue key|Issue id|Parent|Issue Type|Status|Project key|Project name|Project lead|Priority|Resolution|Assignee|Assignee Id|Reporter|Reporter Id|Creator|Created|Updated|Last Viewed|Resolved|Due date|Votes|Labels|Labels|Labels|Description|Environment|Watchers|Watchers|Original estimate|Sprint|Sprint|Custom field (Story point estimate)|Custom field (Start date)|Comment|Comment|Status Category',
);
const linear = words(
  'ID|Team|Title|Description|Status|Estimate|Priority|Project ID|Project|Creator|Assignee|Labels|Cycle Number|Cycle Name|Cycle Start|Cycle End|Created|Updated|Started|Triaged|Completed|Canceled|Archived|Due Date|Parent issue|Initiatives|Project Milestone ID|Project Milestone|SLA Status|UUID',
);
const trello = words(
  'Card ID|Card Name|Card URL|Card Description|Labels|Members|Due Date|Attachment Count|Attachment Links|Checklist Item Total Count|Checklist Item Completed Count|Vote Count|Comment Count|Last Activity Date|List ID|List Name|Board ID|Board Name|Archived|Start Date|Due Complete',
);
const asana = words(
  'Task ID|Created At|Completed At|Last Modified|Name|Section/Column|Assignee|Assignee Email|Start Date|Due Date|Tags|Notes|Projects|Parent task|Blocked By (Dependencies)|Blocking (Dependencies)',
);
const github = words(
  'Title|URL|Assignees|Status|Labels|Linked pull requests|Milestone|Repository|Reviewers|Parent issue|Sub-issues progress',
);
const exports: Readonly<Record<string, Export>> = {
  jira: {
    name: 'Jira Export 2026 (all fields).csv',
    text: `${BOM}${tableOf(
      jira,
      [
        {
          Summary: 'Login fails with "é", then 50 % of users',
          'Issue key': 'OPS-7',
          'Issue id': '10007',
          'Issue Type': 'Bug',
          Status: 'In Progress',
          Created: '01/Nov/26 9:30 PM',
          'Due date': '15/Dec/26 12:00 AM',
          Labels: ['backend', 'login', 'p1'],
          Description: 'h2. Steps\r\n# open the page\r\n# type "é"\r\n\r\n=1+1',
          Sprint: ['Sprint 1', 'Sprint 2'],
          'Custom field (Story point estimate)': '3.0',
          Comment: ['02/Nov/26 9:30 AM;70121:6f;seen, too'],
          'Status Category': 'In Progress',
        },
        {
          Summary: '-12 V on rail 3',
          'Issue key': 'OPS-8',
          'Issue id': '10008',
          'Issue Type': 'Task',
          Status: 'Done',
        },
        {
          Summary: 'Zero width\u200Bspace 👩‍🚀',
          'Issue key': 'OPS-9',
          'Issue Type': 'Story',
          Status: 'To Do',
        },
      ],
      plain,
    ).join('\r\n')}\r\n`,
  },
  linear: {
    name: 'linear.csv',
    text: `${tableOf(linear, [
      {
        ID: 'ENG-1',
        Team: 'Engineering',
        Title: 'First, with a comma',
        Description: '* a\n* b "c"\n',
        Status: 'In Progress',
        Estimate: '2',
        Labels: 'Bug, Customer request',
        Created: 'Mon Nov 02 2026 10:00:00 GMT+0000 (GMT)',
        'Due Date': '2026-12-01',
      },
      {
        ID: 'ENG-2',
        Team: 'Engineering',
        Title: 'Second',
        Status: 'Canceled',
        Created: '2026-11-02T10:00:00.000Z',
      },
      { ID: 'ENG-3', Team: 'Engineering', Title: 'Third', Status: 'Backlog', 'Parent issue': 'ENG-1' },
    ]).join('\n')}\n`,
  },
  trello: {
    name: 'board - roadmap.csv',
    text: `${tableOf(
      trello,
      [
        {
          'Card ID': '5f1a0c3e9b1d4a0017e4a1b2',
          'Card Name': 'Plan; then do',
          'Card Description': '',
          Labels: 'bug (red),ops (blue_dark)',
          'Due Date': '2026-12-01T10:00:00.000Z',
          'List Name': 'Doing',
          Archived: 'false',
        },
        { 'Card ID': '5f1a0c3e9b1d4a0017e4a1b3', 'Card Name': 'Old', 'List Name': 'Done', Archived: 'true' },
        {
          'Card ID': '5f1a0c3e9b1d4a0017e4a1b4',
          'Card Name': 'Third',
          'List Name': 'To Do',
          Archived: 'false',
        },
      ],
      plain,
    ).join('\n')}\n`,
  },
  asana: {
    name: 'Launch.csv',
    text: `${BOM}${tableOf(
      asana,
      [
        {
          'Task ID': '1209876543210987',
          'Created At': '2026-11-01',
          Name: 'Write the page',
          'Section/Column': 'Doing',
          'Due Date': '2026-12-01',
          Tags: 'bug,ops',
          Notes: 'line one\nline two',
          Projects: 'Launch',
        },
        {
          'Task ID': '1209876543210988',
          'Created At': '2026-11-01',
          Name: 'Sub',
          'Parent task': 'Write the page',
        },
        {
          'Task ID': '1209876543210989',
          'Created At': '2026-11-01',
          Name: 'Third',
          'Section/Column': 'Done',
        },
      ],
      plain,
    ).join('\n')}\n`,
  },
  github: {
    name: 'Team planning - View 1.tsv',
    text: `${tableOf(
      github,
      [
        {
          Title: 'Fix "tabs" in names',
          URL: 'https://github.example/o/r/issues/1',
          Status: 'In Progress',
          Labels: 'bug, help wanted',
          Repository: 'https://github.example/o/r',
        },
        { Title: 'Second', URL: 'https://github.example/o/r/issues/2', Status: 'Done' },
        { Title: 'A draft', URL: 'https://github.example/o/r/pull/3', Status: 'Todo' },
      ],
      (cells) => cells.join('\t'),
    ).join('\n')}\n`,
  },
};
const labels: Readonly<Record<string, readonly string[]>> = {
  jira: ['backend', 'login', 'p1'],
  linear: ['Bug', 'Customer request'],
  trello: ['bug', 'ops'],
  asana: ['bug', 'ops'],
  github: ['bug', 'help wanted'],
};

let home: Program;
const list = async (): Promise<any[]> => {
  const all = await home.json(['api', 'tracker', 'POST', '/stories/search', '--body', '{"archived":false}']);
  const archived = await home.json([
    'api',
    'tracker',
    'POST',
    '/stories/search',
    '--body',
    '{"archived":true}',
  ]);
  // The embedded server has another port in each command.
  const withoutPort = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, 'host');
  return JSON.parse(withoutPort(JSON.stringify([...all, ...archived]))).filter(
    ({ external_id: key }: any) => key !== null,
  );
};
const changes = async (): Promise<number> => (await home.json(['audit'])).length;

describe.each(Object.entries(exports))('an export of %s', (tool, { name, text }) => {
  test('a dry run shows each row, the import makes it, and the second import changes nothing', async () => {
    home = program();
    writeFileSync(join(home.home, name), text);
    const line = ['tracker', 'sync', '-f', name, '--from', tool, '-o', 'json'];
    const dry = await home.run([...line, '--dry-run']);
    expect([dry.code, dry.code === 0 ? '' : dry.stderr]).toEqual([0, '']);
    expect(JSON.parse(dry.stdout).map((row: any) => row.status)).toEqual(['would', 'would', 'would']);
    expect(await changes()).toBe(0);
    const first = await home.run(line);
    expect([first.code, first.code === 0 ? '' : first.stderr]).toEqual([0, '']);
    expect(JSON.parse(first.stdout).map((row: any) => [row.op, row.status])).toEqual([
      ...[
        ['create', 'done'],
        ['create', 'done'],
        ['create', 'done'],
      ],
    ]);
    const stories = await list();
    expect([stories.length, new Set(stories.map((story) => story.external_id)).size]).toEqual([3, 3]);
    const one = stories.find((story) => story.labels.length > 0);
    expect(one.labels.map((label: any) => label.name).toSorted()).toEqual(labels[tool]);
    const before = await changes();
    const second = await home.run(line);
    expect([second.code, second.code === 0 ? '' : second.stderr]).toEqual([0, '']);
    expect(JSON.parse(second.stdout).map((row: any) => row.status)).toEqual([
      ...['unchanged', 'unchanged', 'unchanged'],
    ]);
    expect(await changes()).toBe(before);
    expect(await list()).toEqual(stories);
  });
});
