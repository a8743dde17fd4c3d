import { hash } from 'node:crypto';
import { join } from 'node:path';
import { jsonRow } from '../core/json.ts';
import { canChange, type LooseInput, type Operation, type ServiceInfo } from '../core/operation.ts';
import { durationText, secondsText } from '../core/format.ts';
import { brokenPage } from '../core/limits.ts';
import { AppError, makeDeclinedError, usageError } from '../core/problem.ts';
import { structureFault } from '../core/shape.ts';
import { type HttpReply, type HttpRequest, NetworkError } from '../platform/host.ts';
import type { CallOptions, Context, Explain, RequestProver, ServiceName, Target } from './context.ts';
import { type RateStoreSetting, type Bucket, makeBucket, type RateStore, storeBucket } from './rate.ts';
import {
  checkInput,
  inputInDialect,
  joinUrl,
  normalizeResponse,
  operationInDialect,
  prefixOf,
  requestMaker,
  type WireRequest,
} from './request.ts';
import { answerFrom, expectShape, type WireReply } from './response.ts';
import type { CompletionCache } from './list-rows.ts';
import { type AttemptWatch, checkCommand, rawCheck, send, withOutcome } from './send.ts';

type Pace = Pick<Context, 'host' | 'settings' | 'log' | 'signal'> & {
  readonly timeoutMs: number | undefined;
  /** Requests per minute that all processes of this profile may send together; undefined for no limit. */
  readonly ratePerMinute: number | undefined;
  /** No user set that limit, so the service may report that no limit exists. */
  readonly isRateDefault: boolean;
  /** The store that shares that limit with other machines. */
  readonly rateStore?: RateStoreSetting | undefined;
  /** Opens the store of `rateStore`. It is loaded only if a store is configured. */
  readonly openRateStore: (url: URL) => Promise<RateStore>;
};
/** Machines share a rate by the service and the token: neither can be read out of the key. */
const sharedKey = ({ baseUrl, headers }: Target): string =>
  hash('sha256', JSON.stringify([baseUrl, Object.entries(headers).sort()])).slice(0, 24);
const bucketsFor = (pace: Pace) => {
  const { host, settings, log, signal, ratePerMinute, rateStore, openRateStore } = pace;
  const buckets = new Map<string, Bucket>();
  const onMachine = (key: string, limit: number): Bucket =>
    makeBucket(host, join(settings.directories.state, 'rate'), key, limit, { signal });
  const onStore = (to: Target, key: string, limit: number, { url, share }: RateStoreSetting): Bucket => {
    const own = Math.max(1, Math.floor(limit / share));
    return storeBucket(host, {
      open: () => openRateStore(url),
      key: sharedKey(to),
      limit,
      signal,
      // A separate file, because these tickets belong to another limit than those of runs without a store.
      own: () => onMachine(`${key}-share`, own),
      onLost: (why) =>
        log.warn(
          `the rate store ${url.protocol}//${url.host} cannot be reached (${why}): this machine keeps to its share, ${own} of ${limit} requests a minute; OPSCTL_RATE_SHARE changes the share`,
        ),
    });
  };
  return (to: Target): Bucket | undefined => {
    const { rateKey } = to;
    if (rateKey === undefined || ratePerMinute === undefined) return undefined;
    const found =
      buckets.get(rateKey) ??
      (rateStore === undefined
        ? onMachine(rateKey, ratePerMinute)
        : onStore(to, rateKey, ratePerMinute, rateStore));
    buckets.set(rateKey, found);
    return found;
  };
};
/** The data of requests to one service. */
type Sender = (request: HttpRequest, watch?: AttemptWatch) => Promise<HttpReply>;
const RATE_LIMITED = 'the service returned 429';
/** Why the built-in server makes a command wait, and how to avoid it. */
const mockRateLimit =
  'the mock server limits requests per minute like the tracker; `opsctl mock start --rate-limit off` starts a server without this limit';
/**
 * Waits for a place in the shared rate window, sends the request, and informs all other processes if the
 * service limits the rate.
 */
