import { usageError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { decodeUtf8 } from '../../core/utf8.ts';
import { limits } from '../../core/limits.ts';

export const credentialInput = async (host: Host): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > limits.credentialRequestBytes)
      throw usageError(
        `standard input has more than ${limits.credentialRequestBytes} bytes: no credential request has`,
        [],
      );
  }
  return decodeUtf8(Buffer.concat(parts), 'standard input', 'usage');
};
