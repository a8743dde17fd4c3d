import { type ExternalUrl, externalUrl } from '../../core/external-url.ts';
import { limits } from '../../core/limits.ts';
import { AppError } from '../../core/problem.ts';
import type { Address, Handler, Host, Incoming, Listener, Outgoing } from '../../platform/host.ts';
import { type SocketOwner, socketOwner, strangerAt } from '../../platform/trust.ts';
import type { Expected, Verdict } from '../callback.ts';
import {
  type LoopbackRequest,
  arrivalLine,
  decide,
  type Decision,
  ignoredPage,
  keptAt,
  type Page,
  type Post,
  relayPage,
  repeatedPage,
  workerFor,
} from './pages.ts';

const bounds: Omit<Address, 'host' | 'port'> = {
  maxUrlBytes: limits.callbackBytes + 1024,
  requestTimeoutMs: 5000,
  maxConnections: 64,
};
export type Bound = {
  readonly port: number;
  /** The literal that the redirect URI names. */
  readonly family: 'v4' | 'v6';
  readonly listeners: readonly Listener[];
  /** Why the other family is not there, when it is not. */
  readonly without?: string;
};
const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'UNKNOWN';
const attempt = (host: Host, handler: Handler, address: string, port: number): Promise<Listener | string> =>
  host.network.listen(handler, { host: address, port, ...bounds }).catch(codeOf);
const portError = (port: number, code: string): AppError =>
  new AppError(
    'config',
    `cannot listen on port ${port} of 127.0.0.1 or ::1 (${code === 'EADDRINUSE' ? 'another program has it' : code})`,
    {
      code: 'PORT_UNAVAILABLE',
      tryThis: [
        'opsctl login (without --port takes a free port)',
        `find the program: ss -ltnp 'sport = :${port}'`,
        'opsctl doctor auth',
      ],
    },
  );
type Attempt = { readonly v4: Listener | string; readonly v6: Listener | string };
const isOpen = (listener: Listener | string): listener is Listener => typeof listener !== 'string';
/** The result of two attempts to listen; undefined if another process uses the other family of the port. */
const usable = ({ v4, v6 }: Attempt, port: number): Bound | undefined => {
  if (isOpen(v4) && isOpen(v6)) return { port: v4.port, family: 'v4', listeners: [v4, v6] };
  // A free port of v4 is released if another program uses it on v6. A machine without v6 is fine.
  if (isOpen(v4) && (v6 !== 'EADDRINUSE' || port !== 0))
    return { port: v4.port, family: 'v4', listeners: [v4], without: `::1: ${v6}` };
  // With v4 taken by a stranger its program would get the redirect: only a machine without v4 uses v6 alone.
  if (isOpen(v6) && v4 === 'EADDRNOTAVAIL')
    return { port: v6.port, family: 'v6', listeners: [v6], without: `127.0.0.1: ${v4}` };
  return undefined;
};
/** Both loopback literals on the same port; a name like `localhost` would leave the family to chance. Never another interface. */
export const bindLoopback = async (host: Host, handler: Handler, port: number): Promise<Bound> => {
  let last = 'EADDRNOTAVAIL';
  for (let round = 0; round < (port === 0 ? 8 : 1); round++) {
    const v4 = await attempt(host, handler, '127.0.0.1', port);
    const v6 = await attempt(host, handler, '::1', isOpen(v4) ? v4.port : port);
    const bound = usable({ v4, v6 }, port);
    if (bound !== undefined) return bound;
    for (const listener of [v4, v6].filter(isOpen)) await listener.close();
    if (!isOpen(v4)) last = v4;
  }
  throw portError(port, last);
};

