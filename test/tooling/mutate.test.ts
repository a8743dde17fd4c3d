import { expect, test } from 'vitest';
import { mutantsOf } from './mutation/mutants.mjs';

const changesOf = (source: string): string[] =>
  mutantsOf(source).map(({ start, end, text }) => `${source.slice(start, end)} → ${text}`);

test('a mutant changes one operator, condition, boolean or number, and no type, import or text', () => {
  const source =
    "import { a } from './a.ts';\ntype T = 1 | 2;\nconst f = (x: number) => (x > 1 && !a ? 'yes' : 'no');\n";
  expect(changesOf(source)).toEqual(['x > 1 && !a → !(x > 1 && !a)', '&& → ||', '> → <=', '1 → 2', '!a → a']);
});

test('a comparison is not turned around twice', () => {
  expect(changesOf('if (a === b) c();')).toEqual(['=== → !==']);
});

test('no millisecond more and no letter more of an excerpt: nothing can tell them apart', () => {
  expect(
    changesOf('const probeMs = 30 * 1000; f({ stop_seconds: 8 }); text.slice(0, 200); n = 1024;'),
  ).toEqual([]);
  expect(changesOf('const tries = 2; text.slice(0, 2);')).toEqual(['2 → 3', '0 → 1', '2 → 3']);
});
