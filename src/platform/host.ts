import type { ExternalUrl } from '../core/external-url.ts';
import type { ProgramArguments, ProgramName } from '../core/program-call.ts';

/**
 * The machine as one value. `platform/node` implements it, `test/support/fake-host.ts` fakes it, and no other
 * code accesses the machine.
 */

export type Bytes = Uint8Array;
/** PEM texts. `ca` replaces the default authorities; `extraCa` extends them. */
export type Tls = {
  readonly ca?: string;
  readonly extraCa?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
};
export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An iterable is streamed; give `content-length` when it is known. */
  readonly body?: string | Bytes | AsyncIterable<Bytes>;
  /** Identifies the content of a body that is a stream: two bodies with the same content have the same digest. */
  readonly contentDigest?: string;
  /**
   * Time to the first byte of the response and between two bytes (default: 30,000). A response that is read
   * completely may take ten times as long.
   */
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Reading a response beyond this size fails with TOO_LARGE (default: 64 MiB). Streams are not limited. */
  readonly maxReplyBytes?: number;
  readonly tls?: Tls;
  /** The body carries a secret, or the response decides what is trusted (keys, metadata): never sent over plain HTTP, except on loopback. */
  readonly needsTls?: true;
  /**
   * `http2` uses HTTP/2 with prior knowledge, everything else HTTP/1.1. `bulk` marks the rows of a bulk run, which
   * this program made. A proxy replaces both.
   */
  readonly transport?: 'bulk' | 'http2';
};
export type HttpReply = {
  readonly status: number;
  /** Names in lower case; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it arrives. Use one of the three, once. */
  stream(): AsyncIterable<Bytes>;
  /** From now on the rest of the stream has the total time limit of a response that is read completely. */
  limitWhole?(): void;
  bytes(): Promise<Bytes>;
  text(): Promise<string>;
  /** Headers that came after the body; only with HTTP/2, and known when the body has been read. */
  trailers?(): Readonly<Record<string, string>>;
};
/** Why a TLS connection could not be made, in terms of whose certificate it was. */
export type TlsFailure = {
  readonly kind: 'untrusted' | 'expired' | 'too-early' | 'name' | 'client-certificate' | 'protocol';
  /** Names in the certificate, when they are the trouble. */
  readonly names?: readonly string[];
  readonly reason: string;
};
/** Thrown by `request`. `sent` is false only when no byte of the request can have reached the service. */
export class NetworkError extends Error {
  readonly code:
    | 'REFUSED'
    | 'TIMEOUT'
    | 'CONNECT_TIMEOUT'
    | 'DNS'
    | 'TLS'
    | 'RESET'
    | 'ABORTED'
    | 'TOO_LARGE'
    | 'PROXY'
    | 'PLAIN_HTTP'
    | 'OTHER';
  readonly sent: boolean;
  /** Only with code TLS. */
  readonly trouble: TlsFailure | undefined;
  constructor(
    code: NetworkError['code'],
    message: string,
    sent: boolean,
    cause?: unknown,
    trouble?: TlsFailure,
  ) {
    super(message, { cause });
    this.name = 'NetworkError';
    this.code = code;
    this.sent = sent;
    this.trouble = trouble;
  }
}
export type Incoming = {
  readonly method: string;
  /** Path and query exactly as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: string;
  /** The client's port; absent if the connection has no port. */
  readonly remotePort?: number | undefined;
  readonly isTls: boolean;
  /** Aborted if the client disconnects before the response was written. */
  readonly signal: AbortSignal;
  body(): AsyncIterable<Bytes>;
  /** Hands over the body piece by piece as it arrives; rejects with TOO_LARGE past the limit, and with what `take` throws. */
  receive(limitBytes: number, take: (chunk: Bytes) => void): Promise<void>;
  /** The whole body; rejects with TOO_LARGE past the limit. */
  read(limitBytes: number): Promise<Bytes>;
};
export type Outgoing = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Bytes | AsyncIterable<Bytes>;
  /** Ends the connection in the middle instead of answering (fault injection). */
  readonly cut?: true;
  /** Asked once the body is written; only HTTP/2 sends them. */
  readonly trailers?: () => Readonly<Record<string, string>>;
};
export type Handler = (request: Incoming) => Outgoing | Promise<Outgoing>;
export type Address = {
  readonly host: string;
  /** 0 is a free port. */
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly maxUrlBytes?: number;
  /** Time a client has to send a whole request; less for its head. */
  readonly requestTimeoutMs?: number;
  readonly maxConnections?: number;
  /** Takes HTTP/2 without TLS on the same port, from clients that know it beforehand (gRPC). */
  readonly http2?: true;
};
export type Listener = { readonly host: string; readonly port: number; close(): Promise<void> };
/** `answer` is absent if no response arrived in time or the connection failed. */
export type Probed = {
  readonly answer?: 'accepted' | 'rejected';
  /** PEM; only of a TLS server. It is not verified. */
  readonly certificate?: string;
};
export type Network = {
  request(request: HttpRequest): Promise<HttpReply>;
  /** Rejects with an Error whose `code` is EADDRINUSE, EACCES or EADDRNOTAVAIL when it cannot listen. */
  listen(handler: Handler, at: Address): Promise<Listener>;
  /** True if a server accepts TCP connections there. */
  canConnect(host: string, port: number, timeoutMs: number): Promise<boolean>;
  /**
   * How a server treats a connection without a certificate and without credentials, and the certificate that it presents. `hostName`:
   * the name that the request contains instead of the host of the URL; only status 421 rejects it, and only 200 accepts it. Never throws.
   */
  probe(url: string, timeoutMs: number, hostName?: string): Promise<Probed>;
  /** Ports of 127.0.0.1 for servers that are started later and may be away for a while: free now, all different, none that an outgoing connection gets or that this user was given in the last half hour. */
  freePorts(count: number): Promise<number[]>;
  /** Closes idle connections, so that a process can end. */
  close(): Promise<void>;
};
export type Exit = { readonly code: number | null; readonly signal: string | null };
export type RunOptions = {
  readonly cwd?: string;
  /** Added to the process's own environment; `undefined` removes a name. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Bytes;
  /** Instead of `input`: this file, however large. */
  readonly inputFile?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly maxBytes?: number;
  /**
   * A Ctrl-C on a terminal, and its end, send a signal to every process of its group. The child and its own children then ignore
   * that signal, because this program decides when to stop. It keeps the terminal; a time limit and `signal` still end it.
   */
  readonly keepsRunningOnCtrlC?: boolean;
  /** Called when the child was started, with what sends it a signal. `inherit` hands it the terminal (editors, ssh asking for a passphrase). */
  readonly onStart?: (kill: (signal: string) => void) => void;
  readonly stdio?: 'pipe' | 'inherit';
};
/**
 * A finished child. A command that cannot be started has code null and `startError`. A command that wrote
 * more than `maxBytes` has code null and `isCut`.
 */
