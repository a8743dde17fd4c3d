import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exceed, exponentOf, growthOf, printGrowth } from '../bench/growth.mjs';

const root = new URL('../../', import.meta.url).pathname;
const costs = (cost: (size: number) => number) =>
  [1000, 4000, 16_000].map((size) => [size, cost(size)] as const);

test.each([
  ['constant', 0, (_: number) => 5],
  ['linear', 1, (size: number) => size / 100],
  ['quadratic', 2, (size: number) => size ** 2 / 1e6],
])('a %s cost has the growth exponent %i', (_, exponent, cost) => {
  expect(exponentOf(costs(cost))).toBeCloseTo(exponent);
  expect(growthOf(costs(cost)).isOver).toBe(exponent > 1.1);
});
test('the start of a process does not hide the growth of its work', () => {
  const points = costs((size) => 100 + size ** 2 / 1e7);
  expect(growthOf(points).isOver).toBe(false);
  expect(growthOf(points, { base: 100 })).toMatchObject({
    isOver: true,
    text: 'growth: size^2.00 (limit 1.1)  OVER',
  });
});
/** Whether a figure whose process starts in 0.2 s exceeds the limit of growth. */
const exceeds = (points: readonly (readonly [number, number])[]): boolean => {
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    printGrowth('a figure', points, { base: 0.2 });
    return process.exitCode === 1;
  } finally {
    process.exitCode = before;
  }
};
test('a start that was slower than the smallest job does not look like growth, and does not hide growth', () => {
  const rest = (cost: (size: number) => number) =>
    [10_000, 100_000].map((size) => [size, 0.2 + cost(size)] as const);
  for (const first of [0.18, 0.2, 0.21]) {
    expect(exceeds([[1000, first], ...rest((size) => size / 70_000)])).toBe(false);
    expect(exceeds([[1000, first], ...rest((size) => (size / 30_000) ** 2)])).toBe(true);
    // A least cost in place of the first size would give this work the exponent 0.68.
    expect(exceeds([[1000, first], ...rest((size) => 0.07 * (size / 10_000) ** 1.3)])).toBe(true);
  }
});
test('one expensive size proves growth, because the size before it costs at most the noise', () => {
  const sizes = (all: readonly number[], cost: (size: number) => number) =>
    all.map((size) => [size, 0.2 + cost(size)] as const);
  const wide = [1000, 10_000, 100_000];
  expect(exceeds(sizes(wide, (size) => (size / 50_000) ** 2))).toBe(true);
  expect(exceeds(sizes(wide, (size) => (size / 30_000) ** 3))).toBe(true);
  expect(exceeds(sizes([10_000, 30_000, 100_000], (size) => (size / 140_000) ** 2))).toBe(true);
  expect(exceeds(sizes(wide, (size) => size / 250_000))).toBe(false);
});
test('work below the noise of a start has an unknown growth', () => {
  const { isOver, text } = growthOf(
    costs((size) => 0.2 + size / 1e9),
    { base: 0.2, noise: 0.05 },
  );
  expect([isOver, text]).toEqual([false, 'growth: unknown, the work costs less than the noise of a start']);
});
test('two sizes prove no growth', () => {
  expect(growthOf(costs((size) => size).slice(1)).text).toBe('growth: unknown, fewer than three sizes');
});
test('every product source that a benchmark names exists', () => {
  const named = readdirSync(`${root}test/bench`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => [
      ...readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8').matchAll(
        /(?:\.\/|\/)(src\/[\w./-]+\.ts)'/g,
      ),
    ])
    .map(([, path]) => path as string);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(root + path))).toEqual([]);
});

test('a limit of a time fails a benchmark only in strict mode, any other limit always', () => {
  const before = process.exitCode;
  const codeAfter = (...given: Parameters<typeof exceed>) => {
    process.exitCode = 0;
    exceed(...given);
    return process.exitCode;
  };
  try {
    expect(codeAfter({ isTime: true }, {})).toBe(0);
    expect(codeAfter({ isTime: true }, { OPSCTL_BENCH_STRICT: '1' })).toBe(1);
    expect(codeAfter({}, {})).toBe(1);
  } finally {
    process.exitCode = before;
  }
});

/** Benchmarks without sizes, and the reason. */
const withoutGrowth: Readonly<Record<string, string>> = {
  'defrag.bench.mjs': 'the member does the work',
  'http-client.bench.mjs': 'both programs send the same number of requests',
  'startup.bench.mjs': 'the start of a command has no size',
  'upgrade.bench.mjs': 'waits of fixed length dominate an upgrade of real members',
};
test('every benchmark prints its growth, and only growth.mjs decides when a limit fails the run', () => {
  const directory = `${root}test/bench`;
  const names = readdirSync(directory).filter((name) => name.endsWith('.bench.mjs'));
  const sources = names.map((name) => [name, readFileSync(`${directory}/${name}`, 'utf8')] as const);
  const silent = sources
    .filter(([, text]) => !/\b(?:printGrowth|growthOf)\(/.test(text))
    .map(([name]) => name);
  expect(silent.sort()).toEqual(Object.keys(withoutGrowth).sort());
  const own = sources.filter(([, text]) => text.includes('process.exit(1)')).map(([name]) => name);
  expect(own).toEqual([]);
});

test('many clusters of one benchmark share one handler of each signal, and each ends with it', () => {
  const program = `
    const { startMembers } = await import(${JSON.stringify(new URL('../bench/kv/cluster.mjs', import.meta.url).href)});
    const names = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'];
    const before = names.map((name) => process.listenerCount(name));
    const clusters = await Promise.all(Array.from({ length: 12 }, () => startMembers(0, {}, {})));
    await clusters[0].stop();
    const counts = names.map((name, i) => process.listenerCount(name) - before[i]);
    process.stdout.write(JSON.stringify({ counts, directories: clusters.map(({ directory }) => directory) }));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const { counts, directories } = JSON.parse(stdout) as { counts: number[]; directories: string[] };
  expect([counts, directories.length]).toEqual([[1, 1, 1, 1], 12]);
  expect(directories.filter((directory) => existsSync(directory))).toEqual([]);
});

test('a benchmark that a signal ends removes its directory', () => {
  const script = `import { temporaryDirectory } from '${root}test/bench/temporary.mjs';
    import { writeFileSync } from 'node:fs';
    const directory = temporaryDirectory('opsctl-bench-test-');
    writeFileSync(directory + '/rows', '');
    process.stdout.write(directory, () => process.kill(process.pid, 'SIGTERM'));
    setInterval(() => {}, 1000);`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  expect(stdout).toMatch(/opsctl-bench-test-/);
  expect([status, existsSync(stdout)]).toEqual([1, false]);
});
test('a benchmark that makes a directory removes it also after a signal', () => {
  const files = readdirSync(`${root}test/bench`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.mjs'))
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  const makers = files.filter((path) => readFileSync(path, 'utf8').includes('mkdtemp'));
  expect(makers.filter((path) => !readFileSync(path, 'utf8').includes('runAtExit'))).toEqual([]);
});
