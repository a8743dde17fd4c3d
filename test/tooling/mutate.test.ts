import { expect, test } from 'vitest';
import { mutantsOf } from './mutate.mjs';

test('a mutant changes one operator, condition, boolean or number, and no type, import or text', () => {
  const source =
    "import { a } from './a.ts';\ntype T = 1 | 2;\nconst f = (x: number) => (x > 1 && !a ? 'yes' : 'no');\n";
  const texts = mutantsOf(source).map(({ start, end, text }) => `${source.slice(start, end)} → ${text}`);
  expect(texts).toEqual(['x > 1 && !a → !(x > 1 && !a)', '&& → ||', '> → <=', '1 → 2', '!a → a']);
});
