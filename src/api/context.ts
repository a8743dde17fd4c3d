import type { ShowAdvice } from '../core/next.ts';
import type { Values } from '../core/flag.ts';
import type { Result } from '../core/result.ts';
import type { OutputFormat } from '../core/format.ts';
import type { LooseInput, Operation, ServiceInfo } from '../core/operation.ts';
import type { Settings } from '../config/settings.ts';
import type { Bytes, Host, HttpReply, HttpRequest } from '../platform/host.ts';

/** Messages on stderr. Secrets are replaced by value on the way. */
export type Logger = {
  /**
   * Progress and facts; silent with --quiet. `canWait`: the message is not needed before the command ends. What a person
   * confirms can wait: without a terminal there is no question, and an error is then the only text on stderr.
   */
  info(text: string, canWait?: boolean): void;
  warn(text: string): void;
  /** A warning that is printed once per run, even if it has several causes. */
  warnOnce(key: string, text: string): void;
  /** Only with --verbose. */
  debug(text: string): void;
  /** A spinner on a terminal; without a terminal it is invisible. */
  status(text: string): Promise<{ update(text: string): void; stop(): void }>;
  /** From now on this value is shown as `***` everywhere. */
  hide(secret: string): void;
};

/** Signs each request with the key that its access token is bound to (RFC 9449). */
export type RequestProver = {
  prove<T extends Pick<HttpRequest, 'method' | 'url' | 'headers'>>(request: T): T;
  /** Remembers the nonce of a response. True if the service rejected the request only because of its nonce. */
  notesNonce(url: string, read: { readonly headers: HttpReply['headers']; readonly text: string }): boolean;
  /** The same key for an access token: its hash becomes part of each proof. */
  forToken(accessToken: string): RequestProver;
};
/** The URL of one service and the credentials for it. */
export type Target = {
  readonly baseUrl: string;
  /** Sent with every request: the token header. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names the account after its token was renewed as well. Without a name the token itself is the account. */
  readonly account?: string;
  /** True when it is the embedded mock server. */
  readonly isMock: boolean;
  /** The embedded server of this command only. It stops with the command. */
  readonly isPassing?: boolean;
  readonly origin: string;
  /** Requests of all processes with the same key share one rate limit; none for a server inside this process. */
  readonly rateKey?: string;
  /** Present if the token in `headers` is bound to a key. */
  readonly prover?: RequestProver;
  /** Differences of a tracker deployment from the documentation. */
  readonly wording?: { readonly basePath?: string; readonly planningWord?: string };
};
/** A body that is a stream is sent once and never repeated. */
type SendRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpRequest['body'];
  readonly contentDigest?: string;
  /** The parts of a multipart body as values of `-F` of curl. */
  readonly form?: readonly string[];
  readonly prover?: RequestProver;
};
export type CallOptions = {
  readonly transport?: 'bulk';
  /** Replaces the target's access token with one that was renewed in the meantime. */
  readonly bearer?: string;
};
export type ServiceName = 'tracker' | 'labels' | 'auth' | 'api';

export type Reach = {
  /** Resolves the URL of a service. The embedded server is started by the first lookup that needs it. */
  reach(service: ServiceName): Promise<Target>;
  /** Stops the services that `reach` started. */
  close(): Promise<void>;
};

/** What a service adds to an error response: the actions that fix the problem. */
export type Explain = (error: unknown, target: Target, operation: Operation) => unknown;

/** The machine, messages, settings and the end of the run: what every engine needs. */
export type Runtime = {
  readonly host: Host;
  readonly settings: Settings;
  readonly log: Logger;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Performs the action when the command has ended, successfully or not. */
  readonly onEnd?: ((action: () => void) => void) | undefined;
};

/** The services: one call, the rows of a list, or any request. */
export type Api = {
  /** True if requests are recorded instead of sent. Only what is not a request has to check it. */
  readonly isDryRun: boolean;
  target(service: ServiceName): Promise<Target>;
  /**
   * One call of a table row: checked, sent and, if this is safe, retried. A dry run records the request
   * instead, which ends the command.
   */
  call(
    service: ServiceInfo,
    operation: Operation,
    input: LooseInput,
    options?: CallOptions,
  ): Promise<unknown>;
  /**
   * The rows of a list as JSON texts, in batches, while they arrive. Resolves when the head of the response
   * has arrived. Memory does not grow with the list.
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
  /** The reads that a command needs before it knows its requests. A dry run sends them as well. */
  readonly lookups: Lookups;
};
type Lookups = Pick<Api, 'call' | 'rows'>;
/** The same services behind other calls: `wrap` changes how operations are called, lookups included. */
export const withCalls = <C extends Api>(context: C, wrap: (call: Api['call']) => Api['call']): C => ({
  ...context,
  call: wrap(context.call),
  lookups: { ...context.lookups, call: wrap(context.lookups.call) },
});

/**
 * A dry run inside a command that changes data later. Its calls are lookups, so that a request which would change the
 * service fails instead of being sent: `isDryRun` alone does not change how requests are sent.
 */
export const asPreview = <C extends EngineContext>(context: C): C => {
  const { call, rows } = context.lookups;
  const refuse = (): never => {
    throw new Error('a preview sends only the calls and lists of lookups');
  };
  return { ...context, isDryRun: true, call, rows, caller: refuse, send: refuse };
};

/** How results are shown, and whether a person can be asked. */
type Console = {
  /** The format asked for with -o; `table` on a terminal and `json` in a pipe unless given. */
  readonly format: OutputFormat;
  /** True when -o, --jq or --columns was given: then a text made for people gives way. */
  readonly isFormatGiven?: boolean;
  /** The columns asked for with --columns. */
  readonly columns?: readonly string[];
  /** True when questions may be asked: stdin and stderr are terminals, CI is unset, no --no-input. */
  readonly isInteractive: boolean;
  /** --no-input was given: a required prompt fails immediately. */
  readonly asksNothing?: boolean;
  /** Given with --yes. */
  readonly isConfirmed: boolean;
  /** Set with --quiet: only errors are printed on stderr. */
  readonly isQuiet?: boolean;
  /** Set with --verbose: prints details that are shortened otherwise. */
  readonly isVerbose?: boolean;
  /** --color, for what is drawn and not rendered. */
  readonly color?: 'auto' | 'always' | 'never' | undefined;
  /** The text of an advice; its commands get the flags that select what this line acts on. */
  readonly showAdvice: ShowAdvice;
  /**
   * Confirms an irreversible action with the user. Throws AppError('usage') with `--yes` in tryThis if there
   * is no terminal. A dry run needs no confirmation, because it records the requests.
   */
  confirm(question: string): Promise<void>;
};

/**
 * What an engine gets: the machine and the services. An engine that asks a person, or whose result depends on the
 * format, names that part of the console.
 */
export type EngineContext = Runtime & Api;
/** The part of the console that asks a person. */
export type Prompts = Pick<Console, 'confirm' | 'isConfirmed' | 'isInteractive' | 'asksNothing'>;
/** The part of the console that states which form the result has. */
export type Display = Pick<Console, 'format' | 'isFormatGiven' | 'columns'>;

/** What a command gets. */
export type Context = Runtime & Api & Console;

/** The body of a command. */
export type RunCommand = (context: Context, values: Values) => Promise<Result>;
