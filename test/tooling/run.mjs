// @ts-check
// Runs the checks of `npm run check`, `npm test`, `npm run test:cluster` and `npm run test:soak`. Each step prints its
// title. The closing line `N passed, N failed, N skipped` counts every test and every step, and the lines before it list
// the failures.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesLeftOut } from '../support/sampled-files.mjs';
import { seedOfRun } from '../support/seed.mjs';
import { failing, missingTable, partsEnvironment, provideParts } from '../real/parts.mjs';
import { missingMarks, namedTests, readMarks } from './covered.mjs';
import { failedTests, failureLines } from './failures.mjs';
import { nodeOf } from './nodes.mjs';
import { install, pack } from './artifacts.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const kind = process.argv[2] ?? 'test';
/** @param {string} name */
const bin = (name) => join(root, 'node_modules', '.bin', name);
const count = { passed: 0, failed: 0, skipped: 0 };
/** @type {{ name: string, error: string }[]} */
const failures = [];

/** The marks that the tests of this run prove. */
const proved = readMarks({ testResults: [] });
const namedByDocuments = namedTests(
  ['sentences', 'rows'].map((table) => readFileSync(join(root, `test/spec/${table}.tsv`), 'utf8')),
);

/** Returns the CPU seconds of all child processes that have exited, or undefined if the system does not report them. */
const cpuOfChildren = () => {
  try {
    const after = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    // cutime and cstime, in hundredths of a second.
    return (Number(after[13]) + Number(after[14])) / 100;
  } catch {
    return undefined;
  }
};
/**
 * Returns the elapsed time and the CPU time since a start, for the analysis of slow runs.
 * @param {{ readonly at: number, readonly cpu: number | undefined }} start
 */
const timeSince = ({ at, cpu }) => {
  const seconds = `${((Date.now() - at) / 1000).toFixed(0)} s`;
  return cpu === undefined ? seconds : `${seconds}, ${((cpuOfChildren() ?? 0) - cpu).toFixed(0)} CPU s`;
};
const now = () => ({ at: Date.now(), cpu: cpuOfChildren() });
const start = now();
const namesBefore = new Set(readdirSync(tmpdir()));
/** Returns the temporary files that this run did not remove. Another run on the machine may own some of them. */
const namesLeft = () =>
  readdirSync(tmpdir()).filter((name) => /^(?:opsctl|kv|s3)-/.test(name) && !namesBefore.has(name));

/** @param {number | null} status @param {string | null} signal */
const ended = (status, signal) =>
  signal === null
    ? `ended with exit code ${status}; its output is above`
    : `was ended by ${signal}; its output is above`;

/**
 * Runs one program as a step.
 * @param {string} title @param {string} command @param {readonly string[]} args @param {Record<string, string>} env
 */
const step = (title, command, args, env = {}) => {
  process.stdout.write(`\n== ${title}\n`);
  const before = now();
  const { status, signal } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  process.stdout.write(`${title}: ${timeSince(before)}\n`);
  count[status === 0 ? 'passed' : 'failed'] += 1;
  if (status !== 0) failures.push({ name: `step: ${title}`, error: ended(status, signal) });
  return status === 0;
};

/** A separate network namespace in which only this machine is reachable. */
const loopbackOnly = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
/** Stories that make the package or the executable themselves. */
const ofTheBuild = ['--exclude', '**/packed.real.test.ts', '--exclude', '**/single-executable.real.test.ts'];

/** The number of processes that share all projects in `npm test`. The real parts mostly wait. */
const OPSCTL_TEST_TOGETHER = '7';
/** All tests that require only Node. */
const withServices = ['--project', 'fast', '--project', 'services'];

/**
 * Runs vitest once and reads the figures from its JSON report.
 * @param {string} title @param {readonly string[]} args @param {Record<string, string | undefined>} env
 */
