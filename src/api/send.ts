import { flagName } from '../core/flag.ts';
import { isLoopbackHost } from '../core/external-url.ts';
import { limits } from '../core/limits.ts';
import { AppError, reword } from '../core/problem.ts';
import { randomShare } from '../core/shape.ts';
import { type Host, type HttpReply, type HttpRequest, NetworkError } from '../platform/host.ts';
import type { RequestProver } from './context.ts';
import type { Ended } from './rate.ts';
import type { LooseInput, Operation, Resource, ServiceInfo, Table } from '../core/operation.ts';
import { shellWord } from '../core/shell.ts';

/** What happened to one try. `sent` is false only when no byte can have reached the service. */
export type Outcome =
  | { readonly kind: 'reply'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'failed'; readonly sent: boolean };
export type RetryPolicy = { readonly maxTries: number; readonly baseMs: number; readonly windowMs: number };
const defaultPolicy: RetryPolicy = { maxTries: 4, baseMs: 200, windowMs: 60_000 };
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);
/** An HTTP date starts with the day of the week (RFC 9110 5.6.7). */
const isHttpDate = (text: string): boolean => /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? /.test(text);
/** `Retry-After` as milliseconds: seconds or an HTTP date. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const at = isHttpDate(header.trim()) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
};
/**
 * Milliseconds to wait before the next try, or undefined to give up. A write is repeated only after 429 (the excess request
 * is not processed, spec/tracker#limits) or when it was provably not sent; a bare 429 waits for the end of the window (spec/tracker#errors-4).
 */
export const retryDelay = (
  method: string,
  tries: number,
  outcome: Outcome,
  at: { readonly nowMs: number; readonly jitter: () => number },
  policy: RetryPolicy = defaultPolicy,
): number | undefined => {
  if (tries >= policy.maxTries) return undefined;
  const backoff = () => policy.baseMs * 2 ** (tries - 1) * (0.5 + at.jitter());
  if (outcome.kind === 'failed') return SAFE.has(method) || !outcome.sent ? backoff() : undefined;
  const asked = retryAfterMs(outcome.retryAfter, at.nowMs);
  if (asked !== undefined && asked > limits.retryAfterMs) return undefined;
  // A sliding window frees places one by one: a quarter, a half, then the whole of it.
  if (outcome.status === 429)
    return asked ?? Math.min(policy.windowMs, policy.windowMs * 2 ** (tries - 3)) + 1000 * at.jitter();
  const mayHelp =
    outcome.status === 502 || outcome.status === 503 || outcome.status === 504 || outcome.status === 500;
  return mayHelp && SAFE.has(method) ? (asked ?? backoff()) : undefined;
};

/** Follows the attempts of one request. While the command waits for the next attempt, no attempt is open. */
export type AttemptWatch = {
  /** Called directly before each attempt. */
  onStart(): Promise<void>;
  /** Called after an attempt that made no change and is repeated. */
  onRepeat(): Promise<void>;
};
export type SendOptions = {
  readonly watch?: AttemptWatch | undefined;
  readonly policy?: RetryPolicy;
  readonly signal?: AbortSignal;
  /** Replaces the timeout of the request. */
  readonly timeoutMs?: number | undefined;
  /**
   * Waits for a free place in the rate window before each attempt. Calls the returned function when the
   * response has started or failed, and waits for it.
   */
  readonly admit?: () => Promise<Ended>;
  readonly onRetry?: (delayMs: number, why: string) => void;
  /** Signs each attempt separately, because a proof is valid for one request. */
  readonly prover?: RequestProver;
};
const hints: Readonly<Partial<Record<NetworkError['code'], string>>> = {
  TLS: 'if the service uses a private certificate authority, name its file with NODE_EXTRA_CA_CERTS or `opsctl config set ca_file FILE`',
  DNS: 'check the host name and your network',
  TIMEOUT: 'try again, or allow more time with --timeout',
  PROXY: 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
};
/** The likely causes of a connection that nothing accepted. */
const refusedHints = ({ hostname }: URL): readonly string[] => [
  'check that the service runs and that the port is right',
  ...(isLoopbackHost(hostname)
    ? [`in a container or another network namespace, ${hostname} is not the machine around it`]
    : []),
];
/** A failed connection as the error that a user sees. */
export const unreachable = (
  error: NetworkError,
  url: string,
  refused: readonly string[] = refusedHints(new URL(url)),
): AppError => {
  const { host } = new URL(url);
  // No authority fixes a server that speaks no TLS.
  const hint = error.trouble?.kind === 'protocol' ? undefined : hints[error.code];
  return new AppError(
    error.code === 'ABORTED' ? 'interrupted' : 'network',
    error.message.includes(host) ? error.message : `${host}: ${error.message}`,
    {
      code: error.code,
      retryable: error.code !== 'TLS',
      cause: error,
      tryThis: error.code === 'REFUSED' ? refused : hint === undefined ? [] : [hint],
    },
  );
};
/** A retry does not change a certificate, a proxy's decision or the size of a response. */
const FINAL: ReadonlySet<NetworkError['code']> = new Set(['TLS', 'PROXY', 'PLAIN_HTTP', 'TOO_LARGE']);
type Result = { readonly reply: HttpReply } | { readonly error: NetworkError };
const outcomeOf = (result: Result): Outcome =>
  'error' in result
    ? { kind: 'failed', sent: result.error.sent }
    : { kind: 'reply', status: result.reply.status, retryAfter: result.reply.headers['retry-after'] };