export type Finished = Exit & {
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly startError?: string;
  readonly isCut?: true;
};
export type Started = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  kill(signal: string): boolean;
  lines(): AsyncIterable<string>;
};
/** The machine, the boot and the process namespace in which a process ID has a meaning. A field is absent if the system does not have it. */
export type ProcessScope = {
  /** A hash of the machine ID: systemd asks programs not to show the ID itself. */
  readonly machineId?: string | undefined;
  readonly bootId?: string | undefined;
  /** The kernel's name: `pid:[4026531836]`. */
  readonly pidNamespace?: string | undefined;
};
export type Processes = {
  run(command: ProgramName, args: ProgramArguments, options?: RunOptions): Promise<Finished>;
  /** A child that may outlive this process when `detached`; its output goes to `logFile`, appended. */
  start(
    command: ProgramName,
    args: ProgramArguments,
    options?: {
      readonly cwd?: string;
      readonly env?: RunOptions['env'];
      readonly detached?: boolean;
      readonly logFile?: string;
    },
  ): Promise<Started>;
  isAlive(pid: number): boolean;
  signal(pid: number, signal: string): boolean;
  /**
   * A mark that differs if the pid was reused by another process; undefined if the system has no such mark.
   */
  startMark(pid: number): string | undefined;
  /** The scope in which the process IDs of this process are valid. */
  scope(): ProcessScope;
};
export type FileInfo = {
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedMs: number;
  /** The target of a link, as written in the link. */
  readonly target?: string;
  /**
   * A text that changes when the file is replaced or its content or permissions change; absent if the system
   * cannot determine this.
   */
  readonly change?: string;
};
/** A file that only grows. `write` returns when the operating system has all the bytes, or throws and leaves none; `sync` when the disk has them. */
export type AppendFile = {
  write(data: string | Bytes): void;
  sync(): void;
  sizeBytes(): number;
  /** The real path of the open file, or of its name if the system does not report the path of an open file. */
  readonly path?: string | undefined;
  close(): void;
};
/** All paths are absolute. Missing files are `undefined`, not exceptions; other errors carry the system's `code`. */
export type FileParts = {
  /** Bytes that the file has now; it may still grow. */
  readonly size: number;
  /** Fewer bytes at its end. */
  read(from: number, length: number): Bytes;
  /** The real path of the open file, which a later link cannot change; undefined if the system does not report it. */
  readonly path?: string | undefined;
  close(): void;
};
export type Files = {
  read(path: string): Promise<string | undefined>;
  readBytes(path: string): Promise<Bytes | undefined>;
  /** Small settings that every command reads. */
  readNow(path: string): string | undefined;
  stream(path: string): AsyncIterable<Bytes>;
  /** Parts of a file of any size; undefined when it is missing. */
  openParts(path: string): FileParts | undefined;
  /**
   * Writes a temporary file in the same directory, then fsync, rename and fsync of the directory: readers see
   * the old text or the new text.
   */
  replace(path: string, data: string | Bytes, mode?: number): Promise<void>;
  /**
   * Streams into a temporary file next to `path`, then replaces `path` atomically. Returns the size. A
   * failure leaves no file behind.
   */
  replaceStream(path: string, data: AsyncIterable<Bytes>, mode?: number): Promise<number>;
  /**
   * Returns false if the file already exists. A failure leaves no file behind. A `passing` file (a lock, a
   * ticket) has no meaning after a machine crash, so it is not synced to the disk.
   */
  create(path: string, data: string, mode?: number, passing?: boolean): Promise<boolean>;
  append(path: string, mode?: number): AppendFile;
  truncate(path: string, sizeBytes: number): Promise<void>;
  /** Does not follow links. */
  info(path: string): Promise<FileInfo | undefined>;
  realPath(path: string): Promise<string | undefined>;
  list(directory: string): Promise<string[]>;
  makeDirectory(path: string, mode?: number): Promise<void>;
  setMode(path: string, mode: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Files and directories, recursively; keeps modes and times. */
  copy(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  freeBytes(path: string): Promise<number>;
  /** Equal texts for paths that share free space; undefined if this cannot be determined. */
  diskOf(path: string): Promise<string | undefined>;
  isWritable(path: string): Promise<boolean>;
  temporaryDirectory(): string;
  /** The one of HOME where that is a whole path, else the one that the system has for this user; undefined for a user without one. */
  homeDirectory(): string | undefined;
};
/**
 * The keychain of the operating system. Each call finishes within 3 s. It rejects if the keychain is locked
 * or does not respond.
 */
export type Keychain = {
  get(service: string, account: string): Promise<string | undefined>;
  set(service: string, account: string, secret: string): Promise<void>;
  remove(service: string, account: string): Promise<void>;
};
/** Runs a script on a Redis server: one step for all its clients. */
export type RunScript = (script: string, keys: string[], args: (string | number)[]) => Promise<number>;
/** A line of a journal about a step: its start, its end or its failure. */
export type StepMark = {
  readonly kind: 'begin' | 'end' | 'failed';
  readonly step: string;
  readonly at: string;
};
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: 'linux' | 'darwin' | 'win32' | string;
  /** The runtime of this program: `Node v20.20.2`. */
  readonly runtime: string;
  readonly pid: number;
  readonly uid: number;
  readonly hostname: string;
  readonly cwd: string;
  /** How to start this program again: command and first arguments. */
  readonly self: readonly [string, ...string[]];
  /** Milliseconds since 1970, and monotonic milliseconds with fractions. */
  now(): number;
  elapsed(): number;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Resolves after all data that has arrived so far was delivered. The caller can then process it in one
   * batch.
   */
  turn(): Promise<void>;
  random(bytes: number): Bytes;
  memoryBytes(): number;
  /**
   * For a run that streams much and keeps little: short-lived objects are collected sooner, at some cost of CPU. Each
   * further call collects everything.
   */
  keepMemorySmall(): void;
  readonly network: Network;
  readonly processes: Processes;
  readonly files: Files;
  readonly terminal: Terminal;
  /** Absent if the system has no keychain that can be queried without starting a service. */
  readonly keychain?: Keychain;
  /** Receives the steps of a cluster run for a trace. Present only in a run that exports traces; never throws. */
  readonly observeStep?: (mark: StepMark) => void;
  /** Connects to a Redis server. Throws if it does not respond in time. */
  redis(url: string, timeoutMs: number): Promise<RunScript>;
  /** A text that the build wrote for this program; undefined where it runs from its sources. */
  buildText(name: string): Promise<string | undefined>;
  jq(program: string, args: readonly string[]): Promise<JqRun>;
  /** Loads the package conf. It writes files itself, so only the Host runs it. */
  loadConf(): Promise<ConfStore>;
  bucket(place: BucketPlace): Promise<Bucket>;
  /**
   * Opens the system browser. Resolves with false if no launcher could be started or the launcher failed
   * immediately.
   */
  openBrowser(url: ExternalUrl): Promise<boolean>;
  /**
   * Calls back at each SIGINT, SIGTERM or SIGHUP until the returned function is called. Until then, the
   * default action is disabled.
   */
  onSignal(listener: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void): () => void;
  /** Exits the process immediately. Only for a second signal. */
  exit(code: number): never;
}

/** Standard streams, questions and progress of a terminal: a part of the Host. */
export type Output = {
  readonly isTty: boolean;
  readonly columns: number;
  /** COLUMNS gives the width of an output that is not a terminal. */
  readonly isWidthGiven?: boolean;
  /** Lines of a terminal. */
  readonly rows?: number | undefined;
  /** Resolves when the reader took it; rejects with code EPIPE when there is no reader any more. */
  write(text: string | Uint8Array): Promise<void>;
};
export type Choice = { readonly value: string; readonly label: string };
/** Prompts are written to stderr. They reject with AppError('interrupted') on Ctrl-C or end of input. */
export type Prompts = {
  confirm(question: string, fallback: boolean): Promise<boolean>;
  text(
    question: string,
    /** `signal` cancels the prompt, which then rejects as with Ctrl-C. */
    options?: { readonly secret?: boolean; readonly fallback?: string; readonly signal?: AbortSignal },
  ): Promise<string>;
  select(question: string, choices: readonly Choice[]): Promise<string>;
};
export type Terminal = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: {
    readonly isTty: boolean;
    bytes(): AsyncIterable<Uint8Array>;
    lines(signal?: AbortSignal): AsyncIterable<string>;
    /** Keys as they are pressed, until the signal; only for terminals. */
    keys?(signal: AbortSignal): AsyncIterable<string>;
  };
  readonly prompts: Prompts;
  /**
   * Shows text with a pager that has the terminal until its reader leaves it, also while the text arrives;
   * false when the pager cannot be started.
   */
  page?(command: string, text: string | AsyncIterable<string>): Promise<boolean>;
  /** A line that turns on stderr; only for terminals. */
  spinner(text: string): Promise<{ update(text: string): void; stop(): void }>;
};

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
/** Thrown by a bucket: the service's error message, or the system's message for a connection failure. */
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
  /**
   * Aborts incomplete uploads of keys with this prefix that started before the given time. Returns their
   * number, or undefined if the service cannot list uploads.
   */
  discardUploads(prefix: string, beforeMs: number): Promise<number | undefined>;
  close(): void;
};

