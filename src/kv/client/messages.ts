import { etcdMethods } from '../../api-specs/etcd/messages.ts';
import type { VersionRow } from '../../api-specs/etcd/versions.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { DirectCall, Shape } from '../../core/protobuf.ts';
import type { Bytes, HttpReply } from '../../platform/host.ts';
import type { ClusterTls } from './certificates.ts';
import { hostOf, networkFailure, storeError } from './errors.ts';

export type Credentials = { readonly name: string; readonly password: string };
export type Endpoint = {
  readonly url: string;
  readonly tls?: ClusterTls;
  readonly user?: Credentials;
  /** Timeout for connecting and between two received bytes of a response. */
  readonly timeoutMs?: number;
  /** Limit of the first request, /version, which a member answers without work; timeoutMs by default. */
  readonly contactMs?: number | undefined;
  readonly signal?: AbortSignal;
  /** Do not retry through the gRPC API if the gateway rejects a request. */
  readonly isGatewayOnly?: boolean;
  /**
   * spec/store#limits: the send limit of the client is 2 MiB, and the receive limit is the largest 32-bit
   * integer.
   */
  readonly maxSendBytes?: number;
  readonly maxReceiveBytes?: number;
};
export type Json = Readonly<Record<string, unknown>>;
/** The record at a key of a message; empty if the message does not have it. */
export const recordAt = (message: Json, key: string): Json => (message[key] ?? {}) as Json;
/** `storage` is the version of the data, available from 3.6 on. */
export type Versions = { readonly server: string; readonly cluster: string; readonly storage?: string };
export type Connection = {
  readonly endpoint: Endpoint;
  /** Sends GET or HEAD to an unprefixed path and returns the text for every status. */
  get(
    path: string,
    options?: { readonly method?: 'GET' | 'HEAD'; readonly limitMs?: number | undefined },
  ): Promise<{ readonly status: number; readonly text: string }>;
  versions(): Promise<Versions>;
  row(): Promise<VersionRow>;
  /** Sends POST below the gateway prefix. Returns the JSON response or throws the etcd error. */
  call(path: string | ((row: VersionRow) => string | undefined), body: Json): Promise<Json>;
  stream(path: string, body: Json): Promise<HttpReply>;
  /** Calls the gRPC API over HTTP/2, bypassing the gateway (default: an empty message). */
  grpc(method: string, message?: Bytes): Promise<HttpReply>;
  /**
   * Discards the token so that the next call logs in again. A token becomes invalid when its member restarts.
   */
  forgetToken(): void;
};

/** 64-bit ids are decimal in the API and hexadecimal in the output. */
export const hexId = (decimal: string): string => BigInt(decimal).toString(16);

/** Ids are hexadecimal in the output and signed 64-bit decimal numbers in the API. */
export const decimalLease = (id: string, path = '<lease-id>'): string => {
  if (!/^(0x)?[0-9a-f]{1,16}$/i.test(id))
    throw invalidArguments([
      problem(path, 'format', `must be a hexadecimal ID of at most 16 digits; got ${JSON.stringify(id)}`),
    ]);
  return BigInt.asIntN(64, BigInt(`0x${id.replace(/^0x/i, '')}`)).toString();
};
/** Returns an id as 16 hexadecimal digits, as etcdctl prints it. */
export const hexLease = (decimal: string): string =>
  BigInt.asUintN(64, BigInt(decimal)).toString(16).padStart(16, '0');

/**
 * Returns the end of the range of all keys with this prefix: the last byte below 0xff is incremented. If no
 * such byte exists, a single zero byte means the end of the keyspace.
 */
export const prefixEnd = (prefix: string): Uint8Array => {
  const bytes = Buffer.from(prefix);
  for (let i = bytes.length - 1; i >= 0; i -= 1) {
    const byte = bytes[i] as number;
    if (byte < 0xff) return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte + 1])]);
  }
  return Buffer.of(0);
};

/**
 * The part of a transaction that the client sends, with the field names of the gateway JSON. An unknown field
 * is an error.
 */
const transaction = (): Shape => {
  const request = (method: string): { readonly shape: Shape } => ({
    shape: etcdMethods[`/etcdserverpb.KV/${method}`]?.request ?? {},
  });
  const step: Shape = {
    requestRange: [1, request('Range')],
    requestPut: [2, request('Put')],
    requestDeleteRange: [3, request('DeleteRange')],
  };
  const compare: Shape = {
    result: [1, ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']],
    target: [2, ['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE']],
    key: [3, 'bytes'],
    version: [4, 'int64'],
    mod_revision: [6, 'int64'],
  };
  return {
    compare: [1, { shape: compare }, 'many'],
    success: [2, { shape: step }, 'many'],
    failure: [3, { shape: step }, 'many'],
  };
};
/** The methods that the client calls, without their package name. */
const methods = [
  ...['KV/Put', 'KV/Range', 'KV/DeleteRange', 'KV/Txn', 'KV/Compact'],
  ...['Lease/LeaseGrant', 'Lease/LeaseKeepAlive', 'Lease/LeaseRevoke', 'Lease/LeaseTimeToLive'],
  ...['Lease/LeaseLeases', 'Cluster/MemberList', 'Cluster/MemberAdd', 'Cluster/MemberRemove'],
  ...['Cluster/MemberUpdate', 'Cluster/MemberPromote', 'Maintenance/Status', 'Maintenance/Alarm'],
  ...['Maintenance/MoveLeader', 'Maintenance/Downgrade', 'Maintenance/HashKV', 'Maintenance/Defragment'],
  ...['Auth/Authenticate', 'Auth/AuthStatus'],
];
/** The gateway serves lease calls below two paths. */
const pathsOf = (path: string): string[] =>
  path.startsWith('/kv/lease/') ? [path, path.replace('/kv', '')] : [path];
/** gRPC methods by gateway path, without the version prefix. */
export const directCalls: Readonly<Record<string, DirectCall>> = Object.fromEntries(
  methods.flatMap((method) => {
    const row = etcdMethods[`/etcdserverpb.${method}`];
    if (row === undefined) throw new Error(`api-specs/etcd has no method ${method}`);
    const request = method === 'KV/Txn' ? transaction() : row.request;
    return pathsOf(row.path).map((path) => [path, { method, request, answer: row.response }]);
  }),
);

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
