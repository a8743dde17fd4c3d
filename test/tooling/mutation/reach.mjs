// Determines which tests reach which positions of the files. Each test runs once in the copy, with a mark at every
// position.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { marked, placesOf } from '../marks.mjs';
import { makeRunner } from './runner.mjs';

/** Time limit of all tests. A run that exceeds the limit is broken. */
const allMs = 3_600_000;

const readMarks = (directory) =>
  readdirSync(directory).map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')));

/**
 * `reachedBy` (for a position) and `reachedIn` (for a file) return the passing tests that reach it. `isLoaded` returns
 * whether the code runs when a module is loaded, which cannot be attributed to a single test. `ms` returns the
 * duration of a test.
 */
export const takeReach = async (copy, files, tests) => {
  const sources = new Map(files.map((file) => [file, readFileSync(join(copy, file), 'utf8')]));
  const placesIn = new Map();
  let count = 0;
  for (const [file, source] of sources) {
    const first = count;
    placesIn.set(
      file,
      placesOf(source).map((place, i) => ({ ...place, id: first + i })),
    );
    count += placesIn.get(file).length;
    writeFileSync(
      join(copy, file),
      marked(source, (i) => `globalThis.__reached?.add(${first + i})`),
    );
  }
  const marks = mkdtempSync(join(tmpdir(), 'opsctl-marks-'));
  const runner = makeRunner(copy, { OPSCTL_MARKS: marks });
  let modules = [];
  let found = [];
  try {
    modules = (await runner.run({ changed: [], tests, ms: allMs }))?.modules ?? [];
    found = readMarks(marks);
  } finally {
    runner.stop();
    rmSync(marks, { recursive: true, force: true });
    for (const [file, source] of sources) writeFileSync(join(copy, file), source);
  }
  const passed = new Map(
    modules.filter((one) => one.isPassed).map(({ test, ms }) => [relative(copy, test), ms]),
  );
  const reached = new Map();
  for (const { test, reached: ids } of found) reached.set(relative(copy, test), new Set(ids));
  const loaded = new Set(found.flatMap((one) => one.loaded));
  const passing = [...passed.keys()];
  // The last position that contains the change is the innermost position.
  const idOf = ({ file, start }) =>
    placesIn.get(file).findLast((place) => place.start <= start && start < place.end)?.id;
  return {
    failed: tests.filter((test) => !passed.has(test)),
    ms: (test) => passed.get(test) ?? 0,
    isLoaded: (at) => idOf(at) === undefined || loaded.has(idOf(at)),
    reachedBy: (at) => passing.filter((test) => reached.get(test)?.has(idOf(at))),
    reachedIn: (file) =>
      passing.filter((test) => placesIn.get(file).some(({ id }) => reached.get(test)?.has(id))),
  };
};
