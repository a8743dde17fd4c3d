// @ts-check
// The directory for files that the tests download. It is outside node_modules, which `npm ci` empties.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Returns OPSCTL_TEST_CACHE, or a directory in the cache of the user that all checkouts share. */
export const testCache = (env = process.env) =>
  resolve(env.OPSCTL_TEST_CACHE ?? join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'opsctl-test'));
