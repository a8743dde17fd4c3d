/** Temporary directories of tests. The setup of each test file removes them after the last test of the file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directories: string[] = [];
/**
 * Creates an empty directory that exists until the end of the test file. Its owner may remove it earlier; a test that fails
 * does not.
 */
export const makeDirectory = (prefix = 'opsctl-test-', parent = tmpdir()): string => {
  const directory = mkdtempSync(join(parent, prefix));
  directories.push(directory);
  return directory;
};
/** Removes the directories of a test file. A process that is still exiting may create another file, so the removal is repeated. */
export const removeDirectories = (): void => {
  const failures: unknown[] = [];
  for (const directory of directories.splice(0))
    try {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw new AggregateError(failures, `not removed: ${failures.join(', ')}`);
};
