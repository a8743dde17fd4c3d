import { expect, test } from 'vitest';
import { marked, placesOf } from './marks.mjs';

const source = `const f = (a: number) => (a > 1 ? { a } : 2);
function g(a: number) {
  switch (a) {
    case 1:
    case 2:
      return f(a);
    default: {
      return 0;
    }
  }
}
const seen = [f(1), g(2)];`;

test('a marked text behaves the same and reports the executed places', () => {
  const reached: number[] = [];
  const typeless = (text: string) => text.replaceAll(': number', '');
  const run = (text: string): unknown =>
    new Function('mark', `${typeless(text)}\nreturn seen;`)((i: number) => void reached.push(i));
  expect(run(marked(source, (i) => `mark(${i})`))).toEqual(run(source));
  const texts = placesOf(source).map(({ start, end }) => source.slice(start, end).replaceAll(/\s+/g, ' '));
  expect(reached.map((i) => texts[i])).toEqual([
    'a > 1 ? { a } : 2',
    '2',
    expect.stringMatching(/^\{ switch/),
    'case 2: return f(a);',
    'a > 1 ? { a } : 2',
    '{ a }',
  ]);
  expect(texts).toContain('{ return 0; }');
});
