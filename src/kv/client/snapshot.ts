import { pageMagic, statedBytes } from './snapshot-content.ts';
import { type Advice, after, next } from '../../core/next.ts';
import { createHash } from 'node:crypto';
import { AppError } from '../../core/problem.ts';
import { bytesField } from '../../core/protobuf.ts';
import type { Bytes, Files, Host, HttpReply } from '../../platform/host.ts';
import { errorIn, hostOf, networkFailure, storeError } from './errors.ts';
import { grpcMessages, isGrpc, refuseFailure } from './messages.ts';
import type { Store } from './etcd-client.ts';
import type { PageSource, Reading } from './snapshot-content.ts';
import { jsonObjects } from './watch.ts';

const trailerBytes = 32;
const pageBytes = 512;
/** Number of bytes at the start of a file up to the end of the magic number of a database. */
const headBytes = 20;
export type Verified = {
  readonly size_bytes: number;
  readonly file_sha256: string;
  readonly trailer_sha256: string;
  /** The file has no checksum, and the operator accepted that. */
  readonly has_no_checksum?: true;
};
/**
 * Checks a snapshot while it is streamed: the last 32 bytes are the sha256 of the preceding content
 * (spec/store#measured-snapshots). This needs no etcdctl.
 */
export const trailerCheck = () => {
  const content = createHash('sha256');
  let tail: Buffer = Buffer.alloc(0);
  let size = 0;
  let head: Buffer = Buffer.alloc(0);
  return {
    add: (bytes: Bytes): void => {
      if (head.length < headBytes) head = Buffer.concat([head, bytes.subarray(0, headBytes - head.length)]);
      size += bytes.length;
      if (bytes.length >= trailerBytes) {
        content.update(tail);
        content.update(bytes.subarray(0, bytes.length - trailerBytes));
        tail = Buffer.from(bytes.subarray(bytes.length - trailerBytes));
        return;
      }
      const joined = Buffer.concat([tail, bytes]);
      content.update(joined.subarray(0, Math.max(0, joined.length - trailerBytes)));
      tail = joined.subarray(Math.max(0, joined.length - trailerBytes));
    },
    /** Throws SNAPSHOT_DAMAGED if the content does not match the trailer. */
    finish: (what: string): Verified => {
      const whole = content.copy().update(tail).digest('hex');
      const [found, expected] = [tail.toString('hex'), content.digest('hex')];
      const kind = identifyFile(head, size);
      if (kind !== undefined) throw makeSnapshotError(what, kind);
      if (found !== expected)
        throw makeSnapshotError(what, {
          code: 'SNAPSHOT_DAMAGED',
          why: `its content has sha256 ${expected}, but its trailer contains ${found}`,
          tryThis: otherFile,
        });
      return { size_bytes: size, file_sha256: whole, trailer_sha256: found };
    },
  };
};
type FileProblem = { readonly code: string; readonly why: string; readonly tryThis: readonly Advice[] };
const otherFile = [
  after('use another copy of this file, or an older snapshot:', ['kv', 'snapshot', 'list']),
  after('if the cluster still runs:', ['kv', 'snapshot', 'save', 'FILE']),
];
const hasHeader = (head: Buffer): boolean => head.length >= headBytes && head.readUInt32LE(16) === pageMagic;
/**
 * Returns why a file cannot be a snapshot with a checksum, or undefined if its size and its first bytes are
 * plausible. Pure.
 */
export const identifyFile = (head: Buffer, size: number): FileProblem | undefined => {
  if (size === 0) return { code: 'SNAPSHOT_EMPTY', why: 'the file is empty', tryThis: otherFile };
  if (head[0] === 0x1f && head[1] === 0x8b)
    return {
      code: 'SNAPSHOT_COMPRESSED',
      why: 'the file is compressed with gzip',
      tryThis: ['unpack it first: gzip -dc FILE > FILE.db'],
    };
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd)
    return {
      code: 'SNAPSHOT_COMPRESSED',
      why: 'the file is compressed with zstd',
      tryThis: ['unpack it first: zstd -dc FILE > FILE.db'],
    };
  if (size % pageBytes === trailerBytes) return undefined;
  if (!hasHeader(head))
    return { code: 'SNAPSHOT_DAMAGED', why: 'the file has no header of a database', tryThis: otherFile };
  return size % pageBytes === 0
    ? {
        code: 'SNAPSHOT_NO_CHECKSUM',
        why: 'it has no checksum at the end: a copied db file, or a truncated snapshot',
        tryThis: [
          next(
            ['kv', 'restore', '--snapshot', 'FILE', '--skip-hash-check'],
            ', if the file is a copy of a stopped member',
          ),
          ...otherFile,
        ],
      }
    : { code: 'SNAPSHOT_TRUNCATED', why: `it is truncated after ${size} bytes`, tryThis: otherFile };
};
/**
 * Refuses a file by its size and its first pages, before its content is read: a sparse file has terabytes. A member sends
 * no byte after the last page of its database.
 */
