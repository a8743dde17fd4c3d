import type { AuthContext } from './auth-context.ts';
import { sh } from '../core/shell.ts';
import type { Host } from '../platform/host.ts';
import { usageError } from '../core/problem.ts';
import { refuseLongSecret } from '../core/field.ts';
import { decodeUtf8 } from '../core/utf8.ts';
import { limits } from '../core/limits.ts';

/**
 * Reads a secret from stdin, so that no process list shows it: one line, without its end. `forbidden` lists
 * the characters that this kind of secret cannot contain; RFC 6749 A.2 allows spaces in a client secret.
 */
export const readSecret = async (host: Host, flag: string, forbidden = /[\s\p{Cc}]/u): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > limits.secretBytes + 2) break;
  }
  const line = decodeUtf8(Buffer.concat(parts), 'standard input', 'usage').replace(/\r?\n$/, '');
  const text = forbidden.test(' ') ? line.trim() : line;
  refuseLongSecret('usage', `--${flag}`, line);
  if (text === '' || forbidden.test(text))
    throw usageError(
      `--${flag} needs one secret on standard input`,
      [],
      [String(sh`printf %s "$SECRET" | opsctl … --${[flag]}`)],
    );
  return text;
};

/** A key that every user of the machine can read is not a secret any more. Windows has no such mode. */
export const warnOfReadableKey = async (
  { host, log }: Pick<AuthContext, 'host' | 'log'>,
  path: string,
): Promise<void> => {
  if (host.platform === 'win32') return;
  const target = await host.files.realPath(path).catch(() => undefined);
  const info = target === undefined ? undefined : await host.files.info(target).catch(() => undefined);
  if (info !== undefined && (info.mode & 0o004) !== 0)
    log.warnOnce(
      `readable ${path}`,
      `Every user of this machine can read the private key ${path}. Run: chmod 600 ${path}`,
    );
};
