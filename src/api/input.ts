import { limits } from '../core/limits.ts';
import { usageError } from '../core/problem.ts';
import { decodeUtf8 } from '../core/utf8.ts';
import type { Host } from '../platform/host.ts';

const tooMuch = (): Error =>
  usageError(
    `standard input has more than ${limits.inputBytes} bytes`,
    [],
    ['give a smaller piece; `opsctl tracker bulk -f -` takes rows without end'],
  );

/** Standard input to its end. */
export const wholeInput = async ({ terminal }: Pick<Host, 'terminal'>): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of terminal.stdin.bytes()) {
    size += part.length;
    if (size > limits.inputBytes) throw tooMuch();
    parts.push(part);
  }
  return Buffer.concat(parts);
};

/** Standard input as it comes, for lines that have an end: one line is as large as all of it may be elsewhere. */
export async function* boundedLines({ terminal }: Pick<Host, 'terminal'>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const part of terminal.stdin.bytes()) {
    const end = part.lastIndexOf(10);
    size = end < 0 ? size + part.length : part.length - end - 1;
    if (size > limits.inputBytes) throw tooMuch();
    yield part;
  }
}

/** The first line of standard input without its end; undefined when there is none. */
export const firstLine = async ({ terminal }: Pick<Host, 'terminal'>): Promise<string | undefined> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of terminal.stdin.bytes()) {
    size += part.length;
    if (size > limits.inputBytes) throw tooMuch();
    parts.push(part);
    if (part.includes(10)) break;
  }
  return size === 0
    ? undefined
    : (decodeUtf8(Buffer.concat(parts), 'standard input', 'usage').split('\n')[0] ?? '');
};
