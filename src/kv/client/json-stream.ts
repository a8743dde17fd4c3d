import type { Bytes } from '../../platform/host.ts';

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];

/** Ends of strings are found with indexOf: the blobs are long, so a loop over their bytes would take most of the time. */
const endOfString = (bytes: Buffer, from: number): number => {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return -1;
};

/** Index after the object that starts at or after `from`; -1 when it is not complete yet. */
const endOfObject = (bytes: Buffer, from: number): number => {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
      if (at < 0) return -1;
    } else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
};

/**
 * The JSON objects of a stream, one by one, whatever stands between them.
 * 3.2 writes them back to back without a newline, later versions one on a line.
 */
export async function* jsonObjects(chunks: AsyncIterable<Bytes>): AsyncGenerator<unknown> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    waiting.push(piece);
    waitingBytes += piece.length;
    // Without a closing brace in the new piece no object can have become complete.
    if (!piece.includes(CLOSE)) continue;
    const bytes = waiting.length === 1 ? piece : Buffer.concat(waiting, waitingBytes);
    let from = 0;
    for (let end = endOfObject(bytes, from); end >= 0; end = endOfObject(bytes, from)) {
      yield JSON.parse(bytes.toString('latin1', from, end).trim());
      from = end;
    }
    waiting = from === bytes.length ? [] : [bytes.subarray(from)];
    waitingBytes = bytes.length - from;
  }
  if (Buffer.concat(waiting).toString().trim() !== '')
    throw new Error('the stream ended in the middle of an object');
}
