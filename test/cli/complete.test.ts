import { expect, test } from 'vitest';
import { completions } from '../../src/cli/complete.ts';

const root = {
  global: { output: { v: ['json', 'yaml'], s: 'o' }, quiet: { t: true as const } },
  sub: {
    tracker: {
      sub: {
        labels: { sub: { create: { flags: { name: {}, color: {} } }, get: { args: ['label'] } } },
        epics: { sub: { list: {} } },
      },
    },
  },
};
const sources = { cached: (name: string) => (name === 'label' ? ['bug', 'build'] : []) };

test.each<[string[], string[]]>([
  [[''], ['tracker']],
  [['tracker', 'l'], ['labels']],
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
  [['tracker', '--quiet', 'e'], ['epics']],
  [['tracker', 'labels', 'create', '--name', ''], []],
  [['nowhere', ''], []],
])('TAB after %j', (words, expected) => {
  expect(completions(root, words, sources)).toEqual(expected);
});
