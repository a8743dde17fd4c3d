import { join } from 'node:path';
import { type Bucket, makeBucket } from '../client/rate.ts';
import { checkInput, joinUrl, uncheckedRequest, type WireRequest } from '../client/request.ts';
import { answerFrom } from '../client/reply.ts';
import { neutral, prefixOf, worded } from '../client/wording.ts';
import { send } from '../client/send.ts';
import type { Context, ServiceName, Target } from '../commands/command.ts';
import type { HttpRequest } from '../host/host.ts';
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

/** What the runner knows already, and how requests are to be sent. */
export type ContextOptions = Pick<
  Context,
  'host' | 'settings' | 'say' | 'format' | 'isFormatGiven' | 'isInteractive' | 'isConfirmed' | 'isDryRun' | 'isQuiet' | 'signal'
> & {
  readonly timeoutMs: number | undefined;
  /** Requests a minute that all processes of this profile may send together; undefined is no limit. */
  readonly ratePerMinute: number | undefined;
  /** Nobody set that limit, so the service may say that it has none. */
  readonly isRateDefault: boolean;
  /** Finds the service, starting the embedded one when nothing is configured. */
  readonly reach: (service: ServiceName) => Promise<Target>;
};

const basePaths: Readonly<Record<ServiceName, string>> = { tracker: '/api/v3', labels: '/v2beta', auth: '', api: '' };

const prefixFor = (usual: string, { wording }: Target): string => (wording?.basePath === undefined ? usual : prefixOf(wording.basePath));

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
  const buckets = new Map<string, Bucket>();
  const bucketOf = ({ rateKey }: Target): Bucket | undefined => {
    const limit = options.ratePerMinute;
    if (rateKey === undefined || limit === undefined) return undefined;
    const found = buckets.get(rateKey) ?? makeBucket(host, join(options.settings.folders.state, 'rate'), rateKey, limit, signal);
    buckets.set(rateKey, found);
    return found;
  };
  /** Waits for a place in the shared rate window, sends, and tells all other processes when the service says no. */
  const sendTo = async (to: Target, request: HttpRequest) => {
    const bucket = bucketOf(to);
    const onWait = (ms: number) => say.info(`waiting ${(ms / 1000).toFixed(0)} s for the rate limit (${options.ratePerMinute} requests a minute)`);
    const onRefused = (delayMs: number, why: string) => {
      if (why === 'answer 429') bucket?.block(host.now() + delayMs);
      onRetry(delayMs, why);
    };
    const admit = bucket && (() => bucket.admit(onWait));
    const timed = { ...request, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const reply = await send(host, timed, { signal, onRetry: onRefused, ...(admit ? { admit } : {}) });
    // Ours is a default for services that do not say; one that a user set is kept.
    if (options.isRateDefault && reply.headers['x-ratelimit-limit'] === 'off') bucket?.open();
    return reply;
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
    isQuiet: options.isQuiet ?? false,
    signal,
    target,
    confirm: (question) => confirm(options, question),
    call: async (service, operation, input, more) => {
      // The check comes first: a wrong value must not start a server or wait for one.
      if (!more?.isChecked) checkInput(operation, input);
      const found = await target(service.name as ServiceName);
      const to = more?.bearer === undefined ? found : { ...found, headers: { ...found.headers, authorization: `Bearer ${more.bearer}` } };
      const wording = to.wording ?? {};
      const said = worded(operation, input, wording);
      const request = uncheckedRequest({ ...service, basePath: prefixFor(service.basePath, to) }, said.operation, said.input, to);
      if (options.isDryRun && !more?.evenInDryRun) throw new DryRunStop(request);
      say.debug(`${request.method} ${request.url}`);
      const reply = await sendTo(to, { ...request, ...(more?.transport ? { transport: more.transport } : {}) });
      say.debug(`${reply.status} ${request.method} ${request.url}`);
      return neutral(answerFrom(operation, { status: reply.status, headers: reply.headers, text: await reply.text() }), wording);
    },
    send: async (service, { method, path, headers, body }) => {
      const to = await target(service);
      const base = prefixFor(basePaths[service], to);
      const prefix = path.startsWith(`${base}/`) ? '' : base;
      const url = joinUrl(to.baseUrl, prefix, path);
      const request = { method, url, headers: { ...to.headers, ...headers }, ...(body === undefined ? {} : { body }) };
      if (options.isDryRun) throw new DryRunStop({ ...request, body: typeof body === 'string' ? body : undefined });
      return sendTo(to, request);
    },
  };
};
