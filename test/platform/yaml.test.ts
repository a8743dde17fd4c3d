import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { Scalar, stringify } from '../../src/platform/yaml.ts';

const hostile = [
  ...[
    'x\u2028evil',
    'x\u2028--- a',
    'x\u2029- !!python/name:os.system',
    'x\u2028...',
    'a\u0085b: c',
    'a\u2028',
    '\u2028',
  ],
  ...[
    '\ufeffa',
    'a\ufeffb',
    'a\x7fb',
    'a\x9bb',
    'a\0b',
    'a\x1bb',
    'a\r\nb',
    'a\rb',
    'a\n\n',
    '\ufffe',
    'a\u202eb',
  ],
  ...[
    'no',
    'On',
    'y',
    '~',
    'null',
    '010',
    '0o7',
    '1_000',
    '12:30:45',
    '1:2',
    '0b1',
    '.inf',
    '1e3',
    '2001-01-01',
    '=',
    '<<',
  ],
  ...[
    '!x',
    '&a',
    '*a',
    '@a',
    '`a`',
    '%a',
    '{{ a }}',
    '{% a %}',
    '---',
    '...',
    '# x',
    'a #b',
    'a: b',
    '- a',
    '? a',
    '|',
    '>',
  ],
  ...["'", '"', '\\', '\t', ' a', 'a ', '\u{1f642}', `${'long '.repeat(40)}\u2028- x`, ''],
];
const value = [...hostile.map((text) => ({ list: [text], [text]: text })), hostile];

test.each([0, 80])('a reader of YAML 1.2 reads every hostile text back at line width %i', (lineWidth) => {
  expect(parse(stringify(value, { lineWidth }))).toEqual(value);
});
test('a reader of YAML 1.1 reads every hostile text back', ({ skip }) => {
  const code = 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin.buffer.read()))))';
  const read = spawnSync('python3', ['-c', code], { input: stringify(value), encoding: 'utf8' });
  if (read.error !== undefined || /No module named/.test(read.stderr)) return skip('there is no PyYAML');
  expect(read.stderr).toBe('');
  expect(JSON.parse(read.stdout)).toEqual([value]);
});
test('a tagged text keeps its tag', () => {
  const scalar = new Scalar('{{ a }}\u2028- b');
  scalar.tag = '!unsafe';
  expect(stringify({ name: scalar })).toBe('name: !unsafe "{{ a }}\\u2028- b"\n');
});
test('a value without such texts is written as before', () => {
  expect(stringify({ a: [1, true, null, 'x = y', 'grüße'], b: { c: 'd' } })).toBe(
    'a:\n  - 1\n  - true\n  - null\n  - x = y\n  - grüße\nb:\n  c: d\n',
  );
});
