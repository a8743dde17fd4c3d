import { usageError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';

/** A request of git or docker is a few lines. */
const maxInputBytes = 64 * 1024;
export const credentialInput = async (host: Host): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > maxInputBytes)
      throw usageError(`standard input has more than ${maxInputBytes} bytes: no credential request has`, []);
  }
  return Buffer.concat(parts).toString('utf8');
};
