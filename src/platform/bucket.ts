/** Object storage as the host offers it. */
type Bytes = Uint8Array;

/** A bucket of an S3-compatible service. Its credentials come from the environment or the chain that its client knows (profile, role, instance). */
export type BucketPlace = {
  readonly bucket: string;
  readonly endpoint?: string;
  readonly region?: string;
  /** How the bucket is named in URLs: in the path, or as a part of the host name. */
  readonly addressing: 'path' | 'virtual';
};
export type StoredObject = {
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
};
/** Thrown by a bucket: the service's own word for what is wrong, or the system's for a connection that failed. */
export class BucketError extends Error {
  readonly code: string;
  readonly status: number | undefined;
  constructor(code: string, message: string, status?: number, cause?: unknown) {
    super(message, { cause });
    this.name = 'BucketError';
    this.code = code;
    this.status = status;
  }
}
export type Bucket = {
  /** Streams it in parts; an upload that fails or is aborted leaves no part. Each part has a checksum that the service compares. */
  put(key: string, data: AsyncIterable<Bytes>, sizeBytes: number, signal?: AbortSignal): Promise<void>;
  /** Undefined when there is no such object. */
  stream(key: string, signal?: AbortSignal): Promise<AsyncIterable<Bytes> | undefined>;
  sizeOf(key: string): Promise<number | undefined>;
  list(prefix: string): AsyncIterable<StoredObject>;
  remove(key: string): Promise<void>;
  /** Ends uploads of keys with this prefix that were begun before then and never completed. Returns how many; undefined when the service has no list of them. */
  discardUploads(prefix: string, beforeMs: number): Promise<number | undefined>;
  close(): void;
};
