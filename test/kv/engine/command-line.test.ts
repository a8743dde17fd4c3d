import { describe, expect, it } from 'vitest';
import { execFileSync } from 'node:child_process';
import { argvOf, fillWords, shellLine, wordsOf } from '../../../src/core/shell.ts';

describe('command lines', () => {
  it.each<[string, string[] | undefined]>([
    ['a b  c', ['a', 'b', 'c']],
    ['', []],
    [' a ', ['a']],
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a\\ b`, ['a b']],
    [`--x="y z"`, ['--x=y z']],
    [`"a \\"quoted\\" word"`, ['a "quoted" word']],
    [`'it'\\''s'`, ["it's"]],
    [`a 'open`, undefined],
    [`a "open`, undefined],
    ['$HOME *', ['$HOME', '*']],
  ])('%j', (line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });
  it.each<[string, string | string[] | undefined, string | undefined, string[] | undefined]>([
    ['flags get the binary before them', '--name n1', '/bin/kv', ['/bin/kv', '--name', 'n1']],
    ['a whole line stays', '/bin/other --name n1', '/bin/kv', ['/bin/other', '--name', 'n1']],
    ['words stay words', ['--name', 'a b'], '/bin/kv', ['/bin/kv', '--name', 'a b']],
    ['a binary alone', undefined, '/bin/kv', ['/bin/kv']],
    ['flags without a binary', '--name n1', undefined, undefined],
    ['nothing', undefined, undefined, undefined],
  ])('%s', (_, line, binary, argv) => {
    expect(argvOf(line, binary)).toEqual(argv);
  });
  it('a command line fills in known values and keeps other text', () => {
    expect(
      fillWords('run {name} --url={client_url} {other}', { name: 'n 1', client_url: 'http://x' }),
    ).toEqual(['run', 'n 1', '--url=http://x', '{other}']);
  });
  it.each([[['a', 'b c']], [["it's"]], [['$x', '`y`', '"z"', '\\']], [['', 'a\nb']]])(
    'a shell splits %j back into the same words',
    (words) => {
      const printed = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${shellLine(words)}`]).toString();
      expect(printed.split('\0').slice(0, -1)).toEqual(words);
    },
  );
});
