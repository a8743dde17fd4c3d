import { expect, test } from 'vitest';
import { expandAlias, splitLine } from '../../src/cli/aliases.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { fakeHost } from '../support/fake-host.ts';

const FILE = '/home/user/opsctl/config/aliases.json';
const env = { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl', OPSCTL_KEYCHAIN: 'never' };
const run = async (argv: readonly string[], files: Readonly<Record<string, string>> = {}) => {
  const host = fakeHost({ env, files });
  const code = await runProgram(host, argv, program);
  return { code, out: host.out(), err: host.err(), stored: host.files.readNow(FILE) ?? '' };
};
const stored = (name: string, line: string): Record<string, string> => ({
  [FILE]: JSON.stringify({ aliases: [{ name, line }] }),
});

test.each<[string, string[]]>([
  ['tracker labels list', ['tracker', 'labels', 'list']],
  ["tracker search 'is:started owner:ana'", ['tracker', 'search', 'is:started owner:ana']],
  ['a "b \\"c\\" d" e\\ f \'\'', ['a', 'b "c" d', 'e f', '']],
  ['--name=$(touch x)', ['--name=$(touch', 'x)']],
])('an alias splits %s like a shell, without expansions', (line, words) => {
  expect(splitLine(line)).toEqual(words);
});
test('an alias with millions of escapes in quotes is one word', () => {
  expect(splitLine(`"${'\\"'.repeat(4_000_000)}"`)).toEqual(['"'.repeat(4_000_000)]);
  expect(() => splitLine(`a "${'\\"'.repeat(4)}`)).toThrow('invalid arguments');
});
test('an alias replaces $1 to $9 and appends the other arguments', () => {
  expect(expandAlias('m', 'stories move $1 $2', ['7', 'Done', '-o', 'json'])).toEqual([
    ...['stories', 'move', '7', 'Done', '-o', 'json'],
  ]);
  expect(() => expandAlias('m', 'stories move $1', [])).toThrow('invalid arguments');
});
test('opsctl runs the line of an alias with the arguments of the call', async () => {
  const { code, out } = await run(['paths', '-o', 'json'], stored('paths', 'config path'));
  expect([code, out.trim()]).toEqual([0, '/home/user/opsctl/config/config.json']);
});
test('alias set stores a line, alias list prints it, alias unset removes it', async () => {
  const set = await run(['alias', 'set', 'mine', 'tracker stories mine']);
  expect([set.code, set.stored]).toEqual([0, expect.stringContaining('tracker stories mine')]);
  const list = await run(['alias', 'list', '-o', 'json'], { [FILE]: set.stored });
  expect(JSON.parse(list.out)).toEqual([{ name: 'mine', line: 'tracker stories mine', state: 'ok' }]);
  const unset = await run(['alias', 'unset', 'mine'], { [FILE]: set.stored });
  expect([unset.code, JSON.parse(unset.stored)]).toEqual([0, { aliases: [] }]);
});
test.each([
  ['a command', ['kv', 'tracker labels list'], 2],
  ['a line without a command', ['mine', 'nothing here'], 2],
  ['a wrong name', ['No Name', 'config path'], 2],
  ['an open quote', ['mine', "config 'path"], 2],
  ['a flag that the command does not have', ['mine', 'tracker labels list --ownr ana'], 2],
])('alias set rejects %s', async (_, args, code) => {
  const ran = await run(['alias', 'set', ...args]);
  expect([ran.code, ran.stored]).toEqual([code, '']);
});
test.each([
  ['tracker lables list', 'did you mean'],
  ['tracker labels list --ownr', 'unknown flag: --ownr'],
])('alias list gives the reason why %s does not run', async (line, reason) => {
  const { code, out } = await run(['alias', 'list', '-o', 'json'], stored('a', line));
  expect([code, JSON.parse(out)]).toEqual([0, [{ name: 'a', line, state: expect.stringContaining(reason) }]]);
});
test('an alias of an alias does not run in a circle', async () => {
  const { code } = await run(['a'], stored('a', 'a'));
  expect(code).toBe(2);
});
test('a damaged file of aliases is an error of the configuration that names the file', async () => {
  const { code, err } = await run(['mine'], { [FILE]: '{' });
  expect([code, err]).toEqual([3, expect.stringContaining(FILE)]);
});
test.each([
  ['damaged', '{', undefined, 3],
  ['not UTF-8', '\ufffd', undefined, 3],
  ['of another user', '{"aliases":[]}', 65_534, 10],
])(
  'a file of aliases that is %s does not hide the correction of a mistyped command',
  async (_, text, uid, code) => {
    const whole = fakeHost({ env, files: { [FILE]: text } });
    const info: typeof whole.files.info = async (path) => {
      const found = await whole.files.info(path);
      return found !== undefined && uid !== undefined && path === FILE ? { ...found, uid } : found;
    };
    const host = { ...whole, files: { ...whole.files, info } };
    expect(await runProgram(host, ['trakcer', 'labels', 'list'], program)).toBe(code);
    for (const word of ['trakcer', 'did you mean tracker?', FILE]) expect(whole.err()).toContain(word);
  },
);
