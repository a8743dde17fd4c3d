// @ts-check
// Selects the tests that run against a change, nearest first.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * The code that moves data or secrets, by area.
 * @type {typeof import('./tests-for.mjs').AREAS}
 */
export const AREAS = {
  upgrade: ['src/kv/engine', 'src/kv/upgrade/execute', 'src/kv/upgrade/guards', 'src/kv/upgrade/decide.ts'],
  operations: ['src/kv/operations'],
  snapshots: ['src/kv/snapshots'],
  'credential store': ['src/auth/credential-store', 'src/auth/renew.ts', 'src/auth/issued-tokens.ts'],
  locks: ['src/platform/file-lock.ts', 'src/kv/engine/locks.ts'],
  bulk: ['src/tracker/bulk'],
  'rate limiter': ['src/api/rate.ts'],
  labels: ['src/labels'],
  'mock server': ['src/mock-server'],
};

const FAR = 9;
/** Maximum number of tests per change. If these tests do not detect a change, other tests will not detect it either. */
const MOST_TESTS = 64;
/** Number of tests for each file of a sample. */
const NEAREST = 6;
/** Beyond this distance a test reaches nearly every file. A test in the folder of the file still counts beyond this distance. */
const MOST_STEPS = 3;
const MOST_STEPS_AT_HOME = 12;
/**
 * Engines that are tested through the commands that run them.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const HOMES = {
  'src/labels': ['test/commands/labels'],
  'src/tracker/bulk': ['test/commands/tracker'],
  'src/mock-server/labels': ['test/contract'],
  'src/mock-server/oauth': ['test/contract'],
  'src/mock-server/tracker': ['test/contract'],
};

/** Tests that check one rule for the engines of several folders. They follow the tests that import the file. */
const RULES = new Set(['test/commands/nothing-later.test.ts']);

/**
 * Tests in dedicated folders start programs or check documents, so they do not test one file.
 * @type {typeof import('./tests-for.mjs').isUnitTest}
 */
export const isUnitTest = (file) =>
  file.endsWith('.test.ts') &&
  !/^test\/(cluster|browser|peers|stories|crash|real|docs|completeness|tooling|bench|simulator|fuzz)\//.test(
    file,
  ) &&
  file.split('/').length > 2;

/**
 * Complete runs with crashes and faults on the simulated machine. They may detect changes that the unit tests of a
 * file do not detect.
 * @type {Readonly<Record<string, string>>}
 */
const SCENES = {
  'src/kv/upgrade': 'kv upgrade',
  'src/auth/credential-store': 'credential store',
  'src/mock-server': 'mock journal',
  'src/tracker/bulk': 'bulk',
  'src/labels': 'labels apply',
};
/** @type {typeof import('./tests-for.mjs').sceneFor} */
export const sceneFor = (file) => {
  const folder = Object.keys(SCENES).find((one) => file.startsWith(`${one}/`));
  if (folder === undefined) return undefined;
  return { test: 'test/simulator/simulator.real.test.ts', pattern: `${SCENES[folder]}.*histories` };
};

/**
 * Returns the files that a file imports.
 * @param {string} root
 * @returns {(file: string) => readonly string[]}
 */
const makeImportsOf = (root) => {
  /** @type {Map<string, readonly string[]>} */
  const cache = new Map();
  return (file) => {
    const known = cache.get(file);
    if (known !== undefined) return known;
    let text = '';
    try {
      text = readFileSync(join(root, file), 'utf8');
    } catch {}
    // Type imports do not load code.
    const values = text.replaceAll(/^(?:import|export) type [^;]*;$/gm, '');
    const found = [...values.matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)];
    const files = found.map(([, to = '']) => join(dirname(file), to));
    cache.set(file, files);
    return files;
  };
};

/**
 * Returns a function that returns a value which changes with a test and the helpers that it imports.
 * @type {typeof import('./tests-for.mjs').makeTestHash}
 */
