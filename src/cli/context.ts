import { requestFrom, joinUrl, type WireRequest } from '../client/request.ts';
import { answerFrom } from '../client/reply.ts';
import { send } from '../client/send.ts';
import type { Context, ServiceName, Say, Target } from '../commands/command.ts';
import type { Settings } from '../config/settings.ts';
import type { Host } from '../host/host.ts';
import { usageError } from '../kernel/problem.ts';

/** Thrown instead of sending when --dry-run is given; the runner renders the request. */
export class DryRunStop extends Error {
  readonly request: WireRequest;
  constructor(request: WireRequest) {
    super('dry run');
    this.name = 'DryRunStop';
    this.request = request;
  }
}

export type ContextOptions = {
  readonly host: Host;
  readonly settings: Settings;
  readonly say: Say;
  readonly format: string;
  readonly isFormatGiven?: boolean;
  readonly isInteractive: boolean;
  readonly isConfirmed: boolean;
  readonly isDryRun: boolean;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
  /** Finds the service, starting the embedded one when nothing is configured. */
  readonly reach: (service: ServiceName) => Promise<Target>;
};

const basePaths: Readonly<Record<ServiceName, string>> = { tracker: '/api/v3', labels: '/v2beta', auth: '', api: '' };

const confirm = async (options: ContextOptions, question: string): Promise<void> => {
  if (options.isConfirmed) return;
  if (!options.isInteractive) throw usageError(`${question} Nobody can be asked here.`, [], ['add --yes to go on without a question']);
  if (!(await options.host.terminal.prompts.confirm(question, false))) throw usageError('not confirmed; nothing was changed');
};

/** What a command gets: the services behind one call, messages, questions and the world. */
export const makeContext = (options: ContextOptions): Context => {
  const { host, say, signal, timeoutMs } = options;
  const targets = new Map<ServiceName, Promise<Target>>();
  const target = (service: ServiceName): Promise<Target> => {
    const found = targets.get(service) ?? options.reach(service);
    targets.set(service, found);
    return found;
  };
  const onRetry = (delayMs: number, why: string) => say.info(`${why}; trying again in ${(delayMs / 1000).toFixed(1)} s`);
  return {
    host,
    settings: options.settings,
    say,
    format: options.format,
    isFormatGiven: options.isFormatGiven,
    isInteractive: options.isInteractive,
    isConfirmed: options.isConfirmed,
    isDryRun: options.isDryRun,
    signal,
    target,
    confirm: (question) => confirm(options, question),
    call: async (service, operation, input, more) => {
      // The check comes first: a wrong value must not start a server or wait for one.
      requestFrom(service, operation, input, { baseUrl: 'http://127.0.0.1', headers: {} });
      const request = requestFrom(service, operation, input, await target(service.name as ServiceName));
      if (options.isDryRun && !more?.evenInDryRun) throw new DryRunStop(request);
      say.debug(`${request.method} ${request.url}`);
      const reply = await send(host, { ...request, timeoutMs, ...(more?.transport ? { transport: more.transport } : {}) }, { signal, onRetry });
      say.debug(`${reply.status} ${request.method} ${request.url}`);
      return answerFrom(operation, { status: reply.status, headers: reply.headers, text: await reply.text() });
    },
    send: async (service, { method, path, headers, body }) => {
      const to = await target(service);
      const prefix = path.startsWith(basePaths[service]) ? '' : basePaths[service];
      const url = joinUrl(to.baseUrl, prefix, path);
      const request = { method, url, headers: { ...to.headers, ...headers }, ...(body === undefined ? {} : { body }) };
      if (options.isDryRun) throw new DryRunStop({ ...request, body: typeof body === 'string' ? body : undefined });
      return send(host, { ...request, timeoutMs }, { signal, onRetry });
    },
  };
};
