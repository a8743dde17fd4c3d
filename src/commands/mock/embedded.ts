import { parseUrl } from '../../core/external-url.ts';
import { join } from 'node:path';
import type { Context, Logger } from '../../api/context.ts';
import { type Settings, shortPath } from '../../config/settings.ts';
import { AppError, type Problem, problemText } from '../../core/problem.ts';
import { unreachable } from '../../api/send.ts';
import { CONTROL_PATH } from '../../mock-server/control.ts';
import { defaultOptions } from '../../mock-server/service-set.ts';
import { type Live, liveServer, claimDirectory } from '../../mock-server/instance-lock.ts';
import { type Host, NetworkError } from '../../platform/host.ts';
import type { Ready } from './start.ts';

/** Long enough for a queue of commands, short enough for a user to learn the cause. */
const WAIT_MS = 60_000;
const MOVED_MS = 1000;
export const mockDirectory = (settings: Settings): string => join(settings.directories.state, 'mock');
export type Embedded = {
  readonly url: string;
  /** A server of another process: this one only visits. */
  readonly isLive: boolean;
  readonly ready: Ready;
  close(): Promise<void>;
};
/** The mock server of this state directory: a running one, or one in this process until `close`. */
export const embeddedMock = async (
  host: Host,
  settings: Settings,
  log: Logger,
  signal?: AbortSignal,
): Promise<Embedded> => {
  const directory = mockDirectory(settings);
  const owner = await claimDirectory(host, directory, {
    what: 'a command',
    waitMs: WAIT_MS,
    signal,
    onWait: (who) => log.info(`waiting for ${who}, which is using the embedded mock server`),
  });
  if (owner.kind === 'live') {
    const { url, pid } = owner.live;
    const { readyIn } = await import('./start.ts');
    log.info(`using the mock server at ${url} (process ${pid})`, true);
    return { url, isLive: true, ready: readyIn(owner.live), close: async () => {} };
  }
  return ownServer(host, directory, log, owner.release).catch(async (error: unknown) => {
    await owner.release();
    throw error;
  });
};
/** A server in this process, over the state of the directory that it owns. */
const ownServer = async (
  host: Host,
  directory: string,
  log: Logger,
  release: () => Promise<void>,
): Promise<Embedded> => {
  const { start } = await import('./start.ts');
  const started = await start(host, {
    directory,
    options: defaultOptions,
    seed: 'demo',
    port: 0,
    tls: false,
    isPrivate: true,
    warn: log.warn,
  });
  const { env } = started.mock;
  const isMoved = Math.abs(env.now() - host.now()) > MOVED_MS;
  log.info(
    `using the embedded mock server (${isMoved ? `clock: ${new Date(env.now()).toISOString()}, ` : ''}state: ${shortPath(host, directory)})`,
    true,
  );
  const close = async () => {
    await started.close();
    await release();
  };
  return { url: started.mock.origin, isLive: false, ready: started.ready, close };
};

const originOf = (url: string): string => parseUrl(url)?.origin ?? url;
/**
 * True if this URL is the mock server that runs on the state directory without a rate limit. Reads a file and
 * sends no request.
 */
export const isOwnUnlimitedMock = (host: Host, settings: Settings, baseUrl: string): boolean => {
  const live = liveServer(host, mockDirectory(settings));
  return (
    live !== undefined &&
    originOf(live.url) === originOf(baseUrl) &&
    (live.ready as Partial<Ready> | undefined)?.tracker?.rate_limit === 'off'
  );
};

/**
 * Sends one request to the control interface. Resolves with the JSON of the response, or undefined if the
 * body is empty.
 */
export type ControlRequest = <Reply = unknown>(
  method: string,
  path: string,
  body?: unknown,
) => Promise<Reply>;
const makeRefusalError = (status: number, text: string): AppError => {
  let answer: { message?: string; problems?: readonly Problem[] } = {};
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    answer = { message: text };
  }
  const { message = `status ${status}`, problems = [] } = answer;
  const category = status === 404 ? 'not-found' : status >= 500 ? 'network' : 'usage';
  return new AppError(category, [message, ...problems.map(problemText)].join(': '), {
    httpStatus: status,
    problems,
  });
};
/** The server that `OPSCTL_MOCK_URL` names, without a slash at the end; undefined if the variable is not set. */
export const configuredServer = ({ env }: Pick<Host, 'env'>): string | undefined => {
  const given = env.OPSCTL_MOCK_URL?.trim();
  if (given === undefined || given === '') return undefined;
  if (parseUrl(given) !== undefined && /^https?:\/\//i.test(given)) return given.replace(/\/+$/, '');
  throw new AppError('config', `invalid OPSCTL_MOCK_URL ${JSON.stringify(given)}: must be an http URL`, {
    code: 'MOCK_URL',
    tryThis: ['OPSCTL_MOCK_URL=http://127.0.0.1:PORT', 'opsctl mock serve'],
  });
};
/** `OPSCTL_MOCK_URL` is what `mock run` gives its child, so that the child steers that server and not the directory's. */
const reachable = async (context: Context): Promise<Pick<Embedded, 'url' | 'close'>> => {
  const given = configuredServer(context.host);
  if (given !== undefined) return { url: given, close: async () => {} };
  return embeddedMock(context.host, context.settings, context.log, context.signal);
};
/** What to do if the server that OPSCTL_MOCK_URL or --url names has stopped. */
const stoppedHints = [
  'opsctl mock start',
  'set the variables of the new server: eval "$(opsctl mock env)"',
  'unset OPSCTL_MOCK_URL if the server will not run again',
];
/** The running server, or the kept state in this process for as long as `work` takes. */
export const withMockServer = async <R>(
  context: Context,
  work: (ask: ControlRequest, url: string) => Promise<R>,
): Promise<R> => {
  const mock = await reachable(context);
  const ask = async <Reply>(method: string, path: string, body?: unknown): Promise<Reply> => {
    const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    const url = `${mock.url}${CONTROL_PATH}${path}`;
    const request = { method, url, headers, ...(text === undefined ? {} : { body: text }) };
    const reply = await context.host.network.request(request).catch((error: unknown) => {
      throw error instanceof NetworkError ? unreachable(error, url, stoppedHints) : error;
    });
    const answer = await reply.text();
    if (reply.status >= 400) throw makeRefusalError(reply.status, answer);
    return (answer === '' ? undefined : JSON.parse(answer)) as Reply;
  };
  try {
    return await work(ask, mock.url);
  } finally {
    await mock.close();
  }
};
/** True if another process serves. Commands that need a running server report this. */
export const isServed = (context: Context): boolean =>
  configuredServer(context.host) !== undefined ||
  liveServer(context.host, mockDirectory(context.settings)) !== undefined;
const noServer = (): AppError =>
  new AppError('config', 'no mock server is running', {
    code: 'NO_MOCK_SERVER',
    tryThis: [
      'opsctl mock start',
      'set OPSCTL_MOCK_URL=URL to use a server on another machine, or a server of `mock serve --ephemeral`',
    ],
  });
/** For commands that query the received requests of a server. Without a server, there is no data. */
export const requireServer = (context: Context): void => {
  if (!isServed(context)) throw noServer();
};
/** The server of the state directory, with its ready line. */
export const runningServer = ({ host, settings }: Context): Live => {
  const live = liveServer(host, mockDirectory(settings));
  if (live === undefined) throw noServer();
  return live;
};