/** A body that is a stream cannot be sent twice. */
const isStream = ({ body }: HttpRequest): boolean => typeof body === 'object' && Symbol.asyncIterator in body;
/** Milliseconds until the next try, or undefined when this was the last. */
const nextTry = (
  host: Host,
  request: HttpRequest,
  result: Result,
  tries: number,
  { signal, policy = defaultPolicy }: SendOptions,
): number | undefined => {
  if (signal?.aborted || ('error' in result && FINAL.has(result.error.code))) return undefined;
  const at = { nowMs: host.now(), jitter: () => randomShare(host) };
  return retryDelay(
    request.method,
    tries,
    outcomeOf(result),
    at,
    isStream(request) ? { ...policy, maxTries: 1 } : policy,
  );
};
const failure = (error: unknown): Result => {
  if (error instanceof NetworkError) return { error };
  throw error;
};
const askedOnce = async (host: Host, request: HttpRequest, ended: Ended | undefined): Promise<HttpReply> => {
  let reply: HttpReply;
  try {
    reply = await host.network.request(request);
  } catch (error) {
    await ended?.(error instanceof NetworkError && !error.sent ? 'unsent' : 'lost');
    throw error;
  }
  await ended?.('answered');
  return reply;
};
/**
 * Sends one attempt with its proof. RFC 9449 9: a service that requires a nonce returns it in its rejection,
 * and makes no change.
 */
const askedWithProof = async (
  host: Host,
  request: HttpRequest,
  ended: Ended | undefined,
  prover: RequestProver,
): Promise<HttpReply> => {
  const reply = await askedOnce(host, prover.prove(request), ended);
  const isNonceMissing = prover.notesNonce(request.url, { headers: reply.headers, text: '' });
  if (!isNonceMissing || isStream(request)) return reply;
  await reply.bytes();
  return askedOnce(host, prover.prove(request), undefined);
};
const attempt = (
  host: Host,
  request: HttpRequest,
  ended: Ended | undefined,
  prover: RequestProver | undefined,
): Promise<HttpReply> => {
  if (prover !== undefined) return askedWithProof(host, request, ended, prover);
  return ended === undefined ? host.network.request(request) : askedOnce(host, request, ended);
};
/** A bulk run copies each of its requests. V8 makes a new kind of object for each copy with `...`, and then reads all of them slowly. */
const copyOf = (
  given: HttpRequest,
  { signal, timeoutMs }: SendOptions,
): { readonly [Name in keyof Required<HttpRequest>]: HttpRequest[Name] } => ({
  method: given.method,
  url: given.url,
  headers: given.headers,
  contentDigest: given.contentDigest,
  body: given.body,
  timeoutMs: timeoutMs ?? given.timeoutMs,
  connectTimeoutMs: given.connectTimeoutMs,
  signal,
  maxReplyBytes: given.maxReplyBytes,
  tls: given.tls,
  needsTls: given.needsTls,
  transport: given.transport,
});
/**
 * Sends with safe retries. Returns the last response, with any status, or throws AppError if no response
 * arrived.
 */
