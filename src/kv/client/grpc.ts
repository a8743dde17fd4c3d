import type { Bytes } from '../../platform/host.ts';

const prefixBytes = 5;

/** Bytes of the message that starts there, its prefix included; as far as its prefix has come. */
const sizeAt = (all: Buffer, from: number): number =>
  all.length - from < prefixBytes ? prefixBytes : prefixBytes + all.readUInt32BE(from + 1);

/** The messages of a gRPC stream: one byte of flags, four of length, the message. */
export async function* grpcMessages(chunks: AsyncIterable<Bytes>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  let wanted = prefixBytes;
  for await (const chunk of chunks) {
    waiting.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    bytes += chunk.byteLength;
    if (bytes < wanted) continue;
    const all = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting, bytes);
    let from = 0;
    for (wanted = sizeAt(all, from); all.length - from >= wanted; wanted = sizeAt(all, from)) {
      if (all[from] !== 0) throw new Error('a compressed message, which nobody asked for');
      yield all.subarray(from + prefixBytes, from + wanted);
      from += wanted;
    }
    waiting = from === all.length ? [] : [all.subarray(from)];
    bytes = all.length - from;
  }
  if (bytes > 0) throw new Error('the stream ended in the middle of a message');
}

/** One message with its prefix: what a call without a stream sends. */
export const grpcFrame = (message: Bytes): Buffer => {
  const frame = Buffer.alloc(prefixBytes + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
};

const varint = (message: Buffer, at: number): { readonly value: number; readonly next: number } => {
  let [value, next, factor] = [0, at, 1];
  for (;;) {
    const byte = message[next] ?? 0;
    next += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80 || next > message.length) return { value, next };
    factor *= 128;
  }
};

const BYTES = 2;
/** The bytes of one field of a protobuf message; undefined when it is absent. Only varints and lengths occur in these messages. */
export const bytesField = (message: Buffer, number: number): Buffer | undefined => {
  for (let at = 0; at < message.length; ) {
    const tag = varint(message, at);
    const first = varint(message, tag.next);
    if ((tag.value & 7) !== BYTES) at = first.next;
    else {
      at = first.next + first.value;
      if (tag.value >>> 3 === number) return message.subarray(first.next, at);
    }
  }
  return undefined;
};

const VARINT = 0;
const bits = 64;
/** One field that is a number; 0 when it is absent, as the format wants it. Negative numbers are ten bytes long, past what a double can hold. */
export const numberField = (message: Buffer, number: number): number => {
  for (let at = 0; at < message.length; ) {
    const tag = varint(message, at);
    const first = varint(message, tag.next);
    if ((tag.value & 7) === VARINT && tag.value >>> 3 === number)
      return signed(message.subarray(tag.next, first.next));
    at = (tag.value & 7) === BYTES ? first.next + first.value : first.next;
  }
  return 0;
};

const signed = (bytes: Buffer): number => {
  const value = bytes.reduceRight((sum, byte) => (sum << 7n) | BigInt(byte & 0x7f), 0n);
  return Number(BigInt.asIntN(bits, value));
};

/** A message of one number that is not negative. */
export const numberMessage = (number: number, value: number): Buffer => {
  const bytes = [number << 3];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
};
