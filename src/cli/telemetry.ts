import { parseUrl } from '../core/external-url.ts';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import { gzipSync } from 'node:zlib';
import { headerProblem } from '../core/operation.ts';
import { AppError, type Category, exitCode, messageOf } from '../core/problem.ts';
import type { Redactor } from '../output/types.ts';
import type { Host, HttpRequest, StepMark } from '../platform/host.ts';
import { requestsTraces } from './options.ts';
import { type Exchange, tracedHost } from './trace.ts';

type Env = Host['env'];
/** Where and how spans are sent: the variables of the OTLP exporter specification. */
export type ExportTarget = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly isJson: boolean;
  readonly isCompressed: boolean;
  readonly attributes: Readonly<Record<string, string>>;
};

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const DEFAULT_TIMEOUT_MS = 10_000;
/** A variable of traces, else the one of all signals. An empty value counts as unset. */
const read = (env: Env, name: string): string | undefined =>
  env[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() || env[`OTEL_EXPORTER_OTLP_${name}`]?.trim() || undefined;
const refuse = (name: string, rule: string): never => {
  throw new Error(`${name} ${rule}`);
};
/** `key=value,key=value`, percent-encoded as in W3C baggage. The error repeats no value, because it may be a secret. */
const pairsIn = (text: string, name: string): Record<string, string> => {
  const pairs = text.split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(
    pairs.map((part, i) => {
      const at = part.indexOf('=');
      if (at < 1) return refuse(name, `must contain key=value pairs; pair ${i + 1} is invalid`);
      try {
        return [decodeURIComponent(part.slice(0, at).trim()), decodeURIComponent(part.slice(at + 1).trim())];
      } catch {
        return refuse(name, `must be percent-encoded; pair ${i + 1} is invalid`);
      }
    }),
  );
};
/** The headers for the collector. The error names the variable and repeats no value. */
const headersIn = (env: Env): Record<string, string> => {
  const own = 'OTEL_EXPORTER_OTLP_TRACES_HEADERS';
  const name = env[own]?.trim() ? own : 'OTEL_EXPORTER_OTLP_HEADERS';
  const headers = pairsIn(read(env, 'HEADERS') ?? '', name);
  for (const [header, value] of Object.entries(headers)) {
    const wrong = headerProblem(name, header, value);
    if (wrong !== undefined) refuse(name, wrong.message);
  }
  return headers;
};
const endpointOf = (env: Env): string => {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']?.trim();
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT']?.trim() || DEFAULT_ENDPOINT;
  const text = own || `${base.replace(/\/+$/, '')}/v1/traces`;
  if (!/^https?:$/.test(parseUrl(text)?.protocol ?? ''))
    refuse(
      own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT',
      'must be an http or https URL',
    );
  return text;
};
const timeoutOf = (env: Env): number => {
  const text = read(env, 'TIMEOUT');
  if (text === undefined) return DEFAULT_TIMEOUT_MS;
  return /^[1-9]\d{0,8}$/.test(text)
    ? Number(text)
    : refuse('OTEL_EXPORTER_OTLP_TIMEOUT', 'must be a number of milliseconds');
};
const oneOf = <T extends string>(env: Env, name: string, values: readonly T[]): T => {
  const text = read(env, name) ?? values[0];
  return (
    values.find((value) => value === text) ??
    refuse(
      `OTEL_EXPORTER_OTLP_${name}`,
      `must be ${values.join(' or ')}; opsctl does not support another value`,
    )
  );
};
/** Reads the variables. Undefined: no traces are requested. Throws if a variable is invalid. Pure. */
export const exportTarget = (env: Env): ExportTarget | undefined => {
  if (!requestsTraces(env)) return undefined;
  if (env['OTEL_TRACES_EXPORTER']?.trim() !== 'otlp') refuse('OTEL_TRACES_EXPORTER', 'must be otlp or none');
  const service = env['OTEL_SERVICE_NAME']?.trim();
  return {
    url: endpointOf(env),
    headers: headersIn(env),
    timeoutMs: timeoutOf(env),
    isJson: oneOf(env, 'PROTOCOL', ['http/protobuf', 'http/json']) === 'http/json',
    isCompressed: oneOf(env, 'COMPRESSION', ['none', 'gzip']) === 'gzip',
    attributes: {
      'service.name': 'opsctl',
      ...pairsIn(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '', 'OTEL_RESOURCE_ATTRIBUTES'),
      ...(service ? { 'service.name': service } : {}),
    },
  };
};
/** The span of the caller, such as a CI job, from the variable TRACEPARENT (W3C Trace Context). Pure. */
const parentContext = (text: string | undefined) => {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text?.trim() ?? '') ?? [];
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
};