export type CallbackResult = Extract<Verdict, { kind: 'code' | 'refused' | 'failed' }>;
export type ListenOptions = {
  readonly expected: Expected;
  /** 0 is a random free port. */
  readonly port: number;
  /** '' for the form of spec/sign-in (`http://127.0.0.1:<port>`), else `/callback`. */
  readonly path: string;
  /** The name in the redirect URI when a server registered `localhost`. */
  readonly redirectHost?: 'localhost' | '[::1]';
  /** One line for each request that was not used. */
  onIgnored(line: string): void;
  /** A browser outside a container with the network of its host runs as another user. */
  readonly allowsOtherUsers?: () => boolean;
};
export type Redirect = {
  readonly redirectUri: string;
  readonly port: number;
  readonly without?: string;
  /** Resolves with the first response that has the correct state. Other requests never resolve it. */
  readonly settled: Promise<CallbackResult>;
  /** The target of the browser: a loopback URL that redirects to `target` until the response arrives. */
  launchFrom(target: ExternalUrl): ExternalUrl;
  /** Gives the waiting browser its last page. */
  answer(page: Page): void;
  close(): Promise<void>;
};
const maxLines = 20;
const graceMs = 2000;
/** The response with the worker must arrive before the listener closes. */
const deliveryMs = 300;
/** Reports unused requests, up to a maximum. */
const ignoredLines = (onIgnored: ListenOptions['onIgnored']) => {
  let lines = 0;
  return (arrival: LoopbackRequest, decision: Extract<Decision, { kind: 'ignored' }>): void => {
    if (decision.quiet === true || lines > maxLines) return;
    lines++;
    onIgnored(
      lines > maxLines
        ? 'more requests arrived that were not for this login; they are no longer listed'
        : arrivalLine(arrival, decision.why),
    );
  };
};
/**
 * Redirects each time it is opened, because a browser may open it in another container or profile. It does
 * not redirect before it has a target.
 */
const makeLaunch = () => {
  let target: string | undefined;
  return {
    leadTo: (to: string): void => {
      target = to;
    },
    reply: (): Outgoing | Page =>
      target === undefined
        ? ignoredPage(410, 'this sign-in was not opened with this address')
        : {
            status: 302,
            headers: {
              location: target,
              'cache-control': 'no-store',
              'referrer-policy': 'no-referrer',
              connection: 'close',
            },
          },
  };
};
const usedByStranger = (stranger: string, port: number): AppError =>
  new AppError(
    'auth',
    `another user of this machine, ${stranger}, used the sign-in address; the sign-in was stopped, and no token was requested`,
    {
      code: 'OTHER_USER',
      tryThis: [
        'opsctl login --method device (uses no address on this machine)',
        `opsctl login --start, then opsctl login --finish URL with the address that the browser goes to (if it is your own browser that runs as ${stranger})`,
        `find the program: ss -tnp 'dport = :${port}'`,
      ],
    },
  );
/** The request, with the body of a form. A body that is too large is ignored. */
const arrivalOf = async (request: Incoming): Promise<LoopbackRequest> => {
  const { method, url, headers } = request;
  const arrival = { method, url, host: headers.host };
  if (method !== 'POST' || !/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? ''))
    return arrival;
  const body = await request.read(limits.callbackBytes).catch(() => undefined);
  return body === undefined ? arrival : { ...arrival, form: Buffer.from(body).toString('utf8') };
};
type Watch = {
  readonly post: () => Post;
  readonly tell: ReturnType<typeof ignoredLines>;
  readonly launch: ReturnType<typeof makeLaunch>;
  /** The owner of the connection of a relevant request. */
  owner(request: Incoming): SocketOwner | { readonly stranger: string };
  readonly port: () => number;
};
/**
 * Accepts the first response that belongs to this login. Its browser waits until `answer` returns the last
 * page.
 */
