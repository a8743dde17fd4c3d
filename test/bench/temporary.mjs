// Cleans up after a benchmark, also after one that a signal ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The last one runs first: a program ends before its directory is removed. One handler runs all functions: Node warns about an eleventh listener of one event.
 * @type {Set<() => void>}
 */
const ends = new Set();
let isListening = false;
/**
 * Calls a function when this process exits, unless the returned function is called before.
 * @param {() => void} end
 */
export const runAtExit = (end) => {
  if (!isListening) {
    isListening = true;
    process.once('exit', () => {
      for (const each of [...ends].reverse()) each();
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  }
  ends.add(end);
  return () => ends.delete(end);
};
/**
 * A write that has started may still create a file in a directory that is being removed, so the removal is tried again.
 * @param {string} directory
 */
const removeNow = (directory, triesLeft = 20) => {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch (error) {
    if (triesLeft === 0) throw error;
    removeNow(directory, triesLeft - 1);
  }
};
/**
 * Returns a new directory, which is removed when this process exits.
 * @param {string} prefix
 */
export const temporaryDirectory = (prefix) => {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  runAtExit(() => removeNow(directory));
  return directory;
};
