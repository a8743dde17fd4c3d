import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { casesFrom, sourceKinds, sourcesIn } from '../support/exchanges.ts';

const here = new URL('./', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, here), 'utf8');
const kinds: readonly string[] = sourceKinds;
const areKnown = (sources: readonly string[]): boolean =>
  sources.length > 0 && sources.every((one) => kinds.includes(one));

/** Returns the exchanges of a text that do not name their source. */
const silentCases = (file: string, text: string): string[] => {
  const plain = text
    .split('\n')
    .filter((line) => /^[#@] /.test(line))
    .join('\n');
  return casesFrom(plain).flatMap(({ title, sources }) => (areKnown(sources) ? [] : [`${file}: ${title}`]));
};
/** Tests at the top of a file without a line `// source: …` above; `harness` is a test of the tests. */
const silentTests = (file: string, text: string): string[] => {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => {
    if (!/^(test|describe)\b/.test(line)) return [];
    const [, said] = /^\/\/ source: (.*)$/.exec(lines[i - 1] ?? '') ?? [];
    return said === 'harness' || (said !== undefined && areKnown(sourcesIn(said)))
      ? []
      : [`${file}:${i + 1}`];
  });
};

// source: harness
test('every case of the labels names the kind of source it rests on', () => {
  const names = readdirSync(here).filter((name) => name.startsWith('labels-'));
  const texts = names
    .filter((name) => !name.endsWith('.ts'))
    .flatMap((name) => readdirSync(new URL(`${name}/`, here)).map((file) => `${name}/${file}`));
  expect(texts.length).toBeGreaterThanOrEqual(11);
  expect(texts.flatMap((file) => silentCases(file, read(file)))).toEqual([]);
  const tests = names.filter((name) => name.endsWith('.test.ts'));
  expect(tests.flatMap((file) => silentTests(file, read(file)))).toEqual([]);
});

// source: harness
test('a case without a source, or with an unknown one, is found', () => {
  expect(silentCases('f', '# one\n@ document\n# two\n# three\n@ hearsay\n# four\n@ rule, choice')).toEqual([
    'f: two',
    'f: three',
  ]);
  expect(
    silentTests('f', "// source: rule\ntest('a', …\ntest('b', …\n// source: hearsay\ntest('c', …"),
  ).toEqual(['f:3', 'f:5']);
});
