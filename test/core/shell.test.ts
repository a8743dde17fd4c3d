import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { chapters } from '../../src/support/tour.ts';
import { hasShell } from '../support/shell-session.ts';
import { sh, shellLine, shellLines } from '../../src/core/shell.ts';

/** Returns the arguments that a shell parses from a line. */
const wordsIn = (line: string, shell = 'bash'): string[] =>
  execFileSync(shell, ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);

const shells = hasShell('zsh') ? ['bash', 'zsh'] : ['bash'];
test.each(shells)('%s parses a quoted command into the original words', (shell) => {
  const odd = [
    '',
    '#',
    '#2a7de1',
    'a b',
    "it's",
    '"x"',
    '$HOME',
    '`id`',
    '*',
    '~',
    'a\\b',
    'x;y',
    '!',
    'a=b',
    '=ls',
    '%1',
    '-x',
    'é',
  ];
  expect(wordsIn(shellLine(odd), shell)).toEqual(odd);
});

test('every line of the tour', () => {
  const lines = chapters.flatMap(({ stops }) => stops.map(({ args }) => args));
  expect(wordsIn(shellLine(lines.flat()))).toEqual(lines.flat());
});

const run = (script: unknown): string =>
  execFileSync('/bin/sh', ['-s'], { input: String(script), encoding: 'utf8' });
const hostile = [
  ...['$(touch ran)', '`id`', '"; id; "', "'; id; '", '$HOME ${x}', 'a\\"b\\', '\\', "it's", '', '*', '# x'],
  ...['a\nb', '!!', '-n', '$((1))', "'\\''", '"$(id)"', 'a && b', '<(id)', '~', '{a,b}', '\u00e9 \u{1f642}'],
];

test.each(hostile)('sh keeps %j as data in every place of a script', (value) => {
  expect(run(sh`printf '%s|' ${value} "${value}" "a ${value} b" x${value} "$(printf '%s.' ${value})"`)).toBe(
    [value, value, `a ${value} b`, `x${value}`, `${value}.`, ''].join('|'),
  );
  expect(
    run(
      sh`printf '%s|' "$(printf '%s.' "$(printf %s "<${value}>")")"; case ${value} in ${value}) echo same;; esac`,
    ),
  ).toBe(`<${value}>.|same\n`);
  expect(
    run(sh`printf '%s|' ${[value, value]} # it's a comment: "
printf '%s' "\${x:-"${value}"}" ${sh`x${value}`}`),
  ).toBe(`${value}|${value}|${value}x${value}`);
});

test('sh makes one word of any text', () => {
  let seed = 7;
  const next = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed;
  };
  const alphabet = [...'ab$`"\'\\(){}#;&|<>*?!~ \n\t=%-'];
  for (let i = 0; i < 40; i += 1) {
    const values = Array.from({ length: 20 }, () =>
      Array.from({ length: next() % 12 }, () => alphabet[next() % alphabet.length]).join(''),
    );
    const script = shellLines(values.map((value) => sh`printf '%s\\0%s\\0' ${value} "${value}"`));
    expect(run(script).split('\0').slice(0, -1)).toEqual(values.flatMap((value) => [value, value]));
  }
});

test.each<[string, () => unknown]>([
  ['single quotes', () => sh`awk '${'x'}'`],
  ['a script in double quotes', () => sh`echo "${sh`x`}"`],
  ['a comment', () => sh`# ${'x'}\n`],
  ['an expansion', () => sh`echo "\${x:-${'x'}}"`],
  ['backquotes', () => sh`echo \`echo ${'x'}\``],
  ['case in a subshell', () => sh`x=$(case ${'x'} in a) echo;; esac)`],
  ['a here-document', () => sh`cat <<END\n${'x'}\nEND`],
  ['open quotes', () => sh`echo "${'x'}`],
  ['a zero byte', () => sh`echo ${'a\0b'}`],
])('sh rejects a value in %s', (_, make) => expect(make).toThrow(TypeError));

test('sh rejects a value that a program would read as a flag', () => {
  const [flag, file] = ['--privileged', 'f'];
  for (const make of [
    () => sh`docker rm ${flag}`,
    () => sh`docker rm "${flag}"`,
    () => sh`echo a; rm -f ${file} ${flag}`,
    () => sh`x=$(readlink ${flag})`,
    () => sh`A=b cat ${flag}`,
    () => sh`if true; then cp ${flag} ${file}; fi`,
    () => sh`cat -- ${file}\ncat ${flag}`,
    () => sh`kill ${'-1'}`,
    () => sh`case $a in b) rm ${flag};; esac`,
    () => sh`printf '; %s' a | cat ${flag}`,
    () => sh`${flag} a`,
  ])
    expect(make).toThrow(TypeError);
  for (const [script, text] of [
    [sh`docker rm -- ${flag}`, "docker rm -- '--privileged'"],
    [sh`renice -n ${-10} -p 1`, 'renice -n -10 -p 1'],
    [sh`docker rm --name=${flag} x${flag}`, "docker rm --name='--privileged' x'--privileged'"],
    [sh`A=${flag} cat`, "A='--privileged' cat"],
    [sh`[ "$a" = ${flag} ]`, `[ "$a" = '--privileged' ]`],
    [sh`docker rm ${[flag]}`, 'docker rm --privileged'],
  ] as const)
    expect(String(script)).toBe(text);
});
