import { expect, test } from 'vitest';
import { completions, parseExtensionOutput } from '../../src/complete.ts';
import { commandTree } from '../../src/cli/list-commands.ts';
import { groups } from '../../src/commands/program.ts';
import { guardExplanations } from '../../src/reference/explanations/guards.ts';

const root = {
  topics: { output: 'Formats' },
  global: { output: { v: ['json', 'yaml'], s: 'o' }, quiet: { t: true as const } },
  sub: {
    tracker: {
      sub: {
        labels: { sub: { create: { flags: { name: {}, color: {} } }, get: { args: ['label'] } } },
        members: { sub: { get: { args: ['member'] }, list: { flags: { owner: { c: 'member' } } } } },
        epics: { sub: { list: {}, mark: { args: [['started', 'done'], 'label'] } } },
        shell: { args: [['bash', 'zsh']], sub: { install: {} } },
      },
    },
  },
};
const sources = {
  tree: () => ({}),
  listCached: (name: string) =>
    (
      ({
        label: [
          'bug',
          'build',
          '@home',
          '--tracker-url=https://evil.example',
          '-o',
          'b\u001b]0;x\u0007',
          'b\u202e',
          'b\u009b31m',
        ],
        member: ['ana', 'ben'],
      })[name] ?? []
    ).map((word) => ({ word })),
};

test.each<[string[], string[]]>([
  [[''], ['tracker', 'help']],
  [
    ['help', ''],
    ['output', 'tracker'],
  ],
  [['help', 'tracker', 'l'], ['labels']],
  [['tracker', 'labels', 'get', 'bug', ''], []],
  [['tracker', 'l'], ['labels']],
  [
    ['tracker', 'shell', ''],
    ['install', 'bash', 'zsh'],
  ],
  [['tracker', 'shell', 'z'], ['zsh']],
  [['tracker', 'members', 'list', '--owner', 'ana,'], ['ana,ben']],
  [['tracker', 'labels', 'create', '--c'], ['--color']],
  [
    ['tracker', 'labels', 'create', '-o', ''],
    ['json', 'yaml'],
  ],
  [['tracker', 'labels', 'create', '--output=j'], ['--output=json']],
  [
    ['tracker', 'labels', 'get', 'bu'],
    ['bug', 'build'],
  ],
  [
    ['tracker', 'labels', 'get', ''],
    ['bug', 'build', '@home'],
  ],
  [['tracker', 'labels', 'get', '--tracker'], []],
  [['tracker', 'labels', 'get', '@'], ['@home']],
  [['tracker', 'members', 'get', '@a'], ['@ana']],
  [['tracker', 'members', 'list', '--owner', 'ana,@b'], ['ana,@ben']],
  [['tracker', 'epics', 'mark', 's'], ['started']],
  [['tracker', 'epics', 'mark', 'done', 'bug'], ['bug']],
  [['tracker', '--quiet', 'e'], ['epics']],
  [['tracker', 'labels', 'create', '--name', ''], []],
  [['nowhere', ''], []],
])('TAB after %j', (words, expected) => {
  expect(completions(root, words, sources).candidates.map(({ word }) => word)).toEqual(expected);
});

const aliases = new Map([
  ['new', 'tracker labels create -o json'],
  ['show', 'tracker labels get $1'],
  ['mark', "tracker epics mark $2 '$1'"],
  ['tracker', 'tracker epics list'],
  ['as', 'tracker labels create --output=$1'],
]);
test.each<[string[], string[]]>([
  [['n'], ['new']],
  [['new', '--c'], ['--color']],
  [
    ['new', '--output='],
    ['--output=json', '--output=yaml'],
  ],
  [
    ['show', 'bu'],
    ['bug', 'build'],
  ],
  [['show', 'bug', '--o'], ['--output']],
  [['mark', 'bug', 'd'], ['done']],
  // The alias already contains the text before the parameter.
  [['as', 'js'], ['json']],
  [['tracker', 'l'], ['labels']],
])('with aliases, %j completes to %j', (line, expected) => {
  const { candidates } = completions(root, line, { ...sources, aliases });
  expect(candidates.map(({ word }) => word)).toEqual(expected);
});

