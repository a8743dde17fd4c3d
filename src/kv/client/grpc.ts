import { AppError } from '../../core/problem.ts';
import type { Bytes, HttpReply } from '../../platform/host.ts';
import type { Connection } from './messages.ts';
import { hostOf, networkFailure, storeError } from './errors.ts';

const prefixBytes = 5;
/**
 * Returns the size of the message at this offset, including its prefix. Returns the prefix size if the prefix
 * is incomplete.
 */
const sizeAt = (all: Buffer, from: number): number =>
  all.length - from < prefixBytes ? prefixBytes : prefixBytes + all.readUInt32BE(from + 1);
/**
 * Yields the messages of a gRPC stream. Each message has a prefix of one flag byte and a four-byte length.
 */
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
      if (all[from] !== 0) throw new Error('a compressed message, which opsctl did not request');
      yield all.subarray(from + prefixBytes, from + wanted);
      from += wanted;
    }
    waiting = from === all.length ? [] : [all.subarray(from)];
    bytes = all.length - from;
  }
  if (bytes > 0) throw new Error('the stream ended in the middle of a message');
}
/** Returns the message with its prefix, as a unary call sends it. */
export const grpcFrame = (message: Bytes): Buffer => {
  const frame = Buffer.alloc(prefixBytes + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
};
export const isGrpc = ({ status, headers }: HttpReply): boolean =>
  status === 200 && (headers['content-type'] ?? '').startsWith('application/grpc');
/** Decodes percent encoding. Returns invalid input unchanged. */
const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
/** Throws the gRPC error from the headers of a response without content, or from the trailers. */
export const refuseFailure = (url: string, fields: Readonly<Record<string, string>>): void => {
  const code = Number(fields['grpc-status'] ?? 0);
  if (code !== 0)
    throw storeError(url, 200, { code, message: percentDecoded(fields['grpc-message'] ?? 'failed') });
};
const onlyMessage = async (url: string, reply: HttpReply): Promise<Buffer> => {
  if (!isGrpc(reply)) {
    await reply.bytes().catch(() => {});
    throw new AppError('refused', `${hostOf(url)}: it responds only through its gateway`, {
      code: 'UNIMPLEMENTED',
    });
  }
  let found: Buffer | undefined;
  try {
    for await (const message of grpcMessages(reply.stream())) found ??= Buffer.from(message);
  } catch (error) {
    throw networkFailure(url, error);
  }
  // A response without content has its status in the headers; any other response has it in the trailers.
  refuseFailure(url, { ...reply.headers, ...reply.trailers?.() });
  if (found === undefined)
    throw new AppError('network', `${hostOf(url)}: the response ended before its first message`, {
      code: 'RESET',
      retryable: true,
    });
  return found;
};
export type PastGateway = Pick<Connection, 'endpoint' | 'grpc' | 'forgetToken'>;
/**
 * Makes one unary gRPC call, for methods that the gateway of a version does not offer. Renews an invalid
 * token once.
 */
export const grpcCall = async (connection: PastGateway, method: string, message: Bytes): Promise<Buffer> => {
  const { url, user } = connection.endpoint;
  const once = async (): Promise<Buffer> => onlyMessage(url, await connection.grpc(method, message));
  return once().catch((error: unknown) => {
    if (user === undefined || !(error instanceof AppError) || error.detail.code !== 'UNAUTHENTICATED')
      throw error;
    connection.forgetToken();
    return once();
  });
};
