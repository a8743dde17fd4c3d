import { type EtcdMethod, etcdMethods } from '../../api-specs/etcd/messages.ts';
import { messageOf } from '../../core/problem.ts';
import { decode, encode } from '../../core/protobuf.ts';
import type { Bytes, Handler, Incoming } from '../../platform/host.ts';
import { compareMinors } from '../forms.ts';
import { clientRoutes } from '../gateway/client-handler.ts';
import { transportBytes } from '../gateway/kv.ts';
import { refuseForLearner } from '../gateway/membership.ts';
import { type Api, type Body, type Rpc, RpcError } from '../gateway/rpc.ts';

const HEAD = 5;
/** A message behind its flag and length, as gRPC puts it into the body. */
const frame = (message: Buffer): Buffer => {
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
/** Yields the messages of a body, each with at most the given size, as soon as they are complete. */
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

export const isGrpcCall = ({ headers }: Incoming): boolean =>
  (headers['content-type'] ?? '').startsWith('application/grpc');
/** Headers may only hold printable ASCII: the rest is percent-encoded (gRPC over HTTP/2, "Status-Message"). */
const percentEncode = (message: string): string =>
  message.replace(/[^\x20-\x24\x26-\x7e]/gu, (one) => encodeURIComponent(one));
const methodAt = (api: Api, path: string): { readonly row: EtcdMethod; readonly rpc: Rpc } => {
  const row = Object.hasOwn(etcdMethods, path) ? etcdMethods[path] : undefined;
  const rpc = row === undefined ? undefined : clientRoutes[row.path];
  if (row !== undefined && rpc !== undefined && compareMinors(row.since, api.form.minor) <= 0)
    return { row, rpc };
  const [, service = '', method = ''] = path.split('/');
  throw new RpcError(12, `unknown method ${method} for service ${service} (a simulated member)`);
};
/** The pieces of a stream are lines of the gateway's JSON. */
async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Body> {
  for await (const line of stream) {
    const { result, error } = JSON.parse(Buffer.from(line).toString('utf8')) as {
      result?: Body;
      error?: { grpc_code: number; message: string };
    };
    if (error !== undefined) throw new RpcError(error.grpc_code, error.message);
    if (result !== undefined) yield result;
  }
}
async function* messagesFor(api: Api, request: Incoming): AsyncGenerator<Buffer> {
  const { row, rpc } = methodAt(api, request.url);
  const token = request.headers['token'] ?? request.headers['authorization'];
  for await (const message of framesOf(request.body(), transportBytes(api))) {
    const body = decode(row.request, message);
    refuseForLearner(api, row.path, body);
    const result = await rpc(api, { body, token });
    if (!('stream' in result)) yield frame(encode(row.response, result));
    else
      for await (const one of linesOf(result.stream as AsyncIterable<Uint8Array>))
        yield frame(encode(row.response, one));
  }
}
/** The JSON responses of the gateway, for ordinary ctl programs and client libraries. */
export const grpcHandler =
  (api: Api, ready: Promise<void>): Handler =>
  async (request) => {
    await ready;
    if (api.faults.delayMs > 0) await api.host.sleep(api.faults.delayMs);
    let failure: RpcError | undefined;
    const body = (async function* () {
      try {
        yield* messagesFor(api, request);
      } catch (error) {
        failure = error instanceof RpcError ? error : new RpcError(2, messageOf(error));
      }
    })();
    return {
      status: 200,
      headers: { 'content-type': 'application/grpc' },
      body,
      trailers: (): Record<string, string> =>
        failure === undefined
          ? { 'grpc-status': '0' }
          : { 'grpc-status': String(failure.code), 'grpc-message': percentEncode(failure.message) },
    };
  };
