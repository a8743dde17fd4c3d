import type { Bytes } from '../../platform/host.ts';
import { RpcError } from '../gateway/rpc.ts';

const HEAD = 5;

/** A message behind its flag and length, as gRPC puts it into the body. */
export const frame = (message: Buffer): Buffer => {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

const lengthIn = (pending: Buffer, most: number): number => {
  if (pending[0] !== 0) throw new RpcError(12, 'grpc: Decompressor is not installed for grpc-encoding');
  const length = pending.readUInt32BE(1);
  if (length > most) throw new RpcError(8, `grpc: received message larger than max (${length} vs. ${most})`);
  return length;
};

/** The messages of a body, each of at most so many bytes, as soon as it is whole. */
export async function* framesOf(body: AsyncIterable<Bytes>, most: number): AsyncGenerator<Buffer> {
  let pending = Buffer.alloc(0);
  for await (const chunk of body) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEAD && pending.length >= HEAD + lengthIn(pending, most)) {
      const end = HEAD + lengthIn(pending, most);
      yield pending.subarray(HEAD, end);
      pending = pending.subarray(end);
    }
  }
  if (pending.length > 0) throw new RpcError(13, 'unexpected EOF');
}