/** Secrets that the run learned after a span had ended are removed as well. */
const redactSpan = ({ attributes }: ReadableSpan, redactor: Redactor): void => {
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'string') attributes[name] = redactor.clean(value);
};
/** The statuses after which the specification allows another try. */
const RETRIED = new Set([429, 502, 503, 504]);
const TRIES = 3;
const PAUSE_MS = 250;
const exportRequest = (target: ExportTarget, spans: ReadableSpan[]): HttpRequest => {
  const serializer = target.isJson ? JsonTraceSerializer : ProtobufTraceSerializer;
  const body = serializer.serializeRequest(spans) ?? new Uint8Array();
  return {
    method: 'POST',
    url: target.url,
    headers: {
      'content-type': target.isJson ? 'application/json' : 'application/x-protobuf',
      'user-agent': `opsctl/${OPSCTL_VERSION}`,
      ...(target.isCompressed ? { 'content-encoding': 'gzip' } : {}),
      ...target.headers,
    },
    body: target.isCompressed ? new Uint8Array(gzipSync(body)) : body,
    ...(Object.keys(target.headers).length > 0 ? { needsTls: true as const } : {}),
  };
};
/** The timeout spans all tries and the pauses between them. */
const sendSpans = async (
  host: Host,
  target: ExportTarget,
  spans: ReadableSpan[],
  signal: AbortSignal,
): Promise<void> => {
  const request = exportRequest(target, spans);
  const endMs = host.elapsed() + target.timeoutMs;
  for (let count = 1; ; count++) {
    const timeoutMs = Math.max(1, Math.ceil(endMs - host.elapsed()));
    const reply = await host.network.request({ ...request, timeoutMs, connectTimeoutMs: timeoutMs, signal });
    await reply.bytes();
    if (reply.status < 300) return;
    const pauseMs = PAUSE_MS * count;
    if (!RETRIED.has(reply.status) || count === TRIES || host.elapsed() + pauseMs >= endMs)
      throw new Error(`the collector returned ${reply.status}`);
    await host.sleep(pauseMs, signal);
  }
};

export type Telemetry = {
  /** The machine whose requests and steps become spans. */
  readonly host: Host;
  /** Ends the span of the command and sends what is left. Never rejects. */
  end(outcome: { readonly category: Category | 'done' } | { readonly error: unknown }): Promise<void>;
};
type Surrounding = {
  readonly host: Host;
  readonly redactor: Redactor;
  readonly warn: (text: string) => void;
};