class Receiver {
  readonly #watch: Watch;
  readonly #outcome = withResolvers<CallbackResult>();
  readonly #lastPage = withResolvers<Page>();
  readonly #kept = withResolvers<void>();
  #isSettled = false;
  #isBrowser = false;
  constructor(watch: Watch) {
    this.#watch = watch;
  }
  get settled(): Promise<CallbackResult> {
    return this.#outcome.promise;
  }
  answer(page: Page): void {
    this.#lastPage.resolve(page);
  }
  /** A browser loads what keeps its last page right after it; it gets a moment for that. */
  async lastPageIsKept(host: Host): Promise<void> {
    if (this.#isBrowser)
      await Promise.race([this.#kept.promise.then(() => host.sleep(deliveryMs)), host.sleep(graceMs)]);
  }
  async handle(request: Incoming): Promise<Outgoing> {
    const arrival = await arrivalOf(request);
    const decision = decide(arrival, this.#watch.post());
    if (decision.kind === 'ignored') {
      this.#watch.tell(arrival, decision);
      return ignoredPage(decision.status, decision.why);
    }
    if (decision.kind === 'done') return this.#answerAgain(decision.isWorker);
    if (this.#isSettled) return repeatedPage();
    if (decision.kind === 'relay') return relayPage();
    if (decision.kind === 'launch') return this.#refuseStranger(request) ?? this.#watch.launch.reply();
    return this.#refuseStranger(request) ?? this.#answerResponse(request, decision.verdict);
  }
  #settle(verdict: CallbackResult): void {
    this.#isSettled = true;
    this.#outcome.resolve(verdict);
  }
  /** Another user ends the login: that user may have read the address in the list of processes. */
  #refuseStranger(request: Incoming): Page | undefined {
    const from = this.#watch.owner(request);
    if (from === 'gone') return ignoredPage(400, 'the program that sent it did not wait for the response');
    if (typeof from !== 'object' || !('stranger' in from)) return undefined;
    this.#settle({ kind: 'failed', error: usedByStranger(from.stranger, this.#watch.port()) });
    return ignoredPage(403, 'it comes from another user of this machine');
  }
  async #answerResponse(request: Incoming, verdict: CallbackResult): Promise<Outgoing> {
    // Browsers identify themselves by headers. A program that delivers the response needs no permanent page.
    this.#isBrowser = request.headers['sec-fetch-mode'] === 'navigate';
    this.#settle(verdict);
    return keptAt(await this.#lastPage.promise, this.#watch.post().donePath);
  }
  async #answerAgain(isWorker: boolean): Promise<Page> {
    if (!this.#isSettled) return ignoredPage(404, 'this is not the path of the redirect');
    const page = await this.#lastPage.promise;
    if (!isWorker) return page;
    this.#kept.resolve();
    return workerFor(page, this.#watch.post().donePath);
  }
}
type BoundListener = Awaited<ReturnType<typeof bindLoopback>>;
const closeAll = async ({ listeners }: BoundListener): Promise<void> => {
  await Promise.all(listeners.map((listener) => listener.close()));
};
/** Listens where the redirect will go; a redirect to [::1] needs that family. */
const bindFor = async (
  host: Host,
  handle: (request: Incoming) => Promise<Outgoing>,
  { port, redirectHost }: ListenOptions,
): Promise<BoundListener> => {
  const bound = await bindLoopback(host, handle, port);
  if (redirectHost !== '[::1]' || bound.without === undefined) return bound;
  await closeAll(bound);
  throw new AppError('config', `the redirect cannot go to [::1]: ${bound.without}`, {
    code: 'PORT_UNAVAILABLE',
    tryThis: ['opsctl login without --redirect-host', 'opsctl doctor auth'],
  });
};
const ownerOf = (
  host: Host,
  request: Incoming,
  port: number,
  { allowsOtherUsers }: ListenOptions,
): ReturnType<Watch['owner']> => {
  const stranger = strangerAt(host, request, port);
  return stranger === undefined || allowsOtherUsers?.() === true
    ? socketOwner(host, request, port)
    : { stranger };
};
const secretPath = (host: Host, under: string): string =>
  `/${under}/${Buffer.from(host.random(16)).toString('base64url')}`;
const authoritiesOf = (name: string, port: number): string[] =>
  ['127.0.0.1', '[::1]', ...(name === 'localhost' ? ['localhost'] : [])].map((each) => `${each}:${port}`);
/**
 * Waits for the redirect. The response to the browser is held until the outcome of the exchange is known, so
 * that the page shows the actual result.
 */
export const listenForRedirect = async (host: Host, options: ListenOptions): Promise<Redirect> => {
  const [launchPath, donePath] = [secretPath(host, 'go'), secretPath(host, 'done')];
  const { expected, path } = options;
  let post: Post = { path: path || '/', authorities: [], launchPath, donePath, expected };
  const launch = makeLaunch();
  let port = 0;
  const receiver = new Receiver({
    post: () => post,
    tell: ignoredLines(options.onIgnored),
    launch,
    owner: (request) => ownerOf(host, request, port, options),
    port: () => port,
  });

  const bound = await bindFor(host, (request) => receiver.handle(request), options);
  const literal = bound.family === 'v4' ? '127.0.0.1' : '[::1]';
  const name = options.redirectHost ?? literal;
  port = bound.port;
  post = { ...post, authorities: authoritiesOf(name, port) };
  return {
    redirectUri: `http://${name}:${bound.port}${options.path}`,
    port: bound.port,
    ...(bound.without === undefined ? {} : { without: bound.without }),
    settled: receiver.settled,
    launchFrom: (to) => {
      launch.leadTo(to);
      return externalUrl(`http://${literal}:${bound.port}${launchPath}`) as ExternalUrl;
    },
    answer: (page) => receiver.answer(page),
    close: async () => {
      receiver.answer(repeatedPage());
      await receiver.lastPageIsKept(host);
      await closeAll(bound);
    },
  };
};
/** Promise.withResolvers is missing on Node 20. */
const withResolvers = <T>(): { readonly promise: Promise<T>; resolve(value: T): void } => {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};
