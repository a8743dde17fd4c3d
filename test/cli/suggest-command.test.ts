import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { findGroup, synonyms, withSuggestion } from '../../src/cli/command.ts';
import { AppError } from '../../src/core/problem.ts';
import { opsctl } from '../support/program.ts';

it.each<[string, readonly string[]]>([
  ['config lint member.yaml', ['opsctl kv config lint --help']],
  ['upgrade', ['opsctl kv upgrade --help']],
  ['status', ['nothing close']],
  ['config lits', ['nothing close']],
  ['tracker upgrade', ['nothing close']],
])('%s', async (line, tryThis) => {
  const error = new AppError('usage', 'there is no such command', {
    code: 'UNKNOWN_COMMAND',
    tryThis: ['nothing close'],
  });
  const found = await withSuggestion(groups, error, line.split(' '));
  expect([found.message, found.detail.code, found.detail.tryThis]).toEqual([
    'there is no such command',
    'UNKNOWN_COMMAND',
    tryThis,
  ]);
});

it('every synonym leads to a command that exists and is itself none', async () => {
  const all = new Set(
    (await Promise.all(groups.map((group) => group.load()))).flat().map(({ path }) => path.join(' ')),
  );
  const wrong = Object.entries(synonyms).filter(([word, command]) => !all.has(command) || all.has(word));
  expect(wrong).toEqual([]);
});
it('a word of another program leads to the command that does the same', async () => {
  const error = new AppError('usage', 'unknown', { code: 'UNKNOWN_COMMAND', tryThis: [] });
  const found = await withSuggestion(groups, error, ['tracker', 'stories', 'transition', '107']);
  expect(found.detail.tryThis).toEqual(['opsctl tracker stories move --help']);
});

it.each([
  ['kv set a b', 'opsctl kv put --help'],
  ['kv rm a', 'opsctl kv del --help'],
  ['kv read a', 'opsctl kv get --help'],
  ['kv member rm n1', 'opsctl kv member remove --help'],
  ['kv snapshot create', 'opsctl kv snapshot save --help'],
  ['config delete tracker.url', 'opsctl config unset --help'],
])('opsctl %s leads to the command with that effect', async (line, hint) => {
  const { code, stderr } = await opsctl(line.split(' '), { home: tmpdir() });
  expect([code, stderr.match(/try: (.*)/)?.[1]]).toEqual([2, hint]);
});

it('a group in the singular leads to its plural', () => {
  const named = (name: string) => ({ ...groups[0]!, name });
  const known = ['stories', 'story-tasks', 'labels'].map(named);
  expect(() => findGroup(known, 'story')).toThrow(/did you mean stories\?/);
});
