import { expect, test } from 'vitest';
import { completions } from '../../src/complete.ts';

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