const makeRateLimited = (pace: Pace): ((to: Target, prover?: RequestProver) => Sender) => {
  const { host, log, signal, timeoutMs, ratePerMinute } = pace;
  const bucketOf = bucketsFor(pace);
  let limitedUntil = -1;
  const onWait = (ms: number): void =>
    log.info(`waiting ${secondsText(ms)} for the rate limit (${ratePerMinute} requests a minute)`);
  return (to, prover = to.prover) => {
    const bucket = bucketOf(to);
    const onRetry = (delayMs: number, why: string): void => {
      const isLimited = why === RATE_LIMITED;
      if (isLimited) bucket?.block(host.now() + delayMs);
      if (isLimited && to.isMock) log.warnOnce('mock-rate-limit', mockRateLimit);
      // Parallel requests wait for the same window.
      if (isLimited && host.elapsed() < limitedUntil) return;
      if (isLimited) limitedUntil = host.elapsed() + delayMs;
      log.info(`${why}; trying again in ${durationText(delayMs)}`);
    };
    const options = {
      ...{ signal, onRetry, prover, timeoutMs },
      ...(bucket ? { admit: () => bucket.admit(onWait) } : {}),
    };
    const sendPaced: Sender = (request, watch) =>
      send(host, request, watch === undefined ? options : { ...options, watch });
    if (bucket === undefined || !pace.isRateDefault) return sendPaced;
    return async (request, watch) => {
      const reply = await sendPaced(request, watch);
      // Our limit is a default for services that do not report one. A limit that a user set is kept.
      if (reply.headers['x-ratelimit-limit'] === 'off') bucket.open();
      return reply;
    };
  };
};

/** Ends a command whose request was recorded; the runner renders the request. */
export class RecordedRequest extends Error {
  readonly request: WireRequest;
  readonly target: Target;
  constructor(request: WireRequest, target: Target) {
    super('dry run');
    this.name = 'RecordedRequest';
    this.request = request;
    this.target = target;
  }
}
type Route = { readonly service: ServiceInfo['name']; readonly method: string; readonly path: string };
/** What happens to a request before it is sent. */
type Transport = {
  admit(request: WireRequest, to: Target, route: Route): void;
};
/** The transport of a dry run. A command cannot continue without the response, so its first request ends it. */
const recording: Transport = {
  admit: (request, target) => {
    throw new RecordedRequest(request, target);
  },
};
/** Sends each request. */
const sending = (options: ContextOptions): Transport => ({
  admit: (_, to, { service, method, path }) => {
    if (service === 'tracker' || service === 'labels') refuseMockInCi(options, to, method, path);
  },
});
/** Sends reads only. */
const reading: Transport = {
  admit: (_, __, route) => {
    if (canChange(route)) throw new Error(`${route.method} ${route.path} is a change, not a lookup`);
  },
};
/** What the runner knows already, and how requests are to be sent. */
export type ContextOptions = Pick<
  Context,
  | 'host'
  | 'settings'
  | 'log'
  | 'format'
  | 'isFormatGiven'
  | 'columns'
  | 'isInteractive'
  | 'asksNothing'
  | 'isConfirmed'
  | 'isDryRun'
  | 'isQuiet'
  | 'isVerbose'
  | 'color'
  | 'showAdvice'
  | 'signal'
  | 'onEnd'
> &
  Pace & {
    /** Finds the service, and starts the embedded mock server if no service is configured. */
    readonly reach: (service: ServiceName) => Promise<Target>;
    /** Writes each change of a service to the local audit log. */
    readonly audit?: (place: { readonly service: string; readonly target: Target }, send: Sender) => Sender;
    /** What a service adds to its error responses: the actions that fix the problem. */
    readonly explainer?: (service: string) => Promise<Explain> | undefined;
    /** Takes note of the records that come, for completion. */
    readonly seen?: CompletionCache;
  };
const basePaths: Readonly<Record<ServiceName, string>> = {
  tracker: '/api/v3',
  labels: '/v2beta',
  auth: '',
  api: '',
};
const prefixFor = (usual: string, { wording }: Target): string =>
  wording?.basePath === undefined ? usual : prefixOf(wording.basePath);
const confirm = async (options: ContextOptions, question: string): Promise<void> => {
  if (options.isConfirmed || options.isDryRun) return;
  if (!options.isInteractive)
    throw usageError(
      `${question} No terminal is available to confirm this.`,
      [],
      ['add --yes to continue without a question'],
    );
  if (!(await options.host.terminal.prompts.confirm(question, false))) throw makeDeclinedError();
};
type Wire = {
  readonly options: ContextOptions;
  readonly target: Context['target'];
  readonly senderTo: ReturnType<typeof makeRateLimited>;
  readonly transport: Transport;
};
/**
 * Returns the value of a successful response in the shape of the row, or throws the error that the response
 * means.
 */
