/** Names of a service in the completion of bash: what TAB puts into the line is one literal word, and no command runs. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';

const completion = fileURLToPath(new URL('../../completions/opsctl.bash', import.meta.url));
const names = [
  ...['$(touch ran)', '`touch ran`', "'; touch ran; '", '"; touch ran; "', '; touch ran', '&& touch ran'],
  ...[
    '${IFS}',
    '\\$(touch ran)',
    '(touch ran)',
    '<(touch ran)',
    '*',
    '{a,b}',
    '[a-z]',
    '~root',
    '#x',
    '>ran',
  ],
  ...['two words', "'$(touch ran)'", 'a"b\'c\\', 'grüße'],
];
test.each([
  ['without a quote', '', '_opsctl_quote "$1"'],
  ['behind an open double quote', '"', '_opsctl_in_quotes "\\"" "$1"'],
  ['behind an open single quote', "'", `_opsctl_in_quotes "'" "$1"`],
])('bash reads a completed name %s as one literal word', (_, quote, call) => {
  const directory = makeDirectory();
  const script = `source "$0"; quote=$2; eval "words=($quote$(${call})$quote)"; printf '%s\\0' "\${words[@]}"`;
  const read = names.map((name) =>
    execFileSync('bash', ['--norc', '-c', script, completion, name, quote], {
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: directory, LC_ALL: 'C.UTF-8' },
    }),
  );
  expect(read).toEqual(names.map((name) => `${name}\0`));
  expect(readdirSync(directory)).toEqual([]);
});
