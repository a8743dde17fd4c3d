import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type LockFile, lockFrom, lockText } from '../../src/labels/lock-file.ts';
import { isPlainKey, plainDocuments, plainYaml, yamlText } from '../../src/core/yaml.ts';

/** Returns the value that the general reader parses from a text, if the text is one valid document. */
const general = (text: string): { readonly value: unknown } | undefined => {
  const documents = parseAllDocuments(text);
  const [only] = 'empty' in documents ? [] : documents;
  if (only === undefined || documents.length > 1 || only.errors.length > 0) return undefined;
  return { value: only.toJS() };
};

const words = fc.constantFrom(
  'yes',
  'null',
  'a: b',
  'a #b',
  'a ',
  '- a',
  '1e3',
  '0012',
  "it's",
  'Ärger',
  '|',
  '[]',
  '\u{1f600}',
);
const text = fc.oneof(fc.string(), words, fc.constantFrom('One.\nTwo.\n', 'a\n\nb', 'a\n b'));
/** Any text but NUL characters, which no reader accepts. */
const anyText = fc.oneof(fc.string({ unit: 'binary' }), text).filter((one) => !one.includes('\0'));
const definitionOf = (some: fc.Arbitrary<string>) => {
  const leaf = fc.oneof(some, fc.integer(), fc.boolean(), fc.constant(null));
  const row = fc.dictionary(fc.constantFrom('name', 'id', 'badge', 'disabled'), leaf, { minKeys: 1 });
  return fc.record({
    title: some,
    apps: fc.array(leaf),
    fields: fc.array(fc.record({ name: some, choices: fc.array(fc.oneof(row, leaf)), one: row })),
  });
};

