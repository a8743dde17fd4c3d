import type { Host } from '../../platform/host.ts';
import { usageError } from '../../core/problem.ts';

/** A secret from stdin, so that it stands in no process list; one line, without its end. */
export const readSecret = async (host: Host, flag: string): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > 65_536) break;
  }
  const text = Buffer.concat(parts).toString('utf8').trim();
  if (text === '' || size > 65_536 || /[\s\p{Cc}]/u.test(text))
    throw usageError(
      `--${flag} needs one secret on standard input`,
      [],
      [`printf %s "$SECRET" | opsctl … --${flag}`],
    );
  return text;
};