const shapedValue = (operation: Operation, reply: WireReply, url: string, input: LooseInput): unknown => {
  const value = answerFrom(operation, reply, url, input);
  expectShape(operation, value, url, input);
  return value;
};
/** -v: logs the request, the response and the duration. */
const timeRequest = async (
  { host, log }: ContextOptions,
  { method, url }: WireRequest,
  send: () => Promise<HttpReply>,
): Promise<HttpReply> => {
  log.debug(`${method} ${url}`);
  const began = host.elapsed();
  const reply = await send();
  log.debug(`${reply.status} ${method} ${url} in ${durationText(host.elapsed() - began)}`);
  return reply;
};
/** spec/program#settings: a CI job must not believe that it changed a real service when it changed a mock server that it did not name. */
const refuseMockInCi = (
  { host, settings }: ContextOptions,
  { isMock, isPassing }: Target,
  method: string,
  path: string,
): void => {
  if (!isMock || isPassing !== true || settings.profile.origin !== 'default') return;
  if (!canChange({ method, path })) return;
  if ((host.env.CI ?? '') === '' || host.env.CI === 'false') return;
  throw new AppError(
    'config',
    'CI is set and no service is configured: refusing to change the embedded mock server; no changes were made',
    {
      code: 'MOCK_IN_CI',
      tryThis: [
        'set the URL and the token of the service in this job',
        '--profile mock (or OPSCTL_PROFILE=mock) to use the embedded mock server',
        'opsctl mock start, to start a mock server for this job',
      ],
    },
  );
};
/** The target with another token of the same kind. */
const withToken = (target: Target, token: string): Target => ({
  ...target,
  headers: {
    ...target.headers,
    authorization: `${target.prover === undefined ? 'Bearer' : 'DPoP'} ${token}`,
  },
  ...(target.prover === undefined ? {} : { prover: target.prover.forToken(token) }),
});
const auditedBy = ({ audit }: ContextOptions, service: string, target: Target, send: Sender): Sender =>
  audit === undefined ? send : audit({ service, target }, send);
/** A copy of a row's request. A bulk run copies each of its requests, and V8 copies unknown objects slowly. */
const withTransport = (
  { method, url, headers, body }: WireRequest,
  transport: NonNullable<CallOptions['transport']>,
): HttpRequest =>
  body === undefined ? { method, url, headers, transport } : { method, url, headers, transport, body };
/** How the requests of one row are made and sent: worded as the service words it. */
const lineOf = async (
  { options, target, senderTo, transport: { admit } }: Wire,
  service: ServiceInfo,
  operation: Operation,
  more: CallOptions,
) => {
  const { method, path } = operation;
  const route = { service: service.name, method, path };
  const found = await target(service.name as ServiceName);
  const to = more.bearer === undefined ? found : withToken(found, more.bearer);
  const { wording = {} } = to;
  const { transport } = more;
  const send = auditedBy(options, service.name, to, senderTo(to));
  const requestOf = requestMaker(
    { ...service, basePath: prefixFor(service.basePath, to) },
    operationInDialect(operation, wording),
    to,
  );
  return {
    wording,
    requestFor: (input: LooseInput): WireRequest => {
      const request = requestOf(inputInDialect(input, wording));
      admit(request, found, route);
      return request;
    },
    ask: (request: WireRequest): Promise<HttpReply> => {
      const asked = transport === undefined ? request : withTransport(request, transport);
      return options.isVerbose === true ? timeRequest(options, request, () => send(asked)) : send(asked);
    },
    /** A refusal with what to do about it. */
    explainError: async (error: unknown): Promise<unknown> => {
      const explain = await options.explainer?.(service.name);
      return explain === undefined ? error : explain(error, to, operation);
    },
  };
};
/** Sends one operation of a table and reads the response as the table defines it. */
const callerOn =
  (wire: Wire): Context['caller'] =>
  async (service, operation, more = {}) => {
    const { log, signal } = wire.options;
    const line = await lineOf(wire, service, operation, more);
    const ask = async (request: WireRequest): Promise<WireReply> => {
      const reply = await line.ask(request);
      return { status: reply.status, headers: reply.headers, text: await reply.text() };
    };
    const askTwice = (request: WireRequest): Promise<WireReply> =>
      // A response that breaks off arrives too late for the retries of the transport.
      ask(request).catch((error: unknown) => {
        if (!(error instanceof NetworkError) || error.code !== 'RESET' || signal.aborted) throw error;
        log.info(`${error.message}; trying again`);
        return ask(request);
      });
    return async (input) => {
      const request = line.requestFor(input);
      const unsure = (error: unknown): Promise<unknown> =>
        withOutcome(error, request, () =>
          checkCommand(service, operation, input, new URL(request.url).pathname),
        );
      let reply: WireReply;
      try {
        reply = await (operation.method === 'GET' ? askTwice(request) : ask(request));
      } catch (error) {
        throw await unsure(error);
      }
      try {
        const value = normalizeResponse(shapedValue(operation, reply, request.url, input), line.wording);
        wire.options.seen?.note(operation, input.params, input.query, value);
        return value;
      } catch (error) {
        throw await unsure(await line.explainError(error));
      }
    };
  };
