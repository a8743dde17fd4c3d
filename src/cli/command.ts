import type { Field, Value } from '../core/field.ts';
import type { LooseInput, Operation, ServiceInfo } from '../core/operation.ts';
import type { OutputFormat } from '../core/output-format.ts';
import type { Problem } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import type { Bytes, Host, HttpReply, HttpRequest } from '../platform/host.ts';
import type { Settings } from '../config/settings.ts';

/**
 * What the value of a flag or an argument does beyond the request of its command: it names a file that is read or
 * written, it starts a program (an editor, a browser, a hook), or it decides where requests and secrets go.
 * A file whose content leaves the machine as a secret both `reads` and `sends`.
 */
export type Effect = 'reads' | 'writes' | 'runs' | 'sends';

export type Flag = {
  /** Empty: the value is data of the request. Tools for agents hide a text or a switch without a declaration. */
  readonly effects?: readonly Effect[];
  readonly field: Field;
  readonly summary: string;
  readonly short?: string;
  /** May be given several times; the value is a list. */
  readonly repeat?: true;
  /** Shown in help: `--label <name|id>`. */
  readonly value?: string;
  readonly required?: true;
  /** `--no-browser` style: true unless given. */
  readonly negated?: true;
  readonly hidden?: true;
  /** Says what the line acts on: the commands that its messages name are written with it. */
  readonly isRepeated?: true;
  /** Where TAB takes values from: a word the completion layer knows (`profile`, `column`, `label`, `file`, `kv-member`). */
  readonly complete?: string;
  /** Values worth offering where the field itself allows others too. */
  readonly suggest?: readonly string[];
};
export type Argument = {
  readonly effects?: readonly Effect[];
  readonly name: string;
  readonly field: Field;
  readonly summary: string;
  readonly optional?: true;
  readonly rest?: true;
  readonly complete?: string;
  /** Values worth offering under TAB where the field itself allows others too. */
  readonly suggest?: readonly string[];
};
export type Example = { readonly line: string; readonly says: string };

export type Flags = { readonly [name: string]: Flag };

/** Values by flag name (kebab-case) and argument name, already checked against their fields. Absent stays absent. */
export type Values = { readonly [name: string]: unknown };

type RequiredFlag = { readonly required: true } | { readonly field: { readonly required: true } };
type FlagValues<F extends Flags> = {
  readonly [K in keyof F as F[K] extends RequiredFlag ? K : never]: Value<F[K]['field']>;
} & {
  readonly [K in keyof F as F[K] extends RequiredFlag ? never : K]?: Value<F[K]['field']> | undefined;
};
type ArgumentValues<A extends Argument> = {
  readonly [K in A as K extends { readonly optional: true } ? never : K['name']]: Value<K['field']>;
} & {
  readonly [K in A as K extends { readonly optional: true } ? K['name'] : never]?:
    | Value<K['field']>
    | undefined;
};
type Flat<T> = { readonly [K in keyof T]: T[K] } & {};
type None = Record<never, never>;
/**
 * What the body of a command gets for these flags and arguments. A name that is not among them does not compile. Of flags
 * that are typed `: Flags` no name is known, so none compiles: write `as const satisfies Flags`.
 */
export type ValuesOf<F extends Flags, A extends readonly Argument[] = readonly []> = string extends keyof F
  ? never
  : Flat<FlagValues<F> & ArgumentValues<A[number]>>;

type CommandText = {
  /** All words: `['tracker', 'labels', 'create']`. */
  readonly path: readonly string[];
  readonly summary: string;
  /** Paragraphs under the summary in help. */
  readonly about?: string;
  readonly examples?: readonly Example[];
  readonly hidden?: true;
  readonly deprecated?: string;
  /** For a command that acts in its own way and cannot show what it would do: --dry-run is refused, and this is what to do instead. */
  readonly noDryRun?: string;
  /** Effects that it has without a flag: `tracker files download` writes a file. */
  readonly effects?: readonly Effect[];
  /** Its result is a check: --report writes what it found. */
  readonly isCheck?: true;
  /** It runs a program of the user's at the terminal: that one decides what Ctrl-C means, and this program ends after it. */
  readonly leavesSignalsToChild?: true;
  /** The row behind a derived command. */
  readonly operation?: { readonly service: ServiceInfo; readonly operation: Operation };
};
type CommandBody<F, A, V> = CommandText & {
  readonly args?: A;
  readonly flags?: F;
  /** Combinations of flags; no input or output. */
  check?(values: V): Problem[];
  run(context: Context, values: V): Promise<Result>;
};

/** A command as the dispatcher sees it; what a row of a table becomes. A command written by hand is made by `defineCommand`. */
export type Command = CommandBody<Flags, readonly Argument[], Values>;

/** A command whose values have the types of its flags and arguments. */
export const defineCommand = <
  const F extends Flags = None,
  const A extends readonly Argument[] = readonly [],
>(
  command: CommandBody<F, A, ValuesOf<F, A>>,
): Command => command;

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

export type Context = {
  readonly host: Host;
  readonly settings: Settings;
  readonly log: Logger;
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
  readonly isDryRun: boolean;
  /** Given with --quiet: nothing but errors on stderr. */
  readonly isQuiet?: boolean;
  /** --verbose, for what is shown shorter otherwise. */
  readonly isVerbose?: boolean;
  /** --color, for what is drawn and not rendered. */
  readonly color?: 'auto' | 'always' | 'never' | undefined;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
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
  /** Asks before something that cannot be undone; throws AppError('usage') with `--yes` in tryThis when nobody can be asked. */
  confirm(question: string): Promise<void>;
};