const refuseImplausible = (file: PageSource, what: string): void => {
  const kind = identifyFile(file.read(0, headBytes), file.size);
  if (kind !== undefined) throw makeSnapshotError(what, kind);
  const stated = statedBytes(file);
  if (stated !== undefined && file.size > stated + trailerBytes)
    throw makeSnapshotError(what, {
      code: 'SNAPSHOT_DAMAGED',
      why: `it has ${file.size} bytes, but its header states ${stated} bytes and a checksum`,
      tryThis: otherFile,
    });
};
const makeSnapshotError = (what: string, { why, code, tryThis }: FileProblem): AppError =>
  new AppError('no', `cannot use snapshot ${what}: ${why}`, { code, tryThis: [...tryThis] });
/** Yields the bytes of a gateway snapshot stream: `{"result": {"remaining_bytes", "blob"}}` objects. */
async function* blobs(url: string, chunks: AsyncIterable<Bytes>): AsyncGenerator<Buffer> {
  try {
    for await (const object of jsonObjects(chunks)) {
      const row = object as { result?: { blob?: string }; error?: unknown };
      if (row.error !== undefined) throw storeError(url, 200, { error: errorIn(row) ?? String(row.error) });
      if (row.result?.blob !== undefined) yield Buffer.from(row.result.blob, 'base64');
    }
  } catch (error) {
    throw networkFailure(url, error);
  }
}
/**
 * Yields the bytes of a gRPC snapshot stream. This causes a third of the work on the member, because the
 * member does not encode JSON.
 */
async function* grpcBlobs(url: string, reply: HttpReply): AsyncGenerator<Buffer> {
  try {
    for await (const message of grpcMessages(reply.stream())) {
      const blob = bytesField(message, 3);
      if (blob !== undefined) yield blob;
    }
  } catch (error) {
    throw networkFailure(url, error);
  }
  refuseFailure(url, reply.trailers?.() ?? {});
}
/**
 * Starts a snapshot stream over gRPC. Returns undefined if the server rejects gRPC; then the caller uses the
 * gateway.
 */
const tryGrpc = async (store: Store): Promise<HttpReply | undefined> => {
  const { url } = store.connection.endpoint;
  const reply = await store.connection.grpc('/etcdserverpb.Maintenance/Snapshot').catch((error: unknown) => {
    if (
      error instanceof AppError &&
      (error.category === 'interrupted' ||
        error.category === 'auth' ||
        error.detail.code === 'DEADLINE_EXCEEDED')
    )
      throw error;
    return undefined;
  });
  if (reply === undefined || !isGrpc(reply)) return undefined;
  if (reply.headers['grpc-status'] === '12') return undefined;
  refuseFailure(url, reply.headers);
  return reply;
};
const snapshotBytes = async (store: Store): Promise<AsyncIterable<Buffer>> => {
  const { url } = store.connection.endpoint;
  const direct = await tryGrpc(store);
  return direct === undefined
    ? blobs(url, (await store.connection.stream('/maintenance/snapshot', {})).stream())
    : grpcBlobs(url, direct);
};
/**
 * Streams a snapshot of the v3 data of one member into a file (mode 0600). The file gets its name after the
 * verification, so a failed stream leaves no file. spec/store#errors: a canceled read fails with CANCELED, an
 * expired read with DEADLINE_EXCEEDED.
 */
