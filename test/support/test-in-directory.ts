/** Separate from directory.ts, which the simulator and the fuzzer use without Vitest. */
import { test } from 'vitest';
import { makeDirectory } from './directory.ts';

/** A test with an empty directory. Vitest creates the directory only for tests that use it. */
export const testInDirectory = test.extend<{ directory: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from this pattern.
  directory: async ({}, use) => use(makeDirectory()),
});
