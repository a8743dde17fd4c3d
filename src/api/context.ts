import type { Values } from '../core/flag.ts';
import type { Result } from '../core/result.ts';
import type { OutputFormat } from '../core/format.ts';
import type { LooseInput, Operation, ServiceInfo } from '../core/operation.ts';
import type { Settings } from '../config/settings.ts';
import type { Bytes, Host, HttpReply, HttpRequest } from '../platform/host.ts';

/** Messages on stderr. Secrets are replaced by value on the way. */
export type Logger = {
  /** Progress and facts; silent with --quiet. */
  info(text: string): void;
  warn(text: string): void;
  /** A warning that is said once in a run, whatever causes it how often. */
  warnOnce(key: string, text: string): void;
  /** Only with --verbose. */
  debug(text: string): void;
  /** A spinner on a terminal, nothing elsewhere. */
  status(text: string): Promise<{ update(text: string): void; stop(): void }>;
  /** From now on this value is shown as `***` everywhere. */
  hide(secret: string): void;
};

/** Where one service is and how to be let in. */
export type Target = {
  readonly baseUrl: string;
  /** Sent with every request: the token header. */
  readonly headers: Readonly<Record<string, string>>;
  /** True when it is the embedded mock server. */
  readonly isMock: boolean;
  /** The embedded server of this command alone: it ends with it. */
  readonly isPassing?: boolean;
  readonly origin: string;
  /** Requests of all processes with the same key share one rate limit; none for a server inside this process. */
  readonly rateKey?: string;
  /** Where a deployment of the tracker differs from the documents. */
  readonly wording?: { readonly basePath?: string; readonly planningWord?: string };
};
/** A body that is a stream is sent once and never repeated. */
export type SendRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpRequest['body'];
};
export type CallOptions = {
  readonly transport?: 'single' | 'pooled';
  readonly evenInDryRun?: boolean;
  /** Takes the place of the target's access token: one that was renewed meanwhile. */
  readonly bearer?: string;
};
export type ServiceName = 'tracker' | 'labels' | 'auth' | 'api';

export type Reach = {
  /** Where a service is; the embedded server is started at the first question that needs it. */
  reach(service: ServiceName): Promise<Target>;
  /** Ends what `reach` started. */
  close(): Promise<void>;
};

/** What a service adds to an error answer: what a person can do about it. */
export type Explain = (error: unknown, target: Target, operation: Operation) => unknown;

/** The machine, messages, settings and the end of the run: what every engine needs. */
export type Runtime = {
  readonly host: Host;
  readonly settings: Settings;
  readonly log: Logger;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
};

/** The services: one call, the rows of a list, or any request. */
export type Api = {
  /** True when requests that change something are shown and not sent. */
  readonly isDryRun: boolean;
  target(service: ServiceName): Promise<Target>;
  /**
   * One call of a table row: checked, sent, retried where that is safe. With --dry-run it stops the command and shows the
   * request instead, unless `evenInDryRun` says that a plan needs this read.
   */
  call(
    service: ServiceInfo,
    operation: Operation,
    input: LooseInput,
    options?: CallOptions,
  ): Promise<unknown>;
  /**
   * The rows of a list as JSON texts, in batches, while they arrive; resolves when the head of the answer is here. Memory does
   * not grow with the list.
   */
  rows(
    service: ServiceInfo,
    operation: Operation,
    input: LooseInput,
    options?: CallOptions,
  ): Promise<AsyncGenerator<Bytes[]>>;
  /** `call` made ready for many inputs that the caller has run the checks of the table on. */
  caller(
    service: ServiceInfo,
    operation: Operation,
    options?: CallOptions,
  ): Promise<(input: LooseInput) => Promise<unknown>>;
  /** A request outside the tables, to a path below the service's base URL, with its token. */
  send(service: ServiceName, request: SendRequest): Promise<HttpReply>;
};

/** How results are shown, and whether a person can be asked. */
export type Console = {
  /** The format asked for with -o; `table` on a terminal and `json` in a pipe unless given. */
  readonly format: OutputFormat;
  /** True when -o, --jq or --columns was given: then a text made for people gives way. */
  readonly isFormatGiven?: boolean;
  /** The columns asked for with --columns. */
  readonly columns?: readonly string[];
  /** True when questions may be asked: stdin and stderr are terminals, CI is unset, no --no-input. */
  readonly isInteractive: boolean;
  /** --no-input was given: what would need a person fails at once. */
  readonly asksNothing?: boolean;
  /** Given with --yes. */
  readonly isConfirmed: boolean;
  /** Given with --quiet: nothing but errors on stderr. */
  readonly isQuiet?: boolean;
  /** --verbose, for what is shown shorter otherwise. */
  readonly isVerbose?: boolean;
  /** --color, for what is drawn and not rendered. */
  readonly color?: 'auto' | 'always' | 'never' | undefined;
  /** Asks before something that cannot be undone; throws AppError('usage') with `--yes` in tryThis when nobody can be asked. */
  confirm(question: string): Promise<void>;
};

/** What a command gets. */
export type Context = Runtime & Api & Console;

/** The body of a command. */
export type RunCommand = (context: Context, values: Values) => Promise<Result>;
