/** Embedded services for tests: `import { startMock } from 'opsctl/testing'`. */

export interface MockOptions {
  /** Records to start with: the demo data, none, or what `snapshot()` or `opsctl mock state` gave (default 'demo'). */
  seed?: 'demo' | 'empty' | MockSnapshot;
  /** Port on 127.0.0.1 (default: a free one). */
  port?: number;
  /** The tracker token that is accepted. */
  trackerToken?: string;
  /** Tracker requests a minute for one token (default 'off'). */
  rateLimit?: number | 'off';
  /** Accept any tracker token, each with a separate workspace: one server for many tests in parallel. */
  workspacePerToken?: boolean;
  /** Reject what the documents do not allow: other content types, times without a zone, a revocation that is not a form. */
  strict?: boolean;
  /** 'any' accepts every bearer token for the label service, 'oauth' those of the embedded authorization server (default 'any'). */
  labelsAuth?: 'any' | 'oauth';
  /** Time at which the server's clock starts. */
  clock?: Date | string | number;
  /** Makes identifiers repeatable: the same word gives the same values. */
  idSeed?: string;
}

/** The state of all services, as text that can be kept in a file. */
export interface MockSnapshot {
  readonly state: string;
}

export interface RecordedRequest {
  readonly id: string;
  /** ISO 8601. */
  readonly time: string;
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  /** Null while the request is being processed. */
  readonly status: number | null;
  readonly ms: number | null;
  readonly service?: string;
  /** Present if the request used a deprecated parameter or endpoint. */
  readonly deprecated?: true;
  /** Tokens, codes and passwords are masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface RequestFilter {
  method?: string;
  /** `*` matches text without a slash, `**` any text. */
  path?: string;
  status?: number;
  service?: 'tracker' | 'labels' | 'auth';
  /** The tracker token it was sent with: the requests of one workspace. */
  token?: string;
  /** An object or a list that the body must contain (objects may have more members), or text. */
  body?: unknown;
}

export interface Fault {
  method?: string;
  path?: string;
  status?: number;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  content_type?: string;
  delay_ms?: number;
  /** With delay_ms: a random time between the two. */
  delay_max_ms?: number;
  /** Send the body of the response at this rate. */
  bytes_per_second?: number;
  /** End the connection instead of answering. */
  cut?: boolean;
  /**
   * 'before': the request is not processed. 'after': it is processed, and the response is lost or replaced.
   */
  when?: 'before' | 'after';
  /** How many matching requests pass first. */
  skip?: number;
  /** How many of a hundred matching requests it meets (default 100). */
  percent?: number;
  /** How many requests it meets (default: all). */
  count?: number;
}

/** Records of one test in a server that many tests share. */
export interface Workspace {
  readonly baseUrl: string;
  readonly token: string;
  /** The variables that make opsctl and other programs use this workspace. */
  readonly env: Readonly<Record<string, string>>;
  /** Like the faults of the server, but only for requests with this token. */
  requests(filter?: RequestFilter): Promise<readonly RecordedRequest[]>;
  expectRequests(filter: RequestFilter, count: number): Promise<readonly RecordedRequest[]>;
}

/** An event that a webhook received, or did not. */
export interface WebhookDelivery {
  readonly number: number;
  readonly webhook_id: number;
  readonly url: string;
  /** 'story.update' */
  readonly event: string;
  readonly at: string;
  readonly resend_of?: number;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** The receiver's status, or the reason why none existed. */
  readonly answer?: string;
  readonly body: string;
}

export interface Mock {
  readonly url: string;
  readonly tracker: { readonly baseUrl: string; readonly token: string };
  readonly labels: { readonly baseUrl: string; readonly token: string };
  readonly auth: {
    readonly authorizationEndpoint: string;
    readonly tokenEndpoint: string;
    readonly revocationEndpoint: string;
    readonly clientId: string;
  };
  /** The variables that make opsctl and other programs use this server. */
  readonly env: Readonly<Record<string, string>>;
  /** The newest matching requests, newest last. */
  requests(filter?: RequestFilter): Promise<readonly RecordedRequest[]>;
  /** Throws an error that lists what was received unless exactly `count` requests match. */
  expectRequests(filter: RequestFilter, count: number): Promise<readonly RecordedRequest[]>;
  clearRequests(): Promise<void>;
  /** A separate workspace with a new token; needs `workspacePerToken`. */
  workspace(): Workspace;
  /** What webhooks were sent, newest last. */
  webhookDeliveries(): Promise<readonly WebhookDelivery[]>;
  /** Sends an event to all webhooks without a change in the workspace, for example 'story.update'. */
  triggerWebhooks(event: string, id?: number): Promise<void>;
  /** Sends the same bytes again. */
  resendWebhook(number: number): Promise<void>;
  reset(seed?: 'demo' | 'empty'): Promise<void>;
  snapshot(): Promise<MockSnapshot>;
  restore(snapshot: MockSnapshot): Promise<void>;
  /** Makes requests fail; resolves with the number of the fault. */
  addFault(fault: Fault): Promise<number>;
  clearFaults(): Promise<void>;
  setClock(time: Date | string | number, options?: { frozen?: boolean }): Promise<void>;
  advanceClock(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts the embedded services in this process on a free port of 127.0.0.1; resolves when they accept connections. */
export declare function startMock(options?: MockOptions): Promise<Mock>;
