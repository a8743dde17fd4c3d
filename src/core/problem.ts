import { type Advice, adviceText } from './next.ts';

/** How much of a line, of the rule that a value breaks, and of the name of a value a person reads. */
const MOST = { line: 4_000, rule: 1_000, path: 200 } as const;
/**
 * Returns the text with a mark instead of its middle if it is longer than `most`; the result has at most `most`
 * characters. A message quotes names and values of files and services, which have any length; its beginning and its end
 * contain the words of this program.
 */
export const shortenMiddle = (text: string, most: number): string => {
  if (text.length <= most) return text;
  const mark = (left: number): string => `… (${left} characters left out) …`;
  const room = most - mark(text.length).length;
  if (room <= 0) return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
  const end = Math.floor(room / 4);
  const first = text.slice(0, room - end).replace(/[\uD800-\uDBFF]$/, '');
  const last = text.slice(text.length - end).replace(/^[\uDC00-\uDFFF]/, '');
  return `${first}${mark(text.length - first.length - last.length)}${last}`;
};
/**
 * Returns the beginning of a foreign text, with a mark if its rest is left out. The redactor finds the rest of a secret
 * next to this mark: a message that ends without it would show a part of the secret.
 */
export const cutText = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…`;
/** Text for a place of this many columns, with a mark if it is cut. */
export const cutToWidth = (text: string, width: number): string =>
  text.length <= width ? text : cutText(text, Math.max(0, width - 1));
/** A list of changes or outcomes keeps all its lines, and a command to run is never cut. */
const shortenAdvice = (advice: Advice): Advice =>
  typeof advice !== 'string' || advice.length <= MOST.line
    ? advice
    : advice
        .split('\n')
        .map((line) => shortenMiddle(line, MOST.line))
        .join('\n');

/** One thing that is wrong with one value. `path` is dotted and indexed: `labels[2].name`; '' is the whole. */
export type Problem = {
  readonly path: string;
  /** The problem as a sentence without the path: `must have at most 128 characters, has 129`. */
  readonly message: string;
  readonly rule:
    | 'type'
    | 'required'
    | 'unknown'
    | 'max'
    | 'min'
    | 'enum'
    | 'format'
    | 'null'
    | 'exclusive'
    | 'rule';
  /** What to try, when that is not obvious from the message. */
  readonly hint?: Advice;
  /** The file that contains the value, with the position in the file. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
};
export const problem = (path: string, rule: Problem['rule'], text: string, hint?: Advice): Problem => {
  const message = shortenMiddle(text, MOST.rule);
  return hint === undefined ? { path, rule, message } : { path, rule, message, hint: shortenAdvice(hint) };
};
/** The path is data, so programs receive much more of it than people read. */
const shortenProblem = (one: Problem): Problem =>
  one.path.length > MOST.line || one.message.length > MOST.rule
    ? { ...one, path: shortenMiddle(one.path, MOST.line), message: shortenMiddle(one.message, MOST.rule) }
    : one;
/** `contract.yaml:12:5: `, as compilers write it: editors and CI services turn it into a link. */
const placeText = ({ file, line, column }: Problem): string => {
  if (file !== undefined) return `${[file, line, column].filter((one) => one !== undefined).join(':')}: `;
  return line === undefined ? '' : `line ${line}: `;
};
export const problemText = (one: Problem): string =>
  `${placeText(one)}${one.path === '' ? '' : `${shortenMiddle(one.path, MOST.path)} `}${one.message}${one.hint === undefined ? '' : ` (${adviceText(one.hint)})`}`;
/** The reason of a failure, by who can fix it. Each has one exit code (exit.ts). */
export type Category =
  | 'unknown'
  | 'usage'
  | 'config'
  | 'auth'
  | 'refused'
  | 'not-found'
  | 'rate-limit'
  | 'stopped'
  | 'partial'
  | 'unsafe'
  | 'network'
  | 'rolled-back'
  | 'no'
  | 'interrupted'
  | 'terminated';
/** Possible causes, the fix, and a command or file line that applies the fix. */
export type Explanation = {
  readonly causes: readonly string[];
  readonly fix: string;
  readonly example: string;
};
/** An error code. The category decides the exit code. */
export type ErrorExplanation = Explanation & { readonly category: Category; readonly meaning: string };
/** A preflight check. */
export type GuardExplanation = Explanation & { readonly meaning: string; readonly reason: string };
/** A setting. */
export type SettingExplanation = { readonly effect: string; readonly example: string };
type ErrorDetail = {
  /** A stable word for scripts, for example `NAME_TAKEN`; the category in capitals when absent. */
  readonly code?: string;
  readonly httpStatus?: number;
  /** What to type or change next; the first is the best. */
  readonly tryThis?: readonly Advice[];
  readonly docs?: string;
  readonly problems?: readonly Problem[];
  readonly requestId?: string;
  readonly retryable?: boolean;
  /** `unknown` for a request that was sent and may have been applied: sending it again may apply it twice. */
  readonly outcome?: 'unknown';
  /** Anything a script may want, already free of secrets. */
  readonly data?: unknown;
  readonly cause?: unknown;
};
/** An expected failure with one message, one category and a hint. Every other thrown value is a bug. */
export class AppError extends Error {
  readonly category: Category;
  readonly detail: ErrorDetail;
  /** The message with its commands as data. */
  readonly advice: Advice;
  constructor(category: Category, text: Advice, detail: ErrorDetail = {}) {
    const message = shortenAdvice(text);
    super(adviceText(message), detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'AppError';
    this.category = category;
    this.advice = message;
    const { problems, tryThis } = detail;
    this.detail = {
      ...detail,
      ...(problems === undefined ? {} : { problems: problems.map(shortenProblem) }),
      ...(tryThis === undefined ? {} : { tryThis: tryThis.map(shortenAdvice) }),
    };
  }
}
/**
 * Invalid values of flags or arguments. The dispatcher adds the name of the command, as it does for parser
 * errors.
 */
export class InvalidArguments extends AppError {
  constructor(detail: ErrorDetail) {
    super('usage', 'invalid arguments', detail);
  }
}
export const invalidArguments = (
  problems: readonly Problem[],
  tryThis: readonly Advice[] = [],
): InvalidArguments => new InvalidArguments({ problems, tryThis });
/** The same error with other words: wrong arguments stay recognizable as such. */
export const reword = (error: AppError, detail: ErrorDetail, message: Advice = error.advice): AppError =>
  error instanceof InvalidArguments
    ? new InvalidArguments(detail)
    : new AppError(error.category, message, detail);
/** A usage error that lists all problems. */
export const usageError = (
  message: Advice,
  problems: readonly Problem[] = [],
  tryThis: readonly Advice[] = [],
): AppError => new AppError('usage', message, { problems, tryThis });

/** A person answered a question with no, or typed another name than the one to repeat. Every prompt has this outcome. */
export const makeDeclinedError = (message: Advice = 'not confirmed; no changes were made'): AppError =>
  new AppError('unsafe', message, { code: 'NOT_CONFIRMED' });

/** The first reason of a `Promise.any` that failed; every other value is its own reason. Pure. */
export const firstReason = (failure: unknown): unknown =>
  failure instanceof AggregateError ? (failure.errors as readonly unknown[])[0] : failure;
/** Returns the message of a thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than files may be there',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EIO: 'the disk fails',
};
/** Returns why a file cannot be written, or undefined if the error has another cause. */
export const writeFailure = (error: unknown): string | undefined =>
  reasons[(error as { code?: string } | null)?.code ?? ''];
/**
 * Returns the same reason in a sentence that names the file. The system's own message would repeat the name.
 */
export const writeFailureReason = (error: unknown): string => writeFailure(error) ?? messageOf(error);
/** There is no reader any more (`| head`): that is the reader's wish, and no error. */
export const isClosedPipe = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code === 'EPIPE';

/**
 * Waits until every operation has finished. If several fail, throws the error of the first one in the list, not of the
 * fastest one, so that the same fault always shows the same error. No operation is still running when the error is handled.
 */
export const awaitAll = async <T extends readonly unknown[] | []>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> => {
  await Promise.allSettled(work);
  for (const one of work) await one;
  return Promise.all(work);
};

type Row = { readonly code: number; readonly meaning: string; readonly advice?: string };

/** spec/program#exit-codes: the one table of exit codes. README, `opsctl help exit-codes` and `opsctl explain` are made from it. */
export const exitCodes: Readonly<Record<Category | 'done', Row>> = {
  done: { code: 0, meaning: 'done' },
  unknown: {
    code: 1,
    meaning: 'general error; most likely a bug in opsctl',
    advice: 'Run the command again with --debug, or run `opsctl doctor` to check this machine',
  },
  usage: {
    code: 2,
    meaning: 'usage error: an invalid flag, argument or value; no request was sent',
    advice: 'Each problem names the flag and its rule; --help lists all flags',
  },
  config: {
    code: 3,
    meaning:
      'configuration error: a setting is missing or invalid, or a file or disk cannot be used (permission, free space)',
    advice: '`opsctl config list --show-origin` shows the origin of each value',
  },
  auth: {
    code: 4,
    meaning: 'sign-in required, denied or expired',
    advice: 'Run `opsctl auth status`, then `opsctl login`',
  },
  refused: {
    code: 5,
    meaning: 'rejected by the service (400, 403, 409, 422)',
    advice: 'The message names the field and the rule; repeating the same request does not help',
  },
  'not-found': { code: 6, meaning: 'not found', advice: 'List the records to find the right name or ID' },
  'rate-limit': {
    code: 7,
    meaning: 'rate limit exceeded after retries',
    advice: 'Wait a minute, or lower rate_per_minute',
  },
  stopped: {
    code: 8,
    meaning: 'stopped part-way; the run can be resumed',
    advice: 'The message contains the command that continues: --resume or `kv resume`',
  },
  partial: {
    code: 9,
    meaning: 'some of several operations failed',
    advice: 'Each failed row contains its error; --resume repeats only the failed rows',
  },
  unsafe: {
    code: 10,
    meaning: 'refused by a safety check, or declined at a prompt; no changes were made',
    advice: '`opsctl explain GUARD` explains the check and its fix',
  },
  network: {
    code: 11,
    meaning: 'unreachable or unexpected response (network, TLS, timeout, 5xx)',
    advice: 'Run `opsctl doctor` to check proxy, names and certificates',
  },
  'rolled-back': {
    code: 12,
    meaning: 'rolled back',
    advice: 'The cluster runs its old version; `opsctl kv report` shows the reason',
  },
  no: { code: 20, meaning: 'check failed or difference found' },
  interrupted: { code: 130, meaning: 'interrupted (Ctrl-C)' },
  terminated: { code: 143, meaning: 'terminated (SIGTERM)' },
};

export const exitCode = (category: Category | 'done'): number => exitCodes[category].code;

/** The reason for the end of a run, by exit code. */
export const categoryOfExit = (code: number | null): Category =>
  (Object.keys(exitCodes) as (Category | 'done')[]).find(
    (category): category is Category => category !== 'done' && exitCodes[category].code === code,
  ) ?? 'unknown';
