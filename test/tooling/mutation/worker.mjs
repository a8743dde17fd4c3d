// One vitest for all mutants of a run: modules that did not change are not transformed again. Its parent sends the file that
// changed and the tests to run in their order, and ends this process when a mutant never ends.
// With OPSCTL_MARKS, a directory, nothing is changed: it runs each test once and writes what it reached there.
import { resolve } from 'node:path';
import { createVitest } from 'vitest/node';

const isMarking = process.env.OPSCTL_MARKS !== undefined;
/** The nearest tests first; the first failure ends a batch. */
class AsGiven {
  sort = (files) => files;
  shard = (files) => files;
}

const vitest = await createVitest('test', {
  root: process.cwd(),
  project: ['fast', 'services'],
  // Watching, it would run tests by itself when a file changes, and cancel the run that was asked for: that passed for no failure.
  watch: false,
  reporters: [{}],
  ...(isMarking ? {} : { bail: 1, maxWorkers: 1, testTimeout: 20_000, sequence: { sequencer: AsGiven } }),
});
await vitest.standalone();
/** A test on real parts that is near what it tests is run like one of the services. */
const projectOf = (test) =>
  vitest.projects.find((project) => project.matchesTestGlob(test)) ?? vitest.getProjectByName('services');
// The files of one batch share a process, which ends with the batch: a mutant is never loaded from the one before.
for (const { config } of vitest.projects)
  if (isMarking) config.setupFiles = [resolve('test/tooling/mutation/reached.mjs')];
  else Object.assign(config, { isolate: false, maxWorkers: 1 });

process.on('message', async ({ changed, tests, pattern }) => {
  if (pattern === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(pattern));
  for (const file of changed) vitest.invalidateFile(resolve(file));
  const specifications = tests
    .map((test) => resolve(test))
    .map((test) => projectOf(test).createSpecification(test));
  // The results of earlier mutants are kept otherwise, and one that was killed would kill all that follow.
  vitest.state.filesMap.clear();
  vitest.state.clearErrors();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false);
  const failed = testModules.flatMap((one) => [
    ...one.errors(),
    ...[...one.children.allTests('failed')].flatMap((test) =>
      test.result().errors.map(({ message }) => ({
        message,
        by: `${one.relativeModuleId} > ${test.fullName}`,
      })),
    ),
  ]);
  const [why] = [...failed, ...unhandledErrors];
  process.send({
    why: why?.message?.split('\n')[0].slice(0, 150),
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
process.send({ isReady: true });
