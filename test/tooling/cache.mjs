// Where the tests keep what they fetched: outside node_modules, which `npm ci` empties.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** OPSCTL_TEST_CACHE, else a directory in the user's cache, shared by all checkouts. */
export const testCache = (env = process.env) =>
  resolve(env.OPSCTL_TEST_CACHE ?? join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'opsctl-test'));