export const send = async (host: Host, given: HttpRequest, options: SendOptions = {}): Promise<HttpReply> => {
  const request = copyOf(given, options);
  for (let tries = 1; ; tries++) {
    const ended = await options.admit?.();
    await options.watch?.onStart();
    let result: Result;
    try {
      const reply = await attempt(host, request, ended, options.prover);
      if (reply.status < 400) return reply;
      result = { reply };
    } catch (error) {
      result = failure(error);
    }
    const delay = nextTry(host, request, result, tries, options);
    if (delay === undefined) {
      if ('error' in result) throw unreachable(result.error, request.url);
      return result.reply;
    }
    await options.watch?.onRepeat();
    options.onRetry?.(
      delay,
      'error' in result ? result.error.message : `the service returned ${result.reply.status}`,
    );
    if ('reply' in result) await result.reply.bytes();
    await host.sleep(delay, options.signal);
  }
};

/** One part of a multipart body: a value, or a file that is read while it is sent. */
export type Part =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly filename: string;
      readonly contentType: string;
      readonly sizeBytes: number;
      readonly bytes: AsyncIterable<Uint8Array>;
    };
export type Multipart = {
  readonly contentType: string;
  readonly lengthBytes: number;
  readonly body: AsyncIterable<Uint8Array>;
};
/** As browsers do it (WHATWG form data): quotes and line ends of a name are percent-encoded, everything else is UTF-8. */
const encodeFormName = (text: string): string =>
  text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const head = (boundary: string, part: Part): Uint8Array => {
  const file =
    'filename' in part
      ? `; filename="${encodeFormName(part.filename)}"\r\nContent-Type: ${part.contentType}`
      : '';
  return Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${encodeFormName(part.name)}"${file}\r\n\r\n`,
  );
};
async function* chunks(parts: readonly Part[], boundary: string): AsyncIterable<Uint8Array> {
  for (const part of parts) {
    yield head(boundary, part);
    if ('value' in part) yield Buffer.from(part.value);
    else yield* part.bytes;
    yield Buffer.from('\r\n');
  }
  yield Buffer.from(`--${boundary}--\r\n`);
}
/** A multipart/form-data body of known length that never holds a whole file in memory. `mark` makes the boundary unique. */
export const multipart = (parts: readonly Part[], mark: string): Multipart => {
  const boundary = `opsctl-${mark}`;
  const size = (part: Part) => ('value' in part ? Buffer.byteLength(part.value) : part.sizeBytes);
  const lengthBytes = parts.reduce(
    (sum, part) => sum + head(boundary, part).length + size(part) + 2,
    boundary.length + 6,
  );
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    lengthBytes,
    body: chunks(parts, boundary),
  };
};

