import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { bashScript } from '../../../src/reference/completion.ts';

/** Returns the completions of a real bash, and the arguments that bash passed to the program; a shell function replaces the program. */
const complete = (line: string, candidates: readonly string[]): { replies: string[]; asked: string[] } => {
  const script = `
    opsctl() { printf '%s\\0' "$@" >&3; printf '%s\\t\\n' ${candidates.map((one) => `'${one.replaceAll("'", "'\\''")}'`).join(' ')}; }
    ${bashScript()}
    COMP_LINE=$1 COMP_POINT=\${#1}
    _opsctl 3>&1 | cat
    printf '\\1'
    _opsctl 3>/dev/null
    printf '%s\\0' "\${COMPREPLY[@]}"`;
  const [asked = '', replies = ''] = execFileSync('bash', ['-c', script, 'bash', line], {
    encoding: 'utf8',
  }).split('\x01');
  return { replies: replies.split('\0').slice(0, -1), asked: asked.split('\0').slice(1, -1) };
};

test('names with spaces and signs of the shell go into the line as one word', () => {
  const { replies } = complete('opsctl tracker epics get ', [
    'Sign-up in five minutes',
    "it's $5 & more",
    'plain',
    '@ana',
    '--name',
  ]);
  expect(replies).toEqual([
    'Sign-up\\ in\\ five\\ minutes',
    "it\\'s\\ \\$5\\ \\&\\ more",
    'plain',
    '@ana',
    '--name',
  ]);
});

test.each([
  ['opsctl tracker epics get Sign-up\\ in\\ f', ['tracker', 'epics', 'get', 'Sign-up in f']],
  ['opsctl tracker epics get Sign-up\\ ', ['tracker', 'epics', 'get', 'Sign-up ']],
  ["opsctl tracker epics get it\\'s", ['tracker', 'epics', 'get', "it's"]],
  ['opsctl tracker epics get ', ['tracker', 'epics', 'get', '']],
])('the program is asked with the word that is meant: %s', (line, words) => {
  expect(complete(line, ['x']).asked).toEqual(words);
});
