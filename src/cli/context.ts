import { type WireRequest, checkInput, joinUrl, requestMaker } from '../api-client/request.ts';
import { type WireReply, answerFrom } from '../api-client/response.ts';
import { expectShape } from '../api-client/response-shape.ts';
import { neutral, prefixOf, inputInDialect, operationInDialect } from '../api-client/dialect.ts';
import type { Context, ServiceName, Target } from './command.ts';
import type { Explain } from './manifest.ts';
import { NetworkError } from '../platform/host.ts';
import type { Operation } from '../core/operation.ts';
import { usageError } from '../core/problem.ts';
import { type Pace, makeRateLimited } from './rate-limited.ts';

/** Thrown instead of sending when --dry-run is given; the runner renders the request. */
export class DryRunStop extends Error {
  readonly request: WireRequest;
  constructor(request: WireRequest) {
    super('dry run');
    this.name = 'DryRunStop';
    this.request = request;
  }
}

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
  | 'isConfirmed'
  | 'isDryRun'
  | 'isQuiet'
  | 'color'
  | 'signal'
> &
  Pace & {
    /** Finds the service, starting the embedded one when nothing is configured. */
    readonly reach: (service: ServiceName) => Promise<Target>;
    /** What a service adds to its error answers: what a person can do about them. */
    readonly explainer?: (service: string) => Promise<Explain> | undefined;
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
  if (options.isConfirmed) return;
  if (!options.isInteractive)
    throw usageError(`${question} Nobody can be asked here.`, [], ['add --yes to go on without a question']);
  if (!(await options.host.terminal.prompts.confirm(question, false)))
    throw usageError('not confirmed; nothing was changed');
};

type Wire = {
  readonly options: ContextOptions;
  readonly target: Context['target'];
  readonly senderTo: ReturnType<typeof makeRateLimited>;
};

/** The value of a success in the shape of the row, or the error that the answer means. */
const shapedValue = (operation: Operation, reply: WireReply, url: string): unknown => {
  const value = answerFrom(operation, reply, url);
  expectShape(operation, value, url);
  return value;
};

/** One operation of a table: worded as the service words it, sent, and read as the table says. */
const callerOn =
  ({ options, target, senderTo }: Wire): Context['caller'] =>
  async (service, operation, more = {}) => {
    const { log, signal, isDryRun } = options;
    const found = await target(service.name as ServiceName);
    const to =
      more.bearer === undefined
        ? found
        : { ...found, headers: { ...found.headers, authorization: `Bearer ${more.bearer}` } };
    const { wording = {} } = to;
    const { transport } = more;
    const send = senderTo(to);
    const requestOf = requestMaker(
      { ...service, basePath: prefixFor(service.basePath, to) },
      operationInDialect(operation, wording),
      to,
    );
    const ask = async (request: WireRequest): Promise<WireReply> => {
      log.debug(`${request.method} ${request.url}`);
      const reply = await send(transport === undefined ? request : { ...request, transport });
      log.debug(`${reply.status} ${request.method} ${request.url}`);
      return { status: reply.status, headers: reply.headers, text: await reply.text() };
    };
    const askTwice = (request: WireRequest): Promise<WireReply> =>
      // An answer that breaks off has come too late for the retries of the sending.
      ask(request).catch((error: unknown) => {
        if (!(error instanceof NetworkError) || error.code !== 'RESET' || signal.aborted) throw error;
        log.info(`${error.message}; trying again`);
        return ask(request);
      });
    return async (input) => {
      const request = requestOf(inputInDialect(input, wording));
      if (isDryRun && !more.evenInDryRun) throw new DryRunStop(request);
      const reply = await (operation.method === 'GET' ? askTwice(request) : ask(request));
      try {
        return neutral(shapedValue(operation, reply, request.url), wording);
      } catch (error) {
        const explain = await options.explainer?.(service.name);
        throw explain === undefined ? error : explain(error, to, operation);
      }
    };
  };

/** Any request to a service: only the address and the token are added. */
const senderOn =
  ({ options, target, senderTo }: Wire): Context['send'] =>
  async (service, { method, path, headers, body }) => {
    const to = await target(service);
    const base = prefixFor(basePaths[service], to);
    const prefix = path.startsWith(`${base}/`) ? '' : base;
    const url = joinUrl(to.baseUrl, prefix, path);
    const request = {
      method,
      url,
      headers: { ...to.headers, ...headers },
      ...(body === undefined ? {} : { body }),
    };
    if (options.isDryRun)
      throw new DryRunStop({ ...request, body: typeof body === 'string' ? body : undefined });
    return senderTo(to)(request);
  };

/** What a command gets: the services behind one call, messages, questions and the world. */
export const makeContext = (options: ContextOptions): Context => {
  const targets = new Map<ServiceName, Promise<Target>>();
  const target = (service: ServiceName): Promise<Target> => {
    const found = targets.get(service) ?? options.reach(service);
    targets.set(service, found);
    return found;
  };
  const wire = { options, target, senderTo: makeRateLimited(options) };
  const caller = callerOn(wire);
  return {
    host: options.host,
    settings: options.settings,
    log: options.log,
    format: options.format,
    isFormatGiven: options.isFormatGiven,
    ...(options.columns === undefined ? {} : { columns: options.columns }),
    isInteractive: options.isInteractive,
    isConfirmed: options.isConfirmed,
    isDryRun: options.isDryRun,
    isQuiet: options.isQuiet ?? false,
    color: options.color,
    signal: options.signal,
    target,
    confirm: (question) => confirm(options, question),
    caller,
    call: async (service, operation, input, more) => {
      // The check comes first: a wrong value must not start a server or wait for one.
      checkInput(operation, input);
      return (await caller(service, operation, more))(input);
    },
    send: senderOn(wire),
  };
};
