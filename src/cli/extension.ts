import type { Host } from '../platform/host.ts';
import { codeOf, runAttended } from './attended-child.ts';
import type { Group } from './program.ts';

/**
 * Runs the unknown command WORD as the program `opsctl-WORD` on PATH, as git and kubectl do. Returns its exit
 * code, or undefined if there is no such program. Commands of this program are never replaced.
 */
export const extensionCode = async (
  host: Host,
  [word = '', ...args]: readonly string[],
  groups: readonly Group[],
): Promise<number | undefined> => {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(word) || word === 'help') return undefined;
  if (groups.some(({ name }) => name === word)) return undefined;
  const ended = await runAttended(host, [`opsctl-${word}`, ...args]);
  return ended.startError === undefined ? codeOf(ended) : undefined;
};