test('the first word can be an extension, unless a command or an alias has its name', () => {
  const extensions = ['standup', 'tracker', 'mine'].map((word) => ({ word, about: 'Extension' }));
  const aliases = new Map([['mine', 'tracker epics list']]);
  const found = completions(root, [''], { ...sources, extensions, aliases }).candidates;
  expect(found.map(({ word, about }) => [word, about])).toEqual([
    ['tracker', undefined],
    ['help', 'Help about commands and topics'],
    ['mine', 'Alias: tracker epics list'],
    ['standup', 'Extension'],
  ]);
});

test.each<[string, string, string, string[], string | undefined]>([
  ['candidates with descriptions', 'ana\tAna Ortiz\nben\n', '', ['ana', 'ben'], undefined],
  ['only words with the start', 'ana\nben\n', 'b', ['ben'], undefined],
  ['the last line of Cobra', 'ana\n:4\n', '', ['ana'], undefined],
  ['files, as Cobra requests them', ':0\n', '', [], 'file'],
  ['directories, as Cobra requests them', ':16\n', '', [], 'directory'],
  ['nothing after an error of Cobra', ':1\n', '', [], undefined],
  ['files', ':file\n', '', [], 'file'],
  ['directories', ':directory\n', '', [], 'directory'],
  ['candidates before files (:0)', 'one\ntwo\n:0\n', '', ['one', 'two'], undefined],
  ['candidates without a space behind them (:2)', 'one\n:2\n', '', ['one'], undefined],
  ['candidates in their order (:32)', 'two\none\n:32\n', '', ['two', 'one'], undefined],
  ['candidates before files (:file)', 'one\n:file\n', 'o', ['one'], undefined],
  ['files if no candidate fits', 'one\n:0\n', 'x', [], 'file'],
  ['directories if no candidate fits', 'one\n:directory\n', 'x', [], 'directory'],
  ['no suffixes of files (:8)', 'yaml\njson\n:8\n', '', [], 'file'],
  ['not the directory to search (:16)', 'themes\n:16\n', '', [], 'directory'],
  ['no words after an error', 'one\n:1\n', '', [], undefined],
  ['no hints of Cobra', '_activeHelp_ choose one\nana\n:4\n', '', ['ana'], undefined],
  ['no flag unless one is typed', '--force\nana\n', '', ['ana'], undefined],
  ['flags', '--force\n--from\nana\n', '--fo', ['--force'], undefined],
  ['no control characters', 'a\u001b]0;x\u0007\nb\u202e\nok\n', '', ['ok'], undefined],
  ['nothing', '', '', [], undefined],
])('the program of an extension completes %s', (_, text, current, words, files) => {
  const found = parseExtensionOutput(text, current);
  expect([found.candidates.map(({ word }) => word), found.files]).toEqual([words, files]);
});

test('the program of an extension completes at most 1,000 words', () => {
  const text = Array.from({ length: 5000 }, (_, at) => `word-${at}\n`).join('');
  expect(parseExtensionOutput(text, '').candidates).toHaveLength(1000);
});

test('values that have a meaning show it under TAB', async () => {
  const tree = await commandTree(groups, { 'disk-space': 'The disks have free space.' });
  const known = { ...sources, tree: () => ({}) };
  const described = (line: string[]) => completions(tree, line, known).candidates;
  for (const line of [
    ['whoami', '-o', ''],
    ['mock', 'kv', 'fault', ''],
    ['kv', 'snapshot', 'schedule', '--emit', ''],
    ['kv', 'init', '--driver', ''],
    ['kv', 'wait', '--for', ''],
    ['labels', 'apply', '--take', ''],
  ]) {
    const found = described(line);
    expect(found.length, line.join(' ')).toBeGreaterThan(1);
    for (const { word, about } of found) {
      expect(about, `${line.join(' ')} ${word}`).toMatch(/\w/);
      expect(word).not.toContain('\t');
    }
  }
  const guards = Object.fromEntries(
    Object.entries(guardExplanations).map(([id, { meaning }]) => [id, meaning]),
  );
  const accepted = completions(await commandTree(groups, guards), ['kv', 'upgrade', '--accept', ''], known);
  expect(accepted.candidates.filter(({ about }) => about === undefined)).toEqual([]);
  expect(accepted.candidates.length).toBeGreaterThan(5);
});
