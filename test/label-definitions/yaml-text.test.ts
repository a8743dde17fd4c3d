import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { yamlText } from '../../src/label-definitions/yaml-text.ts';

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

test('what is written is read back as it was', () => {
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

test('it is what a person would write', () => {
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