export const makeTestHash = (root) => {
  const importsOf = makeImportsOf(root);
  return (test) => {
    const known = new Set([test]);
    // The text of a test may contain an import of a file that does not exist.
    /** @param {string} file */
    const isHelper = (file) => file.startsWith('test/') && existsSync(join(root, file));
    for (const one of known) for (const next of importsOf(one)) if (isHelper(next)) known.add(next);
    const hash = createHash('sha256');
    for (const one of [...known].sort()) hash.update(readFileSync(join(root, one)));
    return hash.digest('hex').slice(0, 16);
  };
};

/**
 * Returns a function that reports whether a test can reach at least one of the files.
 * @type {typeof import('./tests-for.mjs').makeMayReach}
 */
export const makeMayReach = (root, files) => {
  const importsOf = makeImportsOf(root);
  return (test) => {
    const known = new Set([test]);
    for (const one of known) for (const next of importsOf(one)) known.add(next);
    return files.some((file) => known.has(file));
  };
};

/**
 * Returns the import distance between a test and a file. The order is: a test of the same name in the mirrored folder,
 * tests that import the file, tests of its folder, and then other tests that reach it.
 * @type {typeof import('./tests-for.mjs').makeDistance}
 */
export const makeDistance = (root) => {
  const importsOf = makeImportsOf(root);
  /** @param {string} test @param {string} file @param {number} most */
  const stepsFrom = (test, file, most) => {
    const known = new Set([test]);
    let edge = [test];
    for (let steps = 1; steps <= most; steps++) {
      edge = edge.flatMap(importsOf).filter((one) => !known.has(one) && known.add(one));
      if (edge.includes(file)) return steps;
    }
    return FAR * 2;
  };
  return (test, file) => {
    const mirror = dirname(file).replace(/^src\//, 'test/');
    const name = basename(file, '.ts');
    if (test === `${mirror}/${name}.test.ts`) return 0;
    if (RULES.has(test)) return stepsFrom(test, file, MOST_STEPS_AT_HOME) <= MOST_STEPS_AT_HOME ? 1.1 : FAR;
    const isHome = [mirror, ...(HOMES[dirname(file)] ?? [])].some((one) => test.startsWith(`${one}/`));
    const isArea = test.split('/')[1] === file.split('/')[1];
    const steps = stepsFrom(test, file, isHome || isArea ? MOST_STEPS_AT_HOME : MOST_STEPS);
    if (steps === 1) return importsOf(test).length / 1000 + (isHome ? 0.5 : 1);
    if ((!isHome && !isArea) || steps >= FAR * 2) return steps;
    const words = basename(test, '.test.ts').split('-');
    const isNamed = name.split('-').some((word) => words.includes(word));
    return (isHome ? 1.5 : 1.7) + steps / 20 - (isNamed ? 0.4 : 0);
  };
};

/**
 * Returns the tests nearest to each of the files.
 * @type {typeof import('./tests-for.mjs').nearestOf}
 */
export const nearestOf = (distance, tests, files, count = NEAREST) => [
  ...new Set(
    files.flatMap((file) =>
      tests
        .map((test) => ({ far: distance(test, file), test }))
        .filter(({ far }) => far < FAR)
        .sort((a, b) => a.far - b.far)
        .slice(0, count)
        .map(({ test }) => test),
    ),
  ),
];

/**
 * Returns the tests that reach the position of the change, at most `most`. For code that runs when a module is loaded, returns the
 * tests that reach any position of its file, and the tests near the file.
 * @type {typeof import('./tests-for.mjs').makeTestsFor}
 */
export const makeTestsFor = (distance, reach, tests, most = MOST_TESTS) => {
  /** @param {string} file */
  const near = (file) => tests.filter((test) => !reach.failed.includes(test) && distance(test, file) < FAR);
  return ({ file, start }) => {
    const asked = reach.isLoaded({ file, start })
      ? new Set([...reach.reachedIn(file), ...near(file)])
      : reach.reachedBy({ file, start });
    return [...asked]
      .map((test) => ({ far: distance(test, file), ms: reach.ms(test), test }))
      .sort((a, b) => a.far - b.far || a.ms - b.ms)
      .map(({ test }) => test)
      .slice(0, most);
  };
};
