import { expect, test } from 'vitest';
import { equalOutput, normalize, parseCommand, without, wordsOf } from '../../src/cli/parse.ts';
import { globalFlags } from '../../src/cli/options.ts';
import { bool, list, orNull, str, color } from '../../src/core/field.ts';
import type { Command } from '../../src/cli/command.ts';
import { nothing } from '../../src/core/result.ts';
import type { AppError } from '../../src/core/problem.ts';

test.each<[string, string, string | undefined]>([
  ['tracker labels list -o json', 'tracker labels list', undefined],
  ['-o json tracker labels', 'tracker labels', undefined],
  ['tracker labels get 12 --quiet 13', 'tracker labels get 12 13', undefined],
  ['tracker labels create --name -o x', 'tracker labels create', '--name'],
  ['mock run -- ls -o', 'mock run', undefined],
  ['--no-header commands', 'commands', undefined],
  ['a --dry-run -o table --no-input b', 'a b', undefined],
  ['a --dry-run true -ojson --quiet=false b', 'a b', undefined],
  ['--profle x a', '', '--profle'],
  ['a -x b', 'a', '-x'],
])('words of %s', (line, words, stop) => {
  const found = wordsOf(line.split(' '), globalFlags);
  expect(found.words.join(' ')).toBe(words);
  expect(found.stop).toBe(stop);
});

test('the tokens of a command keep the order in which they were typed', () => {
  const argv = ['-q', 'api', 'tracker', 'GET', '/labels', '--header', 'X-A: 1'];
  expect(without(argv, wordsOf(argv, globalFlags), 1)).toEqual([
    '-q',
    'tracker',
    'GET',
    '/labels',
    '--header',
    'X-A: 1',
  ]);
});

test('switches, short flags, negations and values with a dash become one form', () => {
  const flags = {
    ...globalFlags,
    archived: { field: bool(), summary: '' },
    name: { field: str(), summary: '' },
  };
  expect(
    normalize(
      ['--archived', '7', '--archived', 'false', '-vq', '-ojson', '--no-header', '--name', '-5', '--', '-v'],
      flags,
    ),
  ).toEqual([
    '--archived=true',
    '7',
    '--archived=false',
    '--verbose=true',
    '--quiet=true',
    '--output=json',
    '--header=false',
    '--name=-5',
    '--',
    '-v',
  ]);
});

const command: Command = {
  path: ['x', 'y'],
  summary: '',
  args: [{ name: 'id', field: { type: 'integer', required: true }, summary: 'The id' }],
  flags: {
    color: { field: orNull(color()), summary: '' },
    tags: { field: list(str()), summary: '', repeat: true, allowsEmpty: true },
    ids: { field: list({ type: 'integer' }), summary: '', repeat: true },
  },
  run: async () => nothing(),
};
const problems = async (...tokens: string[]) =>
  parseCommand(command, tokens).then(
    () => [],
    (error: AppError) =>
      error.detail.problems?.length
        ? error.detail.problems.map(({ path, rule }) => `${path} ${rule}`)
        : [error.message],
  );

test('values by type; null, empty and absent are three things', async () => {
  expect(
    (
      await parseCommand(command, [
        '5',
        '--color',
        'null',
        '--tags',
        'a,b',
        '--tags',
        'c',
        '--ids',
        '1,2',
        '--ids',
        '3',
      ])
    ).values,
  ).toEqual({
    id: 5,
    color: null,
    tags: ['a,b', 'c'],
    ids: [1, 2, 3],
  });
  expect((await parseCommand(command, ['5', '--tags', ''])).values).toEqual({ id: 5, tags: [] });
});

test("a command's own --color leaves the words of the global one alone", async () => {
  const { values, globals } = await parseCommand(command, ['5', '--color', 'never', '--color', '#112233']);
  expect([values.color, globals.color]).toEqual(['#112233', 'never']);
});

test.each<[string[], string[]]>([
  [[], ['<id> required']],
  [
    ['x', '--color', 'red'],
    ['--color format', '<id> type'],
  ],
  [['1', '2'], ['argument 2 unknown']],
  [['1', '--color', '#112233', '--color', '#445566'], ['--color rule']],
  [['1', '--colour', 'x'], ['--colour unknown']],
  [['1', '--output', 'xml'], ['--output enum']],
])('invalid arguments %j', async (tokens, expected) => {
  expect(await problems(...tokens)).toEqual(expected);
});

test.each<[string, string | undefined]>([
  ['jsonpath={.items[*].metadata.name}', "-o json --jq '.[].metadata.name'"],
  ['jsonpath={.id}{"\\t"}{.name}', "-o json --jq '.id, .name'"],
  ['go-template={{range .items}}{{.name}}{{end}}', "-o json --jq '.[].name'"],
  ['custom-columns=ID:.id,STATE:.state.name', '--columns id,state.name'],
  ['jsonpath', "-o json --jq '.[].name'"],
  ['table', undefined],
])('the format %s of kubectl has an equal flag', (text, equal) => {
  expect(equalOutput(text)).toBe(equal);
});
test('a format of kubectl is rejected with the equal flag as the hint', async () => {
  const error = await parseCommand(command, ['1', '-o', 'jsonpath={.name}']).catch((one: AppError) => one);
  expect((error as AppError).detail.problems).toMatchObject([
    { path: '--output', rule: 'enum', hint: expect.stringContaining('--jq .name') },
  ]);
});
