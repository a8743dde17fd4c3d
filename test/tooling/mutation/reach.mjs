// @ts-check
// Determines which tests reach which positions of the files. Each test runs once in the copy, with a mark at every
// position. The result is stored beside the compiled code of the tests, so a later run measures only new and changed
// tests.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { marked, placesOf } from '../marks.mjs';
import { makeRunner } from './runner.mjs';

/** Time limit of all tests. A run that exceeds the limit is broken. */
const allMs = 3_600_000;

/** @typedef {import('../marks.mjs').Place} Place */
/** @typedef {{ readonly text: string, readonly hash: string, readonly places: readonly Place[] }} Source */
/** @typedef {ReadonlyMap<string, Source>} Sources */
/**
 * @typedef {object} Stored
 * @property {Record<string, { hash: string, loaded: number[] }>} sources
 * @property {Record<string, import('./reach.mjs').Measurement>} tests
 * @param {string} text
 */
const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);
/**
 * @param {string} directory
 * @returns {{ readonly test: string, readonly loaded: readonly number[], readonly reached: readonly number[] }[]}
 */
const readMarks = (directory) =>
  readdirSync(directory).map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')));

/**
 * Runs the tests with a mark at every position. Returns the duration of each passing test, and what each test reached.
 * @param {string} copy
 * @param {Sources} sources
 * @param {readonly string[]} tests
 */
const measure = async (copy, sources, tests) => {
  /** @type {{ readonly file: string, readonly id: number }[]} */
  const owners = [];
  for (const [file, { text, places }] of sources) {
    const first = owners.length;
    owners.push(...places.map((_, id) => ({ file, id })));
    writeFileSync(
      join(copy, file),
      marked(text, (i) => `globalThis.__reached?.add(${first + i})`),
    );
  }
  const marks = mkdtempSync(join(tmpdir(), 'opsctl-marks-'));
  const runner = makeRunner(copy, { OPSCTL_MARKS: marks });
  /** @param {Iterable<number>} ids */
  const byFile = (ids) => {
    /** @type {Record<string, number[]>} */
    const found = {};
    for (const id of ids) {
      const owner = owners[id];
      if (owner !== undefined) found[owner.file] = [...(found[owner.file] ?? []), owner.id];
    }
    return found;
  };
  try {
    const said = await runner.run({ changed: [], tests, ms: allMs });
    if (said === undefined) throw new Error('the tests did not end without a mutant');
    const passed = new Map(
      said.modules.filter((one) => one.isPassed).map(({ test, ms }) => [relative(copy, test), ms]),
    );
    const found = readMarks(marks);
    return {
      loaded: byFile(new Set(found.flatMap((one) => one.loaded))),
      tests: found
        .map((one) => ({ test: relative(copy, one.test), reached: byFile(one.reached) }))
        .map((one) => ({ ...one, ms: passed.get(one.test) })),
    };
  } finally {
    runner.stop();
    rmSync(marks, { recursive: true, force: true });
    for (const [file, { text }] of sources) writeFileSync(join(copy, file), text);
  }
};

/** @param {string} path @returns {Stored} */
const readStore = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { sources: {}, tests: {} };
  }
};

/**
 * Returns whether a stored measurement of a test is still valid. A test that failed may pass after a repair of the source,
 * and a test may reach other positions of a file that has changed, so both are measured again.
 * @type {typeof import('./reach.mjs').isMeasured}
 */
export const isMeasured = (stored, hash, sources) =>
  stored?.hash === hash &&
  stored.ms !== undefined &&
  Object.entries(stored.reached).every(
    ([file, seen]) => (sources.get(file)?.hash ?? seen.hash) === seen.hash,
  );

/**
 * Measures `tests` once, except for the tests that the file at `path` knows unchanged. `files` are all files that the
 * store contains. `hashTest` returns a value that changes with the test and its helpers.
 *
 * `reachedBy` (for a position) and `reachedIn` (for a file) return the passing tests that reach it. `isLoaded` returns
 * whether the code runs when a module is loaded, which cannot be attributed to a single test. `ms` returns the duration
 * of a test.
 * @type {typeof import('./reach.mjs').takeReach}
 */
export const takeReach = async ({ copy, files, tests, path, hashTest }) => {
  const sources = new Map(
    files.map((file) => {
      const text = readFileSync(join(copy, file), 'utf8');
      return /** @type {const} */ ([file, { text, hash: hashOf(text), places: placesOf(text) }]);
    }),
  );
  /** @param {string} file */
  const sourceOf = (file) => {
    const source = sources.get(file);
    if (source === undefined) throw new Error(`${file} is not one of the measured files`);
    return source;
  };
  const store = readStore(path);
  /** @param {string} test */
  const isKnown = (test) => isMeasured(store.tests[test], hashTest(test), sources);
  const missing = tests.filter((test) => !isKnown(test));
  if (missing.length > 0) {
    const seen = await measure(copy, sources, missing);
    for (const test of missing) store.tests[test] = { hash: hashTest(test), reached: {} };
    for (const [file, { hash }] of sources) {
      const known = store.sources[file];
      const before = known?.hash === hash ? known.loaded : [];
      store.sources[file] = { hash, loaded: [...new Set([...before, ...(seen.loaded[file] ?? [])])] };
    }
    for (const { test, ms, reached } of seen.tests) {
      const of = Object.entries(reached).map(([file, ids]) => [file, { hash: sourceOf(file).hash, ids }]);
      store.tests[test] = { hash: hashTest(test), ms, reached: Object.fromEntries(of) };
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(store));
  }
  // The last position that contains the change is the innermost position.
  /** @param {import('./reach.mjs').Position} at */
  const idOf = ({ file, start }) =>
    sourceOf(file).places.findLastIndex((place) => place.start <= start && start < place.end);
  const passing = tests.filter((test) => store.tests[test]?.ms !== undefined);
  /** @param {string} test @param {string} file */
  const idsOf = (test, file) => store.tests[test]?.reached[file]?.ids;
  return {
    failed: tests.filter((test) => store.tests[test]?.ms === undefined),
    ms: (test) => store.tests[test]?.ms ?? 0,
    isLoaded: (at) => {
      const known = store.sources[at.file];
      if (known === undefined || known.hash !== sourceOf(at.file).hash) return true;
      return idOf(at) < 0 || known.loaded.includes(idOf(at));
    },
    reachedBy: (at) => passing.filter((test) => idsOf(test, at.file)?.includes(idOf(at)) === true),
    reachedIn: (file) => passing.filter((test) => idsOf(test, file) !== undefined),
  };
};