/** Checks `content` against a JSON schema and stores it in `directory`. Returns the text that was stored. */
export type ConfStore = (
  directory: string,
  schema: Readonly<Record<string, object>>,
  content: Readonly<Record<string, unknown>>,
) => string;
/** A jq that was started with a program and flags: JSON goes in and results come out as they flow, without a copy of the whole. */
export type JqRun = {
  /** `no`: jq ended before it asked for input. */
  readonly compiled: Promise<'yes' | 'no'>;
  /** Resolves when the buffer accepts more data; false if jq has exited and needs no more data. */
  write(data: string | Uint8Array): Promise<boolean>;
  end(): void;
  output(): AsyncIterable<Uint8Array>;
  /** As the command line's: 0 is success, 5 an error in the program, 3 a program that does not compile; null when it was killed. */
  readonly finished: Promise<{ readonly code: number | null; readonly stderr: string }>;
  kill(): Promise<void>;
};

/**
 * Returns the same host with another function for requests. It names each method of the network: a new one that
 * sends requests does not compile here without a decision.
 */
export const withRequest = (host: Host, request: Network['request']): Host => {
  const { listen, canConnect, probe, freePorts, close } = host.network;
  const network: Network = { request, listen, canConnect, probe, freePorts, close };
  return Object.create(host, { network: { value: network } }) as Host;
};