/** The code of the error that `sent-requests.ts` throws, here because that file is loaded by changes only. */
export const UNFINISHED_REQUEST = 'UNFINISHED_REQUEST';
const CHECK_FIRST = 'check whether the change was applied';
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** A search is a POST without changes. */
const mayChange = (method: string, path: string): boolean =>
  !READS.has(method) && !/\/search([?#]|$)/.test(path);

/** True if no byte of the request can have reached the service. The error that a user sees has the error of the network as its cause. */
export const wasNeverSent = (error: unknown): boolean => {
  const cause = error instanceof AppError ? error.detail.cause : error;
  return cause instanceof NetworkError && !cause.sent;
};
/** A rejection (4xx) is a definite response: no change was applied. */
const mayBeApplied = (error: AppError): boolean => error.category === 'network' && !wasNeverSent(error);

type Request = { readonly method: string; readonly url: string };

/** A request that an earlier command may have sent: the error names the command that lists the possible record. */
const withCheck = async (error: AppError, next: () => string | Promise<string>): Promise<AppError> => {
  const { tryThis = [] } = error.detail;
  if (tryThis.some((one) => String(one).startsWith(CHECK_FIRST))) return error;
  return reword(error, { ...error.detail, tryThis: [`${CHECK_FIRST}: ${await next()}`, ...tryThis] });
};
/** An error of the network with its category, and for a change that was sent the fact that its outcome is unknown. */
export const withOutcome = async (
  thrown: unknown,
  { method, url }: Request,
  next: () => string | Promise<string>,
): Promise<unknown> => {
  const error = thrown instanceof NetworkError ? unreachable(thrown, url) : thrown;
  if (error instanceof AppError && error.detail.code === UNFINISHED_REQUEST) return withCheck(error, next);
  if (!(error instanceof AppError) || error.detail.outcome !== undefined) return error;
  if (!mayChange(method, url) || !mayBeApplied(error)) return error;
  return reword(error, {
    ...error.detail,
    outcome: 'unknown',
    retryable: false,
    tryThis: [
      `check whether the change was applied before you send it again: ${await next()}`,
      ...(error.detail.tryThis ?? []),
    ],
  });
};

/** The command that shows whether a request to any path was applied: the record, or the list that it is in. */
export const rawCheck = (service: string, method: string, path: string): string => {
  const [bare = ''] = path.split('?');
  return `opsctl api ${service} GET ${shellWord(method === 'POST' ? bare.replace(/:[a-z]\w*$/i, '') : bare)}`;
};

/** Commands of one resource are loaded without the table of all resources. */
const tableOf = async ({ name, table }: ServiceInfo & { readonly table?: Table }): Promise<Table> =>
  table ?? (name === 'tracker' ? (await import('../api-specs/tracker/index.ts')).tracker.table : {});

const isReadOf = ({ method, path }: Operation, wanted: string): boolean =>
  method === 'GET' && path === wanted;
const NO_CHECK = 'the service has no list of these records';
/** A record that only its owner shows: `/stories/{id}/tasks` is in the story, and a story link has a subject. */
const ownerCheck = (
  service: string,
  table: readonly (readonly [string, Resource])[],
  path: string,
  ids: readonly string[],
  body: LooseInput['body'],
): string | undefined => {
  const [above, id] =
    path === '/story-links'
      ? ['/stories/{story-public-id}', body?.subject_id]
      : [path.replace(/\/[^/]+$/, ''), ids[0]];
  const owner = table.find(([, { get }]) => get !== undefined && isReadOf(get, above))?.[0];
  return owner === undefined || id === undefined
    ? undefined
    : `opsctl ${service} ${flagName(owner)} get ${shellWord(String(id))}`;
};
/** The command that shows whether a row of a table was applied. */
export const checkCommand = async (
  service: ServiceInfo & { readonly table?: Table },
  operation: Operation,
  { params = {}, body }: LooseInput,
  path: string,
): Promise<string> => {
  const found = Object.entries(await tableOf(service)).find(([, verbs]) =>
    Object.values(verbs).some((one) => one.method === operation.method && one.path === operation.path),
  );
  if (found === undefined) return rawCheck(service.name, operation.method, path);
  const [resource, verbs] = found;
  const group = `opsctl ${[service.name, ...flagName(resource).split(' ')].filter((one, i, all) => one !== all[i - 1]).join(' ')}`;
  const ids = Object.values(params).map(String);
  if (operation.method !== 'POST' && verbs.get !== undefined && ids.length > 0)
    return `${group} get ${ids.map(shellWord).join(' ')}`;
  const above = ids.slice(0, Object.keys(verbs.list?.params ?? {}).length).map(shellWord);
  if (verbs.list !== undefined && !verbs.list.cli?.hidden) return [`${group} list`, ...above].join(' ');
  if (verbs.search !== undefined) {
    const name = verbs.search.body?.name === undefined ? undefined : body?.name;
    return `${group} search${typeof name === 'string' ? ` --name ${shellWord(name)}` : ''}`;
  }
  const table = Object.entries(await tableOf(service));
  if (table.some(([, all]) => Object.values(all).some((one) => isReadOf(one, operation.path))))
    return rawCheck(service.name, operation.method, path);
  return ownerCheck(service.name, table, operation.path, ids, body) ?? NO_CHECK;
};
