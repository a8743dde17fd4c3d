// @ts-check
// Runs one vitest process for all mutants of a run, so that unchanged modules are not transformed again. The parent
// process sends the changed file and the ordered list of tests, and kills this process if a mutant never finishes. If
// OPSCTL_MARKS contains a directory, the worker changes no file; it runs each test once and writes the reached marks to
// that directory.
import { resolve } from 'node:path';
import { createVitest } from 'vitest/node';

const isMarking = process.env.OPSCTL_MARKS !== undefined;
/** Runs the nearest tests first. The first failure stops a batch. */
class AsGiven {
  /** @param {import('vitest/node').TestSpecification[]} files */
  sort = (files) => files;
  /** @param {import('vitest/node').TestSpecification[]} files */
  shard = (files) => files;
}

const vitest = await createVitest('test', {
  root: process.cwd(),
  project: ['fast', 'services'],
  // In watch mode, vitest would start tests automatically after a file change and cancel the requested run. The
  // canceled run would count as a pass.
  watch: false,
  reporters: [{}],
  ...(isMarking ? {} : { bail: 1, maxWorkers: 1, testTimeout: 20_000, sequence: { sequencer: AsGiven } }),
});
await vitest.standalone();
/**
 * A test that needs real services and is near its subject runs in the project of the services.
 * @param {string} test
 */
const projectOf = (test) =>
  vitest.projects.find((project) => project.matchesTestGlob(test)) ?? vitest.getProjectByName('services');
// The files of one batch share a process, which exits with the batch. A mutant therefore never reuses the modules of the
// previous mutant.
for (const { config } of vitest.projects)
  if (isMarking) config.setupFiles = [...config.setupFiles, resolve('test/tooling/mutation/reached.mjs')];
  else Object.assign(config, { isolate: false, maxWorkers: 1 });

/** @typedef {import('./runner.mjs').Request} Request */
/** @param {unknown} error */
const messageOf = (error) =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : undefined;
process.on('message', async (/** @type {Request} */ { changed, tests, pattern }) => {
  if (pattern === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(pattern));
  for (const file of changed) vitest.invalidateFile(resolve(file));
  const specifications = tests
    .map((test) => resolve(test))
    .map((test) => projectOf(test).createSpecification(test));
  // Otherwise vitest would keep the results of earlier mutants, and one killed mutant would count as a kill of all
  // following mutants.
  vitest.state.filesMap.clear();
  vitest.state.clearErrors();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false);
  /** @type {{ readonly message?: string, readonly by?: string }[]} */
  const failed = testModules.flatMap((one) => [
    ...one.errors(),
    ...[...one.children.allTests('failed')].flatMap((test) =>
      (test.result().errors ?? []).map(({ message }) => ({
        message,
        by: `${one.relativeModuleId} > ${test.fullName}`,
      })),
    ),
  ]);
  const [unhandled] = unhandledErrors;
  const why = failed[0] ?? (unhandled === undefined ? undefined : { message: messageOf(unhandled) });
  process.send?.({
    why: why?.message?.split('\n')[0]?.slice(0, 150),
    by: why?.by,
    isPassed: unhandledErrors.length === 0 && testModules.every((one) => one.ok()),
    modules: testModules.map((one) => ({
      test: one.moduleId,
      isPassed: one.ok(),
      ms: one.diagnostic().duration,
    })),
  });
});
process.on('disconnect', () => process.exit());
process.send?.({ isReady: true });
