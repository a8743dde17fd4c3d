/** A test with a temporary directory, apart from the directories, which programs without Vitest create too. */
import { test } from 'vitest';
import { makeDirectory } from './directory.ts';

/** A test with an empty directory. Vitest creates the directory only for tests that use it. */
export const testInDirectory = test.extend<{ directory: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from this pattern.
  directory: async ({}, use) => use(makeDirectory()),
});
