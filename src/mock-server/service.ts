import type { Problem } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import type { Store } from './store.ts';

/** A request after the server has read it. Header names are in lower case. */
export type MockRequest = {
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  /** Without `?`; still encoded. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly remoteAddress: string;
  readonly isTls: boolean;
};
export type MockReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
};

/** Choices made when the server starts; every one is a flag of `mock serve`. */
export type MockOptions = {
  /** Requests a minute of the tracker; undefined is off. */
  readonly ratePerMinute: number | undefined;
  readonly labelsAuth: 'any' | 'oauth';
  readonly stateIn: 'both' | 'fragment' | 'query';
  readonly labelDeletePolicy: 'any' | 'disabled-first';
  /** Requests a minute of one user of the label service; undefined is off. */
  readonly labelsQuota?: { readonly reads: number; readonly writes: number };
  /** Labels that one organisation may have; undefined is any number. */
  readonly labelsAtMost?: number;
  readonly trackerToken: string;
  /** Whether a 429 says when to come again; no rate headers are documented, so not unless asked for. */
  readonly rateRetryAfter?: boolean;
  /** Whether answers say the limit in a header; none is documented, so not unless asked for. */
  readonly rateHeaders?: boolean;
  /** Whether each token has a workspace of its own; they are made at their first request and are never kept. */
  readonly workspacePerToken?: boolean;
  /** Further host names under which the server answers; `*` is any. */
  readonly allowHosts?: readonly string[];
};

/** What every service of the mock shares. */
export type Environment = {
  readonly host: Host;
  readonly store: Store;
  readonly options: MockOptions;
  /** The settable clock: milliseconds since 1970. */
  now(): number;
  /** Random bytes; repeatable when the server was started with a seed. */
  random(bytes: number): Uint8Array;
  uuid(): string;
  /** `http://127.0.0.1:PORT`, known once the server listens. */
  origin(): string;
  /** Work after the answer (deliveries of events); the server waits for it when it stops. */
  later(work: () => Promise<void>): void;
  /** Aborted when the server stops: work after an answer does not try again then. */
  readonly stopping?: AbortSignal;
};

export type MockService = {
  readonly name: string;
  /** Whether a path belongs to this service; the first service that says so gets the request. */
  owns(path: string): boolean;
  handle(request: MockRequest): MockReply | Promise<MockReply>;
  /** Fills an empty store. */
  seed(kind: 'demo' | 'empty'): void;
  /** What the control interface asks of this service alone; undefined for a path that it does not know. */
  control?(path: string, input: unknown): ControlAnswer | undefined;
};

/** What a service answers the control interface: the value, or why there is none. */
export type ControlAnswer =
  | { readonly value: unknown }
  | { readonly status: 400 | 404; readonly message: string; readonly problems?: readonly Problem[] };

/** A service that is loaded when the first request for it comes. */
export type ServiceEntry = {
  readonly name: string;
  /** Judged without loading it; the first entry that says so gets the path. */
  claims(path: string): boolean;
  load(): Promise<(env: Environment) => MockService>;
};
