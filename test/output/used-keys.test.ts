import { expect, test } from 'vitest';
import { JsonRows } from '../../src/api/list-rows.ts';
import { makeReducedRows, usedKeys } from '../../src/output/used-keys.ts';

test.each<[program: string, keys: readonly string[]]>([
  ['length', []],
  ['map(select(.id > 5)) | length', ['id']],
  ['map(.name)', ['name']],
  ['map({id, "x y", z: .a.b})', ['id', 'x y', 'a']],
  ['[.[] | select(.archived | not) | .name] | sort', ['archived', 'name']],
  ['sort_by(.name, .id) | .[0] | .owner', ['name', 'id', 'owner']],
  ['group_by(.color) | map({color: .[0].color, count: length})', ['color']],
  ['max_by(.id).name', ['id', 'name']],
  ['.[2:-1] | map("\\(.id): \\(.name | ascii_upcase)")', ['id', 'name']],
  ['.[] | [.id, .name] | @csv', ['id', 'name']],
  ['any(.archived) or all(.a // .b == 1)', ['archived', 'a', 'b']],
  ['map(if .a then .b elif .c then "x" else empty end) | add', ['a', 'b', 'c']],
  ['limit(2; .[] | select(.name | test("\\"a|b\\\\("; "i"))) | .id', ['name', 'id']],
  ['first(.[] | select(.["x y"] == -1)).id?', ['x y', 'id']],
  ['map(.list[].id?)', ['list']],
  ['map(.a == 1 // .b and . or . // .c / 2 // .d)', ['a', 'b', 'c', 'd']],
])('a program over all rows uses only some keys: %s', (program, keys) => {
  expect(usedKeys(program, 'rows')).toEqual(keys);
});

test.each([
  ...['.', '.[]', '.[0]', 'first', 'map(select(.a))', 'sort_by(.a)', 'group_by(.a)', '[.[]]', '.[:2]'],
  ...['map(.a, .)', 'map(length)', 'map(keys)', 'map(has("a"))', 'map(tostring)', 'map(. == {})', 'add'],
  ...[
    'unique',
    'sort',
    'flatten',
    '{a: .[0]}',
    '"\\(.)"',
    '@json',
    '.[] | @json',
    'map(.[])',
    'map(.["a", "b"])',
  ],
  ...['.[] as $x | $x.a', 'reduce .[] as $x (0; . + $x.a)', 'map(del(.a))', 'map(.a = 1)', 'map(.a |= 1)'],
  ...['map(.a += 1)', 'map(.a //= 1)', 'def f: .; map(.a)', 'map(input)', 'map(debug)', 'to_entries', '..'],
  ...['map(.a) # .b', 'try error(.) catch .', 'map(if .a then . else .b end)', '.[0] // "none"', 'min_by(.)'],
  ...['map(with_entries(.))', 'map(getpath(["a"]))', 'map($ENV.a)', '.[0] + .[1]', '.[', 'map(.a', '"a', ''],
  ...[
    '..["a"]?',
    '..[]?',
    '..[0]?',
    'map(..["id"]?)',
    '[..[]? | .id?]',
    'map(-..[0]?)',
    '.[] | ..?',
    '[..].a',
  ],
  ...['(.[0].state == "x") and .[1] // .[0]', 'map(.state == "open" and . // .)', '.[0] // .[1] or true'],
  ...['.[0] == 1 // 2', '.[0].a + 1 // .[0]', 'map(.a == 1 // .)', 'map({a: .b == 1 // .})'],
  ...['map(.["a\\u0062"])', '.a', 'map(.a | error)', `${'('.repeat(600)}.[]|.a${')'.repeat(600)}`],
])('a program that may use whole rows, or is unknown, has no answer: %s', (program) => {
  expect(usedKeys(program, 'rows')).toBeUndefined();
});

test('a program over each row starts with a row', () => {
  expect(usedKeys('select(.a > 1) | .b', 'row')).toEqual(['a', 'b']);
  expect(usedKeys('select(.a > 1)', 'row')).toBeUndefined();
  expect(usedKeys('map(.a)', 'row')).toBeUndefined();
  expect(usedKeys('..["a"]?', 'row')).toBeUndefined();
});

test('rows keep the bytes of the values of the wanted keys', () => {
  const list = new JsonRows('GET /x');
  const rows = list.push(
    Buffer.from(
      String.raw`[{"id":1.50,"a":{"id":[2]},"x y":"\"\u00e9"},{"a":null,"id":-0},{"b":1},7,"text"]`,
    ),
  );
  const reduce = makeReducedRows(['x y', 'id']);
  const texts = ['[', ','].map((before) => Buffer.from(reduce(rows, before, ',')).toString());
  const reduced = String.raw`{"x y":"\"\u00e9","id":1.50},{"id":-0},{},7,"text"`;
  expect(texts).toEqual([`[${reduced}`, `,${reduced}`]);
});