/** One call of an operation. The check comes first: a wrong value must not start a server or wait for one. */
const callOn = (wire: Wire): Context['call'] => {
  const caller = callerOn(wire);
  return async (service, operation, input, more) => {
    checkInput(operation, input);
    return (await caller(service, operation, more))(input);
  };
};
/**
 * One call whose response a command interprets. A part of another type is refused here with its name, so that no engine meets
 * a record that its types do not describe.
 */
const lookupOn = (wire: Wire): Context['call'] => {
  const call = callOn(wire);
  return async (service, operation, input, more) => {
    const value = await call(service, operation, input, more);
    const fault = operation.returns === undefined ? undefined : structureFault(value, operation.returns);
    if (fault !== undefined) throw brokenPage(`${operation.method} ${operation.path}`, fault);
    return value;
  };
};
/** Lists may be long: TAB offers the first of them. */
const MOST_NOTED = 2000;
/**
 * Yields the same rows and records the first of them for completion. A list that was not read completely is
 * not recorded as complete.
 */
async function* noteRows(
  rows: AsyncIterable<Uint8Array[]>,
  seen: CompletionCache,
  operation: Operation,
  { params, query }: LooseInput,
): AsyncGenerator<Uint8Array[]> {
  const all: unknown[] = [];
  for await (const batch of rows) {
    for (const text of batch.slice(0, MOST_NOTED - all.length)) all.push(jsonRow(text));
    yield batch;
  }
  seen.note(operation, params, query, all);
}
/** A list of a table, row by row while it arrives. */
const rowsOn =
  (wire: Wire): Context['rows'] =>
  async (service, operation, input, more = {}) => {
    checkInput(operation, input);
    const { log, signal } = wire.options;
    const { listRows, openList, neutralRows } = await import('./list-rows.ts');
    const line = await lineOf(wire, service, operation, more);
    const request = line.requestFor(input);
    const open = async () => {
      try {
        return await openList(operation, await line.ask(request), request.url);
      } catch (error) {
        throw await line.explainError(error);
      }
    };
    const onCut = (error: NetworkError): void => {
      if (signal.aborted) throw error;
      log.info(`${error.message}; trying again`);
    };
    const rows = neutralRows(await listRows(open, onCut), line.wording);
    const { seen } = wire.options;
    return seen === undefined ? rows : noteRows(rows, seen, operation, input);
  };
/** Any request to a service: only the address and the token are added. */
const senderOn =
  ({ options, target, senderTo, transport }: Wire): Context['send'] =>
  async (service, { method, path, headers, body, contentDigest, form, prover }) => {
    const to = await target(service);
    const base = prefixFor(basePaths[service], to);
    const prefix = path.startsWith(`${base}/`) ? '' : base;
    const url = joinUrl(to.baseUrl, prefix, path);
    const request = {
      method,
      url,
      headers: { ...to.headers, ...headers },
      ...(body === undefined ? {} : { body }),
      ...(contentDigest === undefined ? {} : { contentDigest }),
    };
    const shown = { ...request, body: typeof body === 'string' ? body : undefined, form };
    transport.admit(shown, to, { service, method, path });
    const send = auditedBy(options, service, to, senderTo(to, prover));
    return send(request).catch(async (error: unknown) => {
      throw await withOutcome(error, request, () => rawCheck(service, method, path));
    });
  };
/** What a command gets: the services behind one call, messages, questions and the world. */
export const makeContext = (options: ContextOptions): Context => {
  const targets = new Map<ServiceName, Promise<Target>>();
  const target = (service: ServiceName): Promise<Target> => {
    const found = targets.get(service) ?? options.reach(service);
    targets.set(service, found);
    return found;
  };
  const senderTo = makeRateLimited(options);
  const transport = options.isDryRun ? recording : sending(options);
  const wire = { options, target, senderTo, transport };
  const lookups = { ...wire, transport: reading };
  return {
    host: options.host,
    settings: options.settings,
    log: options.log,
    format: options.format,
    isFormatGiven: options.isFormatGiven,
    columns: options.columns,
    isInteractive: options.isInteractive,
    asksNothing: options.asksNothing,
    isConfirmed: options.isConfirmed,
    isDryRun: options.isDryRun,
    isQuiet: options.isQuiet ?? false,
    isVerbose: options.isVerbose ?? false,
    color: options.color,
    showAdvice: options.showAdvice,
    signal: options.signal,
    onEnd: options.onEnd,
    target,
    confirm: (question) => confirm(options, question),
    caller: callerOn(wire),
    call: callOn(wire),
    rows: rowsOn(wire),
    send: senderOn(wire),
    lookups: { call: lookupOn(lookups), rows: rowsOn(lookups) },
  };
};