test('definitions as they are exported are read as the general reader reads them', () => {
  fc.assert(
    fc.property(definitionOf(text), (one) => {
      const written = `# comment\n${yamlText(one)}`;
      expect(plainYaml(written)).toEqual(general(written));
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 300 : 100 },
  );
});

test('the plain reader reads all written YAML with the same result as the general reader', () => {
  fc.assert(
    fc.property(definitionOf(anyText), (one) => {
      const written = yamlText(one);
      expect(plainYaml(written)).toEqual({ value: one });
      expect(general(written)).toEqual({ value: one });
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 300 : 100 },
  );
});

test.each([
  ['a value', { title: 'a\0b' }],
  ['a key', { 'a\0b': 'x' }],
  ['an item of a list', ['x', '\0']],
])('the plain reader leaves a NUL character in %s to the general reader', (_, value) => {
  expect(plainYaml(yamlText(value))).toBeUndefined();
});

test('an ordinary definition needs no general reader', () => {
  const definition = {
    id: 'Ab12_x',
    title: 'Ärger & Co',
    description: 'One.\n\nTwo: 3\n',
    learnMoreUri: 'https://example.com/a?b#c',
    state: 'published',
    disabledPolicy: { hideInSearch: true },
    enabledApps: ['FILES'],
    permissions: [],
    fields: [
      {
        name: '2024',
        type: 'selection',
        required: false,
        maxEntries: null,
        choices: [{ name: 'Open', badge: { color: '#1a2b3c' } }, 'Done'],
      },
      { name: 'Note', type: 'text', disabled: true, description: '|' },
    ],
  };
  expect(plainYaml(`# yaml-language-server: $schema=./labels.schema.json\n${yamlText(definition)}`)).toEqual({
    value: definition,
  });
});

const edit = fc.record({
  at: fc.nat(400),
  remove: fc.nat(3),
  insert: fc.oneof(
    fc.constantFrom(
      ' ',
      '\n',
      '  ',
      '- ',
      ': ',
      '#',
      ' # x',
      '"',
      '|',
      '&a ',
      '*a',
      '!!str ',
      '---\n',
      '\t',
      '{',
      '[',
      'a: 1\n',
      '',
      '\r',
      '? ',
      '<<: ',
      '0x1',
      '.',
    ),
    fc.string({ maxLength: 3 }),
  ),
});

test('a text that was edited is read as the general reader reads it, or left to that', () => {
  fc.assert(
    fc.property(definitionOf(text), fc.array(edit, { minLength: 1, maxLength: 3 }), (one, edits) => {
      let written = yamlText(one);
      for (const { at, remove, insert } of edits) {
        const place = at % (written.length + 1);
        written = written.slice(0, place) + insert + written.slice(place + remove);
      }
      const read = plainYaml(written);
      if (read !== undefined) expect(read).toEqual(general(written));
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 2000 : 400 },
  );
});

test.each([
  ['a repeated key', 'a: 1\na: 2\n'],
  ['a value that goes on in the next line', 'a: b\n  c\n'],
  ['two documents', 'a: 1\n---\na: 2\n'],
  ['a comment behind a value', 'a: b # c\n'],
  ['a comment between lines', 'a: 1\n# c\nb: 2\n'],
  ['an anchor', 'a: &x 1\n'],
  ['a tag', 'a: !!str 1\n'],
  ['flow style', 'a: {b: 1}\n'],
  ['a word of YAML', 'a: Yes\n'],
  ['a prototype', '__proto__: 1\n'],
  ['a quoted prototype', '"__proto__": 1\n'],
  ['a key without a value', 'a:\nb: 1\n'],
  ['a list at the indent of its key', 'a:\n- b\n'],
  ['trailing space', 'a: b \n'],
  ['no end of line', 'a: b'],
  ['Windows ends of lines', 'a: b\r\n'],
  ['nothing', ''],
  ['comments alone', '# a\n'],
  ['a tab', 'a:\tb\n'],
  ['a number with a leading zero', 'a: 012\n'],
  ['depth without end', Array.from({ length: 40 }, (_, i) => `${'  '.repeat(i)}a:`).join('\n') + ' 1\n'],
])('%s is left to the general reader', (_, written) => {
  expect(plainYaml(written)).toBeUndefined();
});

test('keys of the lock file are read back unchanged, whatever characters they contain', () => {
  const record = {
    id: '1',
    title: 't',
    revision: '1',
    state: 'PUBLISHED',
    copyMode: 'DO_NOT_COPY',
    enabledApps: ['FILES'],
    digest: 'd',
    fields: {},
  };
  for (const key of ['null', 'true', '1e3', '0x10', '0012', '-a', '-', 'no', 'label-1', 'a b', 'ä']) {
    const lock: LockFile = {
      labels: { [key]: { file: 'a.yaml', deployments: { 'http://127.0.0.1:1': record } } },
    };
    expect(lockFrom('lock', lockText(lock))).toEqual(lock);
    expect(plainYaml(lockText(lock))).toEqual(general(lockText(lock)));
    expect(plainYaml(lockText(lock))).toBeDefined();
  }
});

test.each<[string, unknown]>([
  ['a: |\n  x\n', { a: 'x\n' }],
  ['a: |-\n  x\n', { a: 'x' }],
  ['a: |\n  x\n\n  y\nb: 1\n', { a: 'x\n\ny\n', b: 1 }],
  ['a:\n  b: 1\nc: 2\n', { a: { b: 1 }, c: 2 }],
  ['a:\n  - x\n  - b: 1\n    c:\n      - z\nd: {}\n', { a: ['x', { b: 1, c: ['z'] }], d: {} }],
  ['- x\n- "y z"\n', ['x', 'y z']],
  ['# one\n# two\na: 1\n', { a: 1 }],
  ['a: 0\nb: -7\nc: 100000000000000\n', { a: 0, b: -7, c: 100_000_000_000_000 }],
  ['a: true\nb: false\nc: null\n', { a: true, b: false, c: null }],
  ['"a: b": "c"\n', { 'a: b': 'c' }],
  ['a: []\nb: ["x", "y"]\n', { a: [], b: ['x', 'y'] }],
  ["a: it's (one), two & three/four+five-six.\n", { a: "it's (one), two & three/four+five-six." }],
  ['_a-1: x\n', { '_a-1': 'x' }],
])('%j needs no general reader', (written, value) => {
  expect(plainYaml(written)).toEqual({ value });
  expect(general(written)).toEqual({ value });
});

test.each([
  ['a number of more digits than are exact', 'a: 1000000000000000\n'],
  ['a list with something else than text', 'a: [1]\n'],
  ['a list that is no JSON', 'a: ["x"\n'],
  ['a text that is no JSON', 'a: "x\n'],
  ['a quoted key that is no JSON', '"\\x": 1\n'],
  ['a word of YAML as a key', 'yes: 1\n'],
  ['a line that is no member', 'a: 1\nb\n'],
  ['an item among members', 'a: 1\n- b\n'],
  ['a member among items', '- a\nb: 1\n'],
  ['an empty line between members', 'a: 1\n\nb: 2\n'],
  ['a member that stands too far in', 'a: 1\n   b: 2\n'],
  ['a member below a value', 'a:\n  b: 1\n    c: 2\n'],
  ['a first line that stands too far in', ' a: 1\n'],
  ['a block without lines', 'a: |\nb: 1\n'],
  ['a block that begins with an empty line', 'a: |\n\n  x\n'],
  ['a block that ends with an empty line', 'a: |\n  x\n\n'],
  ['a block with a line further in', 'a: |\n  x\n    y\n'],
  ['a block whose line ends with a space', 'a: |\n  x \n'],
  ['a dash without a value', 'a:\n  -\n'],
  ['a text that ends with a space behind a dash', '- x \n'],
  ['a key alone at the end', 'a:\n'],
])('%s is left to the general reader as well', (_, written) => {
  expect(plainYaml(written)).toBeUndefined();
});

test('twenty levels are read, one more is left to the general reader', () => {
  const nested = (levels: number): string =>
    `${Array.from({ length: levels }, (_, i) => `${'  '.repeat(i)}a:\n`).join('')}${'  '.repeat(levels)}a: 1\n`;
  expect(plainYaml(nested(20))).toEqual(general(nested(20)));
  expect(plainYaml(nested(20))).toBeDefined();
  expect(plainYaml(nested(21))).toBeUndefined();
});

test('keys that every reader treats as text need no quotes', () => {
  const plain = ['a', '_', 'a-1', 'A_b', 'nob'];
  const quoted = ['1a', '-a', 'a b', 'no', 'N', 'True', 'ä', '', 'a.b'];
  expect(plain.map(isPlainKey)).toEqual(plain.map(() => true));
  expect(quoted.map(isPlainKey)).toEqual(quoted.map(() => false));
});

test('several documents are read one by one, each with the lines before it', () => {
  expect(plainDocuments('# c\na: 1\n---\n# d\nb: |\n  x\n\n  ---\n---\nc: 3\n')).toEqual([
    { value: { a: 1 }, text: '# c\na: 1\n', before: 0 },
    { value: { b: 'x\n\n---\n' }, text: '# d\nb: |\n  x\n\n  ---\n', before: 3 },
    { value: { c: 3 }, text: 'c: 3\n', before: 9 },
  ]);
  expect(plainDocuments('---\na: 1\n')).toEqual([{ value: { a: 1 }, text: 'a: 1\n', before: 1 }]);
});

test.each([
  ['a document of another kind', 'a: 1\n---\nb: {c: 1}\n'],
  ['a document without content', 'a: 1\n---\n---\nb: 1\n'],
  ['dashes at the end', 'a: 1\n---\n'],
  ['dashes with a document behind them', 'a: 1\n--- b\n'],
  ['dots', 'a: 1\n...\nb: 1\n'],
  ['nothing', ''],
])('%s among several is left to the general reader', (_, written) => {
  expect(plainDocuments(written)).toBeUndefined();
});

test('several documents that were edited are read as the general reader reads them', () => {
  const several = fc.array(definitionOf(text), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(several, fc.array(edit, { maxLength: 2 }), (all, edits) => {
      let written = all.map((one) => `# c\n${yamlText(one)}`).join('---\n');
      for (const { at, remove, insert } of edits) {
        const place = at % (written.length + 1);
        written = written.slice(0, place) + insert + written.slice(place + remove);
      }
      const read = plainDocuments(written)?.map(({ value }) => value);
      if (edits.length === 0) expect(read).toBeDefined();
      if (read === undefined) return;
      const documents = parseAllDocuments(written);
      expect(read).toEqual(documents.map((one) => one.toJS()));
      expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    }),
    { numRuns: process.env['OPSCTL_SOAK'] === '1' ? 2000 : 400 },
  );
});

test('a key in quotes may have millions of characters', () => {
  const key = 'x \\"'.repeat(2_500_000);
  expect(plainYaml(`"${key}": 1\n`)).toEqual({ value: { [JSON.parse(`"${key}"`)]: 1 } });
});
