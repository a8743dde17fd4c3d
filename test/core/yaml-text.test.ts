import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { yamlText } from '../../src/core/yaml.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'yes',
    'null',
    'a: b',
    'a #b',
    ' a',
    'a ',
    '- a',
    '1e3',
    '2024-01-01',
    'a\nb',
    'a\n\nb\n',
    'a\n b',
    '\n',
    "it's",
    'Ärger',
  ),
);
const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
const row = fc.dictionary(fc.constantFrom('name', 'id', 'badge'), leaf, { minKeys: 1 });

test('written YAML is read back unchanged', () => {
  fc.assert(
    fc.property(
      fc.record({
        title: text,
        list: fc.array(leaf),
        rows: fc.array(fc.record({ name: text, inner: fc.array(row), one: row })),
      }),
      (value) => {
        const read: unknown = parse(yamlText(value));
        expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(value)));
      },
    ),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 150 : 50 },
  );
});

test('written YAML looks like hand-written YAML', () => {
  expect(
    yamlText({
      title: 'Project phase',
      description: 'One.\nTwo.\n',
      apps: [],
      fields: [{ name: 'A', choices: [{ name: '2024' }] }],
    }),
  ).toBe(
    'title: Project phase\ndescription: |\n  One.\n  Two.\napps: []\nfields:\n  - name: A\n    choices:\n      - name: "2024"\n',
  );
});

test.each<[unknown, string]>([
  ['plain', 'plain'],
  ['Two words, (three)', 'Two words, (three)'],
  ['ends with space ', '"ends with space "'],
  ['yes', '"yes"'],
  ['2024', '"2024"'],
  ['', '""'],
  ['a: b', '"a: b"'],
  [7, '7'],
  [null, 'null'],
  [true, 'true'],
  ['One.\nTwo.', '|-\n  One.\n  Two.'],
  ['One.\nTwo.\n', '|\n  One.\n  Two.\n'.trimEnd()],
  ['One.\n\nTwo.', '|-\n  One.\n\n  Two.'],
  ['One.\nTwo.\n\n', '"One.\\nTwo.\\n\\n"'],
  ['\nOne.', '"\\nOne."'],
  [' One.\nTwo.', '" One.\\nTwo."'],
  ['One. \nTwo.', '"One. \\nTwo."'],
  ['One.\n Two.', '"One.\\n Two."'],
  ['One.\tx\nTwo.', '"One.\\tx\\nTwo."'],
  ['\u0085\u2028\ufeff', '"\\u0085\\u2028\\ufeff"'],
  ['a: One.', '"a: One."'],
])('%j is written so', (value, written) => {
  expect(yamlText({ a: value })).toBe(`a: ${written}\n`);
  expect(yamlText({ a: [value] })).toBe(`a:\n  - ${written.replaceAll(/\n(?=.)/g, '\n  ')}\n`);
  expect(parse(yamlText({ a: value, b: [value] }))).toEqual({ a: value, b: [value] });
});

test('empty values have a specific form, and undefined values are omitted', () => {
  expect(yamlText({ a: {}, b: [], c: undefined, d: { e: {} } })).toBe('a: {}\nb: []\nd:\n  e: {}\n');
  expect(yamlText([{}, [], { a: [{}] }])).toBe('- {}\n- []\n- a:\n    - {}\n');
  expect(yamlText([{ a: 1, b: [{ c: 'x\ny' }] }, 'z'])).toBe(
    '- a: 1\n  b:\n    - c: |-\n        x\n        y\n- z\n',
  );
});