const requestAttributes = ({ method, url, status, attempt, error }: Exchange) => {
  const { hostname, port, protocol } = new URL(url);
  return {
    'http.request.method': method,
    'url.full': url,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
    ...(status > 0 ? { 'http.response.status_code': status } : {}),
    ...(error !== undefined
      ? { 'error.type': 'network' }
      : status >= 400
        ? { 'error.type': String(status) }
        : {}),
  };
};
type Opened = {
  readonly provider: TracerProvider;
  /** Sends what is left and waits for all sends, at most for the timeout. Returns the first failure. Never rejects. */
  readonly close: () => Promise<unknown>;
};
/** The library keeps no list of the batches that it sends during a run, so its shutdown does not wait for them. */
const runningSends = (host: Host, target: ExportTarget) => {
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  let failure: unknown;
  const note = (error: unknown): void => {
    failure ??= error;
  };
  const send = (spans: ReadableSpan[], done: (result: { readonly code: number }) => void): void => {
    const sending = sendSpans(host, target, spans, stop.signal)
      .then(() => done({ code: 0 }))
      .catch((error: unknown) => (note(error), done({ code: 1 })))
      .finally(() => running.delete(sending));
    running.add(sending);
  };
  const close = async (shutdown: () => Promise<void>): Promise<unknown> => {
    const { timeoutMs, url } = target;
    const limit = host.sleep(timeoutMs, stop.signal).then(() => {
      throw new Error(`${new URL(url).origin} did not accept them within ${timeoutMs} ms`);
    });
    const sent = shutdown()
      .catch(note)
      .then(() => Promise.all(running));
    await Promise.race([sent, limit]).catch(note);
    const first = failure;
    stop.abort();
    return first;
  };
  return { send, close };
};
const openProvider = (host: Host, redactor: Redactor, target: ExportTarget): Opened => {
  for (const value of Object.values(target.headers)) redactor.hide(value);
  const { send, close } = runningSends(host, target);
  const processor = new BatchSpanProcessor({
    maxQueueSize: 8192,
    // Each send has its own limit. The one of the library must not end it earlier, because its error does not name a collector.
    exportTimeoutMillis: target.timeoutMs + 1000,
    exporter: {
      export: (spans, done) => {
        for (const span of spans) redactSpan(span, redactor);
        send(spans, done);
      },
      shutdown: async () => {},
    },
  });
  const resource = defaultResource().merge(
    resourceFromAttributes({ 'service.version': OPSCTL_VERSION, ...target.attributes }),
  );
  const provider = new TracerProvider({ resource, spanProcessors: [processor] });
  return { provider, close: () => close(() => provider.shutdown()) };
};
/** Turns the journal lines of steps into spans. A line without a start line belongs to a step of an earlier process. */
const stepSpans = (start: (name: string, atMs: number) => Span) => {
  const open = new Map<string, Span>();
  return {
    observe: ({ kind, step, at }: StepMark): void => {
      const atMs = Date.parse(at);
      if (kind === 'begin') {
        const span = start(`kv step ${step}`, atMs);
        span.setAttribute('opsctl.step', step);
        open.set(step, span);
        return;
      }
      if (kind !== 'end' && kind !== 'failed') return;
      const span = open.get(step);
      open.delete(step);
      if (kind === 'failed') span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end(atMs);
    },
    end: (atMs: number): void => {
      for (const span of open.values()) span.end(atMs);
    },
  };
};
/** The target, or undefined with a warning if a variable is invalid. */
const targetOf = ({ host, warn }: Surrounding): ExportTarget | undefined => {
  try {
    return exportTarget(host.env);
  } catch (error) {
    warn(unsentText(error));
    return undefined;
  }
};
const unsentText = (error: unknown): string => `traces were not sent: ${messageOf(error)}`;
/** The machine whose requests and steps become children of the span of the command. */
const observedHost = (host: Host, tracer: Tracer, root: Span): { host: Host; endSteps: () => void } => {
  const inside = trace.setSpan(ROOT_CONTEXT, root);
  const noteRequest = (exchange: Exchange): void => {
    const { startedMs, tookMs, method, error, status } = exchange;
    const attributes = requestAttributes(exchange);
    const span = tracer.startSpan(
      method,
      { startTime: startedMs, kind: SpanKind.CLIENT, attributes },
      inside,
    );
    if (error !== undefined || status >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(startedMs + tookMs);
  };
  const steps = stepSpans((name, startTime) => tracer.startSpan(name, { startTime }, inside));
  const observed = Object.create(tracedHost(host, noteRequest, { bodies: 'none' }), {
    observeStep: { value: steps.observe },
  }) as Host;
  return { host: observed, endSteps: () => steps.end(host.now()) };
};
/** Starts the span of the command. Invalid variables print a warning, and the command runs without traces. */
export const startTelemetry = (around: Surrounding, words: string): Telemetry | undefined => {
  const { host, redactor, warn } = around;
  const target = targetOf(around);
  if (target === undefined) return undefined;
  const { provider, close } = openProvider(host, redactor, target);
  const tracer = provider.getTracer('opsctl', OPSCTL_VERSION);
  const root = tracer.startSpan(
    `opsctl ${words}`,
    { startTime: host.now(), kind: SpanKind.INTERNAL, attributes: { 'opsctl.command': words } },
    parentContext(host.env['TRACEPARENT']),
  );
  const observed = observedHost(host, tracer, root);
  return {
    host: observed.host,
    end: async (outcome) => {
      const category = 'category' in outcome ? outcome.category : categoryOf(outcome.error);
      root.setAttribute('process.exit.code', exitCode(category));
      if ('error' in outcome) {
        root.setAttribute('error.type', codeOf(outcome.error));
        root.setStatus({ code: SpanStatusCode.ERROR });
      }
      observed.endSteps();
      root.end(host.now());
      const failure = await close();
      if (failure !== undefined) warn(unsentText(failure));
    },
  };
};
const categoryOf = (error: unknown): Category => (error instanceof AppError ? error.category : 'unknown');
const codeOf = (error: unknown): string =>
  error instanceof AppError
    ? (error.detail.code ?? error.category.toUpperCase().replaceAll('-', '_'))
    : 'UNKNOWN';
