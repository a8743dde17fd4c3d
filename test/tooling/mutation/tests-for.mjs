// Which tests are asked about a change, nearest first.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const FAR = 9;
/** What all of these do not notice, no other will. */
const MOST_TESTS = 64;
/** Of each file of a sample. */
const NEAREST = 6;
/** Farther away a test reaches nearly everything; in the folder of a file it is about the file even so. */
const MOST_STEPS = 3;
const MOST_STEPS_AT_HOME = 12;
/** Engines that are tested through the commands that run them. */
const HOMES = { 'src/labels': ['test/commands/labels'], 'src/tracker/bulk': ['test/commands/tracker'] };

/** Tests in folders of their own start programs, or look at documents: they are not about one file. */
export const isUnitTest = (file) =>
  file.endsWith('.test.ts') &&
  !/^test\/(cluster|browser|peers|stories|crash|real|docs|completeness|tooling|bench|simulator|fuzz)\//.test(
    file,
  ) &&
  file.split('/').length > 2;

/** Whole runs with crashes and faults, on the simulated machine: what no test of a file has seen they may. */
const SCENES = {
  'src/kv/upgrade': 'kv upgrade',
  'src/auth/credential-store': 'credential store',
  'src/mock-server': 'mock journal',
  'src/tracker/bulk': 'bulk',
  'src/labels': 'labels apply',
};
export const sceneFor = (file) => {
  const folder = Object.keys(SCENES).find((one) => file.startsWith(`${one}/`));
  return folder && { test: 'test/simulator/simulator.real.test.ts', pattern: `${SCENES[folder]}.*histories` };
};

/** The files that a file imports. */
const makeImportsOf = (root) => {
  const cache = new Map();
  return (file) => {
    if (!cache.has(file)) {
      let text = '';
      try {
        text = readFileSync(join(root, file), 'utf8');
      } catch {}
      // A type is no code that runs.
      const values = text.replaceAll(/^(?:import|export) type [^;]*;$/gm, '');
      const found = [...values.matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)];
      cache.set(
        file,
        found.map(([, to]) => join(dirname(file), to)),
      );
    }
    return cache.get(file);
  };
};

/** Whether a test can reach one of the files at all. */
export const makeMayReach = (root, files) => {
  const importsOf = makeImportsOf(root);
  return (test) => {
    const known = new Set([test]);
    for (const one of known) for (const next of importsOf(one)) known.add(next);
    return files.some((file) => known.has(file));
  };
};

/** How far a test is from a file, by imports: of the same name in the mirrored folder, one that imports the file, its folder, then what reaches it. */
export const makeDistance = (root) => {
  const importsOf = makeImportsOf(root);
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
    const isHome = [mirror, ...(HOMES[dirname(file)] ?? [])].some((one) => test.startsWith(`${one}/`));
    const isArea = test.split('/')[1] === file.split('/')[1];
    const steps = stepsFrom(test, file, isHome || isArea ? MOST_STEPS_AT_HOME : MOST_STEPS);
    if (steps === 1) return importsOf(test).length / 1000 + 1;
    if ((!isHome && !isArea) || steps >= FAR * 2) return steps;
    const words = basename(test, '.test.ts').split('-');
    const isNamed = name.split('-').some((word) => words.includes(word));
    return (isHome ? 1.5 : 1.7) + steps / 20 - (isNamed ? 0.4 : 0);
  };
};

/** The tests nearest to each of the files. */
export const nearestOf = (distance, tests, files) => [
  ...new Set(
    files.flatMap((file) =>
      tests
        .map((test) => [distance(test, file), test])
        .filter(([far]) => far < FAR)
        .sort(([a], [b]) => a - b)
        .slice(0, NEAREST)
        .map(([, test]) => test),
    ),
  ),
];

/** Those that reach the place of the change; for what a module does when it is loaded, those that reach anything of its file, and those near it. */
export const makeTestsFor = (distance, reach, tests) => {
  const near = (file) => tests.filter((test) => !reach.failed.includes(test) && distance(test, file) < FAR);
  return ({ file, start }) => {
    const asked = reach.isLoaded({ file, start })
      ? new Set([...reach.reachedIn(file), ...near(file)])
      : reach.reachedBy({ file, start });
    return [...asked]
      .map((test) => [distance(test, file), reach.ms(test), test])
      .sort(([a, aMs], [b, bMs]) => a - b || aMs - bMs)
      .map(([, , test]) => test)
      .slice(0, MOST_TESTS);
  };
};
