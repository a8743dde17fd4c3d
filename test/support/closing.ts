/** Resources of tests that close themselves. The setup of each test file closes those that no test owns. */
import { TestRunner, onTestFinished } from 'vitest';

type Resource = { close(): Promise<void> };
const untilEndOfFile: (() => Promise<void>)[] = [];

/**
 * Closes the resource after the test that started it, or at the end of the test file if it was started outside of a test
 * or in a test that runs concurrently: then the current test may be another one, which would close the resource too early.
 * The last resource is closed first. A test may close a resource earlier; a second call waits for the first.
 */
export const closeAtEnd = <Started extends Resource>(resource: Started): Started => {
  const { close } = resource;
  let closing: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => {
    closing ??= close.call(resource);
    return closing;
  };
  const test = TestRunner.getCurrentTest();
  if (test === undefined || test.concurrent === true) untilEndOfFile.push(closeOnce);
  else onTestFinished(closeOnce);
  return Object.assign(resource, { close: closeOnce });
};
/** Closes the resources that belong to the test file. */
export const closeResources = async (): Promise<void> => {
  const failures: unknown[] = [];
  for (const close of untilEndOfFile.splice(0).reverse())
    await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, `not closed: ${failures.join(', ')}`);
};