const vitest = (title, args, env = {}, node = process.execPath, isOffline = false) => {
  process.stdout.write(`\n== ${title}\n`);
  const directory = mkdtempSync(join(tmpdir(), 'opsctl-report-'));
  const report = join(directory, 'report.json');
  const [command, ...isolation] = isOffline ? [...loopbackOnly, node] : [node];
  const before = now();
  const { status, signal } = spawnSync(
    command,
    [
      ...isolation,
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--reporter=dot',
      `--reporter=${join(root, 'test/tooling/failed-at-once.mjs')}`,
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...env, PATH: `${dirname(node)}:${process.env.PATH}` },
    },
  );
  process.stdout.write(`${title}: ${timeSince(before)}\n`);
  try {
    const results = JSON.parse(readFileSync(report, 'utf8'));
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = results;
    const named = failedTests(results, root);
    readMarks(results, proved, namedByDocuments);
    count.passed += numPassedTests;
    count.failed += numFailedTests;
    count.skipped += numPendingTests;
    /** @type {{ readonly name: string, readonly startTime: number, readonly endTime: number }[]} */
    const files = testResults;
    const slow = files
      .map(({ name, startTime, endTime }) => ({ ms: endTime - startTime, name: name.replace(root, '') }))
      .sort((a, b) => b.ms - a.ms);
    process.stdout.write(
      `slowest files: ${slow
        .slice(0, 5)
        .map(({ ms, name }) => `${name} ${(ms / 1000).toFixed(1)} s`)
        .join(', ')}\n`,
    );
    failures.push(...named.map((one) => ({ ...one, name: `${title}: ${one.name}` })));
    if (numFailedTests === 0 && status !== 0) {
      count.failed += 1;
      // The report does not contain errors outside of tests, for example an unhandled rejection.
      if (named.length === 0) failures.push({ name: title, error: ended(status, signal) });
    }
  } catch {
    count.failed += 1;
    failures.push({ name: `${title}: no report`, error: ended(status, signal) });
  }
  rmSync(directory, { recursive: true, force: true });
};

const seed = seedOfRun();
const env = { OPSCTL_TEST_SEED: seed, ...(kind === 'soak' ? { OPSCTL_SOAK: '1' } : {}) };
process.stdout.write(`seed ${seed} (OPSCTL_TEST_SEED=${seed} repeats this run)\n`);

/** Downloads are complete before the first test, so that no test waits for a download and a run without a network behaves the same. */
const isOnRealParts = kind === 'test' || kind === 'soak' || kind === 'nodes';
/** @type {ReturnType<typeof provideParts>} */
let parts = [];
if (isOnRealParts) {
  process.stdout.write('\n== what the tests need from this machine\n');
  parts = provideParts({ announce: (line) => process.stdout.write(`${line}\n`) });
  const gone = parts.filter(({ missing }) => missing !== undefined).length;
  process.stdout.write(`${parts.length - gone} of ${parts.length} parts are here\n`);
  Object.assign(process.env, partsEnvironment());
}