export const saveSnapshot = async (
  host: Host,
  store: Store,
  path: string,
  onProgress: (bytes: number) => void = () => {},
): Promise<Verified> => {
  const url = store.connection.endpoint.url;
  const source = await snapshotBytes(store);
  let verified: Verified | undefined;
  const content = async function* (): AsyncGenerator<Bytes> {
    const check = trailerCheck();
    let total = 0;
    for await (const bytes of source) {
      check.add(bytes);
      total += bytes.length;
      onProgress(total);
      yield bytes;
    }
    verified = check.finish(`of ${hostOf(url)}`);
  };
  await host.files.replaceStream(path, content(), 0o600);
  return verified as unknown as Verified;
};
/** Verifies a snapshot file that opsctl or etcdctl saved. */
export const verifySnapshot = async (
  host: Host,
  path: string,
  signal?: AbortSignal | undefined,
): Promise<Verified> => {
  if ((await host.files.info(path))?.kind !== 'file')
    throw new AppError('not-found', `snapshot file not found: ${path}`, { code: 'NO_SNAPSHOT' });
  withSnapshot(host.files, path, (file) => refuseImplausible(file, path));
  const check = trailerCheck();
  for await (const bytes of host.files.stream(path)) {
    signal?.throwIfAborted();
    check.add(bytes);
  }
  return check.finish(path);
};

/**
 * Hashes a database file without a checksum, such as the file of a stopped member. It checks only the header
 * and the length.
 */
export const hashWithoutChecksum = async (
  host: Host,
  path: string,
  signal?: AbortSignal | undefined,
): Promise<Verified> => {
  try {
    return await verifySnapshot(host, path, signal);
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'SNAPSHOT_NO_CHECKSUM') throw error;
  }
  const content = createHash('sha256');
  let size = 0;
  for await (const bytes of host.files.stream(path)) {
    signal?.throwIfAborted();
    content.update(bytes);
    size += bytes.length;
  }
  return { size_bytes: size, file_sha256: content.digest('hex'), trailer_sha256: '', has_no_checksum: true };
};

/**
 * spec/store#errors: a snapshot read past its deadline fails with a deadline-exceeded error, a canceled read
 * with a canceled error.
 */
export const withDeadline = async <T>(
  host: Pick<Host, 'sleep'>,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const [over, expired] = [new AbortController(), new AbortController()];
  const both = AbortSignal.any([signal, expired.signal]);
  const ticking =
    limitMs === undefined
      ? Promise.resolve()
      : host.sleep(limitMs, over.signal).then(
          () => expired.abort(),
          () => {},
        );
  try {
    return await work(both);
  } catch (error) {
    if (!expired.signal.aborted) throw error;
    throw new AppError(
      'network',
      `context deadline exceeded: no complete snapshot within ${(limitMs ?? 0) / 1000} s; no file was written`,
      {
        code: 'DEADLINE_EXCEEDED',
        retryable: true,
        tryThis: ['--timeout with more time'],
        cause: error,
      },
    );
  } finally {
    over.abort();
    await ticking;
  }
};

/** Opens a snapshot file page by page, because it may be larger than the maximum buffer size. */
const openPages = (files: Pick<Files, 'openParts'>, path: string) => {
  const parts = files.openParts(path);
  if (parts === undefined)
    throw new AppError('not-found', `snapshot file not found: ${path}`, { code: 'NO_SNAPSHOT' });
  const file: PageSource = {
    size: parts.size,
    read: (from, length) => {
      const { buffer, byteOffset, byteLength } = parts.read(from, length);
      return Buffer.from(buffer, byteOffset, byteLength);
    },
  };
  return { file, close: () => parts.close() };
};
/** Reads a few pages of a snapshot file. */
export const withSnapshot = <T>(
  files: Pick<Files, 'openParts'>,
  path: string,
  work: (file: PageSource) => T,
): T => {
  const { file, close } = openPages(files, path);
  try {
    return work(file);
  } finally {
    close();
  }
};

/** A signal waits at most this long. */
const pauseEveryMs = 50;
/** A record may have megabytes, so opsctl reads the time after a few records. */
const recordsPerLook = 16;
/** Reads a snapshot file of any size, with pauses in which signals arrive. Rejects if the signal is aborted. */
export const readSnapshot = async <T>(
  host: Pick<Host, 'turn' | 'elapsed' | 'files'>,
  path: string,
  read: (file: PageSource) => Reading<T>,
  signal?: AbortSignal,
): Promise<T> => {
  const { file, close } = openPages(host.files, path);
  try {
    const reading = read(file);
    let pausedAt = host.elapsed();
    for (let count = 1; ; count += 1) {
      const { done, value } = reading.next();
      if (done === true) return value;
      if (count % recordsPerLook !== 0 || host.elapsed() - pausedAt < pauseEveryMs) continue;
      await host.turn();
      signal?.throwIfAborted();
      pausedAt = host.elapsed();
    }
  } finally {
    close();
  }
};
