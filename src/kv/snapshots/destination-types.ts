import type { Bytes } from '../../platform/host.ts';

/** Where snapshots are kept. Names have no directory in them. */
export type Destination = {
  /** As it is shown. */
  readonly where: string;
  /** A directory of this machine on which a file can be built and then stored by `put`. */
  readonly workDirectory: string;
  /** As it is named in results: a path or a URL. */
  placeOf(name: string): string;
  names(): Promise<readonly { readonly name: string; readonly sizeBytes: number }[]>;
  /** Stores a whole file of this machine; it is there under its name or not at all. The file may be gone afterwards. */
  put(name: string, file: string, sizeBytes: number, signal?: AbortSignal): Promise<void>;
  putText(name: string, text: string): Promise<void>;
  /** Undefined when it is missing. */
  text(name: string): Promise<string | undefined>;
  /** Undefined when it is missing. */
  stream(name: string, signal?: AbortSignal): Promise<AsyncIterable<Bytes> | undefined>;
  remove(name: string): Promise<void>;
  /** Takes away what uploads left that were killed more than a day ago. Returns how many there were; undefined when that cannot be told. */
  discardUnfinished(): Promise<number | undefined>;
  close(): void;
};

/** How an S3-compatible service is reached; the environment fills in what is absent. */
export type BucketOptions = {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly addressing?: 'path' | 'virtual' | undefined;
};