const built = step('build', process.execPath, ['test/tooling/build.mjs']);
step('types', bin('tsc'), ['--noEmit', '-p', '.', '--singleThreaded']);
step('types of src', bin('tsc'), ['--noEmit', '-p', 'src', '--singleThreaded']);
step('types of scripts', bin('tsc'), ['--noEmit', '-p', 'test/tooling', '--singleThreaded']);
step('types of benchmarks', bin('tsc'), ['--noEmit', '-p', 'test/bench', '--singleThreaded']);
step('lint and format', bin('biome'), ['check', '--diagnostic-level=error', '.']);
if (kind === 'check') vitest('fast tests', ['--project', 'fast'], env);
else if (kind === 'cluster') vitest('real clusters', ['--project', 'real', 'test/cluster'], env);
else if (built && kind !== 'nodes' && kind !== 'package') {
  step('unused code', bin('knip'), ['--no-progress']);
  if (kind === 'test') {
    process.stdout.write(
      `\nleft out with this seed, and part of npm run test:soak: ${filesLeftOut(seed).join(', ')}\n`,
    );
    vitest('tests, with real parts: processes, browser, clusters, peers', [], {
      ...env,
      OPSCTL_TEST_TOGETHER,
      OPSCTL_TEST_SAMPLED: '1',
    });
  }
  if (kind !== 'test') vitest('tests', withServices, env);
  // Mutants run in the soak and with `npm run test:mutants`, because `npm test` tests the product instead of the tests.
  if (kind === 'soak')
    step('mutants', process.execPath, ['test/tooling/mutate.mjs', '--seed', seed, '--least', '0.9']);
  if (kind !== 'test')
    vitest('tests on real parts: processes, browser, clusters, peers', ['--project', 'real'], env);
  // If a part of a real system is missing, this run skips some tests, and the table of missing parts lists them.
  const missing = missingMarks(
    proved,
    parts.every((part) => part.missing === undefined),
  );
  count[missing.length === 0 ? 'passed' : 'failed'] += 1;
  process.stdout.write(`marks: ${proved.required.size - missing.length} of ${proved.required.size} proved\n`);
  failures.push(...missing.map(({ name, error }) => ({ name: `mark: ${name}`, error })));
}
// `npm run test:soak` also runs all tests on the other Node versions, and the stories on the installed package. `node
// test/tooling/run.mjs nodes` and `… package` run only that part.
for (const major of kind === 'soak' || kind === 'nodes' ? [22, 24, 26] : []) {
  const node = nodeOf(major);
  const before = { ...count };
  if (node === undefined) count.skipped += 1;
  else
    for (const projects of [withServices, ['--project', 'real']])
      vitest(`Node ${major}: ${projects.at(-1)}`, projects, { OPSCTL_TEST_SEED: seed }, node);
  process.stdout.write(
    `Node ${major}: ${count.passed - before.passed} passed, ${count.failed - before.failed} failed, ${count.skipped - before.skipped} skipped\n`,
  );
}
/**
 * Tests the package that users install, on every Node version and without a network. The stories run its program
 * instead of the local build.
 */
const storiesOfPackage = () => {
  const work = mkdtempSync(join(tmpdir(), 'opsctl-installed-'));
  const isolated = spawnSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
  try {
    const program = install(pack(root, work).path, join(work, 'prefix'));
    for (const major of [20, 22, 24, 26]) {
      const node = process.version.startsWith(`v${major}.`) ? process.execPath : nodeOf(major);
      const title = `Node ${major}: stories of the installed package, ${isolated ? 'offline' : 'with a network'}`;
      const env = { OPSCTL_TEST_BIN: program, OPSCTL_TEST_SEED: seed };
      if (node === undefined) count.skipped += 1;
      else vitest(title, ['--project', 'real', 'test/stories', ...ofTheBuild], env, node, isolated);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};
if (kind === 'soak' || kind === 'package') storiesOfPackage();

const table = missingTable(parts);
if (table.length > 0) process.stdout.write(`\n== missing on this machine\n${table.join('\n')}\n`);
const unforgiven = failing(parts);
if (unforgiven.length > 0) {
  count.failed += unforgiven.length;
  failures.push(
    ...unforgiven.map(({ name, missing }) => ({ name: `missing part: ${name}`, error: missing ?? '' })),
  );
  process.stdout.write(`CI is set: ${unforgiven.map(({ name }) => name).join(', ')} may not be missing\n`);
}
process.stdout.write(
  failureLines(failures)
    .map((line) => `${line}\n`)
    .join(''),
);
if (count.failed > 0)
  process.stdout.write(`\nOPSCTL_TEST_SEED=${seed} npx vitest run FILE repeats a failing file\n`);
const left = namesLeft();
if (left.length > 0) process.stdout.write(`\nleft in ${tmpdir()}: ${left.sort().join(', ')}\n`);
process.stdout.write(`\nthe whole: ${timeSince(start)}\n`);
process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
process.exitCode = count.failed > 0 ? 1 : 0;
