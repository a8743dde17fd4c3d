import { expect, it } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { withSuggestion } from '../../src/cli/find.ts';
import { AppError } from '../../src/core/problem.ts';

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
