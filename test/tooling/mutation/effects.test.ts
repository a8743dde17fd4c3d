import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { effectMutantsOf } from './effects.mjs';
import { EQUIVALENT, MOST_EQUIVALENT, isEquivalent } from './equivalent.mjs';

/** Returns the kind and the complete text after each change. */
const changesOf = (source: string): string[] =>
  effectMutantsOf(source).map(
    ({ kind, start, end, text }) => `${kind}: ${source.slice(0, start)}${text}${source.slice(end)}`,
  );

test.each([
  [
    'async () => { await write(); stop(); }',
    ['order: async () => { stop(); await write(); }', 'await: async () => { void write(); stop(); }'],
  ],
  ['() => { a(); b(); }', []],
  ['f({ signal, url })', ['signal: f({ signal: undefined, url })']],
  ['sleep(ms(), signal)', ['signal: sleep(ms(), undefined)']],
  ['x = delay_seconds * 1000', ['unit: x = delay_seconds']],
  ['const graceMs = 10_000', ['unit: const graceMs = 10']],
  ['f({ timeoutMs: 30_000, size: 2000 })', ['unit: f({ timeoutMs: 30, size: 2000 })']],
  ['({ from: plan.from, to: plan.to })', ['member: ({ from: plan.to, to: plan.from })']],
  ['Math.max(now, blocked)', []],
  ['move(source, target)', ['member: move(target, source)']],
  ['try { a(); } catch (error) { throw error; }', ['error: try { a(); } catch (error) {}']],
  ['() => { try { return a(); } catch { return undefined; } }', []],
  [
    '() => { try { a(); } catch { return undefined; } return b(); }',
    ['error: () => { try { a(); } catch {} return b(); }'],
  ],
  ['a.some(isUp)', ['quantifier: a.every(isUp)']],
  ['given ?? stored', ['fallback: (stored ?? given)']],
  ['decide(input.observation)', ['stale: decide(plan.observation)']],
  [
    'async () => { for (;;) { const seen = await look(); use(seen); } }',
    ['stale: async () => { const seen = await look(); for (;;) {  use(seen); } }'],
  ],
  ["import { a, b } from './c.ts'; type T = { signal: number };", []],
])('the mistakes that can be made in %s', (source, changes) => {
  expect(changesOf(source)).toEqual(changes);
});

test.each(EQUIVALENT)(
  'the mutant $kind of "$text" in $file exists once, and its reason is a sentence',
  (one) => {
    const source = readFileSync(one.file, 'utf8');
    const found = effectMutantsOf(source).filter((mutant) =>
      isEquivalent({ ...mutant, file: one.file, source }),
    );
    const own = found.filter(
      ({ kind, start, end }) => kind === one.kind && source.slice(start, end).startsWith(one.text),
    );
    expect(own).toHaveLength(1);
    expect(one.reason).toMatch(/^[A-Z].{40,}\.$/);
  },
);
test('the list of equivalent mutants is short', () => {
  expect(EQUIVALENT.length).toBeLessThanOrEqual(MOST_EQUIVALENT);
});
