import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { AppError } from '../../../src/core/problem.ts';
import { type Surrounding, surrounding } from './around.ts';

let around: Surrounding;
beforeEach(async () => {
  around = await surrounding();
});
afterEach(() => around.close());

const make = (title: string) =>
  around.server.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
const requests = async (): Promise<number> => (await around.server.send('GET', '/labels')).json.labels.length;

test.each([
  ['title: "  "\ntype: SHARED\n', 'title is required'],
  ['- a\n- b\n', 'label.yaml: [0]:1:3: must be a label: title, type, fields'],
  [
    'title: T\nfields:\n  - {name: S, choices: [{name: x, id: a-b}]}\n',
    'fields[0].choices[0].id must consist of letters, digits and _; got a-b',
  ],
  [
    'title: T\nfields:\n  - {name: S, choices: [{name: x, id: a}, {name: y, id: a}]}\n',
    'fields[0].choices[1].id repeats the id "a"',
  ],
  [
    'title: T\nfields:\n  - {name: S, choices: [{name: x, colour: red}]}\n',
    'fields[0].choices[0].colour is not',
  ],
  [
    'title: T\nfields:\n  - {name: S, choices: [{name: x, badge: {hue: 1}}]}\n',
    'fields[0].choices[0].badge.hue is not',
  ],
  ['<<<<<<< ours\ntitle: A\n=======\ntitle: B\n>>>>>>> theirs\n', 'label.yaml:1 has a merge conflict'],
  ['title: x\n  type: [SHARED\n', 'label.yaml:1:8: --file must'],
])('%j is rejected with its position, and no label is created', async (text, says) => {
  const file = await around.file('label.yaml', text);
  const { stderr, code } = await around.run('apply', '-f', file);
  expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  expect(await requests()).toBe(0);
});

test('all mistakes of a file are reported together', async () => {
  const text =
    'title: ""\ncolour: red\nfields:\n  - {name: A, type: txt}\n  - {nme: B, type: date, dateFormat: LONGISH}\n  - {name: A, type: text, choices: [x]}\n';
  const { stderr } = await around.run('apply', '-f', await around.file('bad.yaml', text));
  for (const place of [
    '1:1: title is required',
    '2:1: colour',
    '4:15: fields[0].type',
    '5:6: fields[1].nme',
    '5:26: fields[1].dateFormat',
    '5:5: fields[1].name',
    '6:27: fields[2].choices',
  ])
    expect(stderr).toContain(`bad.yaml:${place}`);
});

test('a file with an ambiguous title explains how to select the label', async () => {
  await make('Twin');
  await make('Twin');
  const { stderr, code } = await around.run('apply', '-f', await around.file('twin.yaml', 'title: Twin\n'));
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /twin\.yaml:1:1: title is ambiguous \(add the id: of the one that is meant\)\n {2}try: id: \w+/,
    ),
  ]);
});

test.each([
  ['get', ''],
  ['get', ' '],
  ['get', 'labels/'],
  ['delete', 'labels/'],
  ['retire', ''],
  ['publish', 'labels/'],
])('labels %s %j: an unset variable of a script stands for no label', async (verb, typed) => {
  await make('  ');
  const { stderr, code } = await around.run(verb, typed, '--yes');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/<label>|no label was named/)]);
  expect(await requests()).toBe(1);
});

test('a word that could be an ID is also searched among the titles', async () => {
  await make('Sensitivity');
  const { stderr, code } = await around.run('get', 'Sensitivty');
  expect([code, stderr]).toEqual([6, expect.stringContaining('label not found: "Sensitivty"')]);
  expect(stderr).toContain('did you mean "Sensitivity"?');
});

test('files of exported labels have names without accents', async () => {
  for (const title of ['Ärger & Überblick', '日本', 'a/../b']) await make(title);
  expect((await around.run('export', '--all', '-f', join(around.directory, 'out'))).code).toBe(0);
  const [japan] = (await around.server.send('GET', '/labels')).json.labels.filter(
    (label: any) => label.properties.title === '日本',
  );
  expect((await readdir(join(around.directory, 'out'))).sort()).toEqual(
    ['a-b.yaml', 'arger-uberblick.yaml', `${japan.id}.yaml`, 'labels.schema.json'].sort(),
  );
});

test('retire prints an executable command for scripts', async () => {
  await make('Old');
  const { stderr } = await around.run('retire', 'Old', '--yes');
  expect(stderr).toContain('try: opsctl labels retire "Old" --yes --title "Old"');
});

test('Ctrl-C between two labels stops the apply, which reports its progress and can be repeated', async () => {
  const text = [1, 2, 3, 4].map((n) => `title: Bulk ${n}\n`).join('---\n');
  const file = await around.file('many.yaml', text);
  let posts = 0;
  const third = (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        if (request.method === 'POST') posts += 1;
        if (request.method === 'POST' && posts === 3)
          throw new AppError('interrupted', 'the request was canceled');
        return host.network.request(request);
      },
    },
  });
  const { code, stderr } = await around.runOn(third, 'apply', '-f', file);
  expect([code, stderr]).toEqual([8, expect.stringContaining('stopped after 2 of 4 labels')]);
  expect([stderr, posts]).toEqual([expect.stringMatching(/Bulk 2: labels\/\w+, revision 1, draft/), 3]);
  expect(await requests()).toBe(2);
  expect((await around.run('apply', '-f', file)).code).toBe(0);
  expect(await requests()).toBe(4);
});

test('create without a title names the flag', async () => {
  const { code, stderr } = await around.run('create', '--label-type', 'SHARED');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('--title is required (or --properties, or --body)'),
  ]);
});

test('a plan shows both descriptions, long ones cut', async () => {
  await around.run('apply', '-f', await around.file('d.yaml', `title: D\ndescription: ${'ä'.repeat(61)}\n`));
  const { stderr } = await around.run(
    'apply',
    '-f',
    await around.file('d.yaml', 'title: D\ndescription: null\n'),
    '--dry-run',
  );
  expect(stderr).toContain(`~ label D changed: description "${'ä'.repeat(60)}…" becomes none`);
});

test('settings with an immediate effect are shown after they were set', async () => {
  await make('Modes');
  const { stdout } = await around.run(
    'update-copy-mode',
    'Modes',
    '--copy-mode',
    'ALWAYS_COPY',
    '-o',
    'table',
  );
  expect(stdout).toContain('draft');
});
