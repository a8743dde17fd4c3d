import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutantsOf } from './mutation/mutants.mjs';
import { isMeasured } from './mutation/reach.mjs';
import { AREAS, nearestOf } from './mutation/tests-for.mjs';

const changesOf = (source: string): string[] =>
  mutantsOf(source).map(({ start, end, text }) => `${source.slice(start, end)} → ${text}`);

test('a mutant changes one operator, condition, boolean or number, and no type, import or text', () => {
  const source =
    "import { a } from './a.ts';\ntype T = 1 | 2;\nconst f = (x: number) => (x > 1 && !a ? 'yes' : 'no');\n";
  expect(changesOf(source)).toEqual([
    'x > 1 && !a → !(x > 1 && !a)',
    '&& → ||',
    '> → <=',
    '> → >=',
    '1 → 2',
    '!a → a',
  ]);
});

test('a comparison is not turned around twice', () => {
  expect(changesOf('if (a === b) c = d;')).toEqual(['=== → !==']);
});

test('the mutator skips indistinguishable changes of milliseconds and excerpts', () => {
  expect(
    changesOf('const probeMs = 30 * 1000; g = f({ stop_seconds: 8 }); h = text.slice(0, 200); n = 1024;'),
  ).toEqual([]);
  expect(changesOf('const tries = 2; h = text.slice(0, 2);')).toEqual(['2 → 3', '0 → 1', '2 → 3']);
});

test('the mutator drops statements with calls and keeps user-visible text', () => {
  expect(changesOf('await save(x);')).toEqual(['await save(x); → ;']);
  expect(
    changesOf(
      "log(a ? 1 : 2); throw new AppError('usage', `${n === 1 ? 'one' : n + 1}`, { tryThis: [a ? 'b' : 'c'] });",
    ),
  ).toEqual([]);
  expect(changesOf("throw new AppError('usage', 'no', { code: a ? A : B });")).toEqual(['a → !(a)']);
});

test('the mutator keeps the duration of a wait and changes its condition', () => {
  expect(changesOf('await host.sleep(100); if (host.elapsed() > until) stop();')).toEqual([
    '> → <=',
    'stop(); → ;',
  ]);
});

test('every change is a text that can be read', () => {
  expect(changesOf('f(a ?? b ?? c);')).toEqual([
    'f(a ?? b ?? c); → ;',
    'a ?? b ?? c → ((a ?? b) && (c))',
    'a ?? b → ((a) && (b))',
  ]);
});

test('a size is taken by its name, not by one MiB more', () => {
  expect(changesOf('const most = 64 * 1024 * 1024, tries = 2 * 3;')).toEqual(['2 → 3', '3 → 4']);
});

test('the nearest tests of a file are the few with the fewest steps to it, once, and none that is far', () => {
  const steps: Record<string, number> = { a: 3, b: 0, c: 1, d: 2, e: 9, f: 4, g: 5, h: 6 };
  const distance = (name: string, file: string): number => (file === 'x.ts' ? (steps[name] ?? 0) : 9);
  expect(nearestOf(distance, Object.keys(steps), ['x.ts', 'y.ts'])).toEqual(['b', 'c', 'd', 'a', 'f', 'g']);
});

test('the areas of the mutation runner name existing folders and files', () => {
  const paths = Object.values(AREAS).flat();
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

test('a test is measured again after a change of itself, of its helpers, or of a file that it reached', () => {
  const stored = { hash: 't1', ms: 5, reached: { 'src/a.ts': { hash: 'a1', ids: [0, 3] } } };
  const sources = (hash: string) => new Map([['src/a.ts', { hash }]]);
  expect(isMeasured(stored, 't1', sources('a1'))).toBe(true);
  expect(isMeasured(stored, 't2', sources('a1'))).toBe(false);
  expect(isMeasured(stored, 't1', sources('a2'))).toBe(false);
  // A file that is not mutated in this run is not measured.
  expect(isMeasured(stored, 't1', new Map())).toBe(true);
  expect(isMeasured({ hash: 't1', reached: {} }, 't1', sources('a1'))).toBe(false);
  expect(isMeasured(undefined, 't1', sources('a1'))).toBe(false);
});

test('the mutator rejects a path in place of an area, which has no mutants', () => {
  const args = ['test/tooling/mutate.mjs', '--per-area', '1', 'src/labels'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr.includes('unknown area src/labels')]).toEqual([1, true]);
});
