import { type ExternalUrl, externalUrl } from '../../core/external-url.ts';
import type { Host, Incoming, Outgoing } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { Expected, Verdict } from '../callback.ts';
import { bindLoopback } from './bind.ts';
import { type Arrival, arrivalLine, decide, type Decision, type Post } from './decide.ts';
import { ignoredPage, keptAt, type Page, relayPage, repeatedPage, workerFor } from './pages.ts';

export type Settled = Extract<Verdict, { kind: 'code' | 'refused' }>;
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
};
export type Redirect = {
  readonly redirectUri: string;
  readonly port: number;
  readonly without?: string;
  /** Settles with the first answer that carries the right state; strangers never settle it. */
  readonly settled: Promise<Settled>;
  /** Where the browser is sent: a loopback address that leads to `target` once. */
  launchFrom(target: ExternalUrl): ExternalUrl;
  /** Gives the waiting browser its last page. */
  answer(page: Page): void;
  close(): Promise<void>;
};

const maxLines = 20;
const graceMs = 2000;
/** The answer with the worker has to get there before the listener goes. */
const deliveryMs = 300;

/** Tells of requests that were not used, until they are too many. */
const ignoredLines = (onIgnored: ListenOptions['onIgnored']) => {
  let lines = 0;
  return (arrival: Arrival, decision: Extract<Decision, { kind: 'ignored' }>): void => {
    if (decision.quiet === true || lines > maxLines) return;
    lines++;
    onIgnored(
      lines > maxLines
        ? 'more requests arrived that were not for this login; they are no longer listed'
        : arrivalLine(arrival, decision.why),
    );
  };
};

/** An address that leads on once, and nowhere before it is told where. */
const launchOnce = () => {
  let target: string | undefined;
  return {
    leadTo: (to: string): void => {
      target = to;
    },
    reply: (): Outgoing | Page => {
      const to = target;
      target = undefined;
      if (to === undefined) return ignoredPage(410, 'this address opens the sign-in page once');
      return {
        status: 302,
        headers: {
          location: to,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          connection: 'close',
        },
      };
    },
  };
};

/** Takes the first answer that belongs to this login; its browser waits until `answer` gives the last page. */
const receiver = (
  post: () => Post,
  tell: ReturnType<typeof ignoredLines>,
  launch: ReturnType<typeof launchOnce>,
) => {
  let isSettled = false;
  const outcome = withResolvers<Settled>();
  const lastPage = withResolvers<Page>();
  const kept = withResolvers<void>();
  let isBrowser = false;
  const again = async (isWorker: boolean): Promise<Page> => {
    if (!isSettled) return ignoredPage(404, 'this is not the path of the redirect');
    const page = await lastPage.promise;
    if (!isWorker) return page;
    kept.resolve();
    return workerFor(page, post().donePath);
  };
  const handle = async (request: Incoming): Promise<Outgoing> => {
    const arrival = { method: request.method, url: request.url, host: request.headers.host };
    const decision = decide(arrival, post());
    if (decision.kind === 'ignored') {
      tell(arrival, decision);
      return ignoredPage(decision.status, decision.why);
    }
    if (decision.kind === 'relay') return isSettled ? repeatedPage() : relayPage();
    if (decision.kind === 'launch') return launch.reply();
    if (decision.kind === 'done') return again(decision.isWorker);
    if (isSettled) return repeatedPage();
    isSettled = true;
    // Browsers say how they came; a program that delivers the answer needs no page that lasts.
    isBrowser = request.headers['sec-fetch-mode'] === 'navigate';
    outcome.resolve(decision.verdict);
    return keptAt(await lastPage.promise, post().donePath);
  };
  /** A browser loads what keeps its last page right after it; it gets a moment for that. */
  const lastPageIsKept = async (host: Host): Promise<void> => {
    if (isBrowser) await Promise.race([kept.promise.then(() => host.sleep(deliveryMs)), host.sleep(graceMs)]);
  };
  return { handle, settled: outcome.promise, answer: (page: Page) => lastPage.resolve(page), lastPageIsKept };
};

type Bound = Awaited<ReturnType<typeof bindLoopback>>;

const closeAll = async ({ listeners }: Bound): Promise<void> => {
  await Promise.all(listeners.map((listener) => listener.close()));
};

/** Listens where the redirect will go; a redirect to [::1] needs that family. */
const bindFor = async (
  host: Host,
  handle: (request: Incoming) => Promise<Outgoing>,
  { port, redirectHost }: ListenOptions,
): Promise<Bound> => {
  const bound = await bindLoopback(host, handle, port);
  if (redirectHost !== '[::1]' || bound.without === undefined) return bound;
  await closeAll(bound);
  throw new AppError('config', `the redirect cannot go to [::1]: ${bound.without}`, {
    code: 'PORT_UNAVAILABLE',
    tryThis: ['opsctl login without --redirect-host', 'opsctl doctor auth'],
  });
};

/** Waits for the redirect. The browser's answer is held until the outcome of the exchange is known, so that the page never lies. */
export const listenForRedirect = async (host: Host, options: ListenOptions): Promise<Redirect> => {
  const secretPath = (under: string): string =>
    `/${under}/${Buffer.from(host.random(16)).toString('base64url')}`;
  const [launchPath, donePath] = [secretPath('go'), secretPath('done')];
  const path = options.path === '' ? '/' : options.path;
  let post: Post = { path, authorities: [], launchPath, donePath, expected: options.expected };
  const launch = launchOnce();
  const { handle, settled, answer, lastPageIsKept } = receiver(
    () => post,
    ignoredLines(options.onIgnored),
    launch,
  );

  const bound = await bindFor(host, handle, options);
  const literal = bound.family === 'v4' ? '127.0.0.1' : '[::1]';
  const name = options.redirectHost ?? literal;
  const authorities = ['127.0.0.1', '[::1]', ...(name === 'localhost' ? ['localhost'] : [])].map(
    (each) => `${each}:${bound.port}`,
  );
  post = { ...post, authorities };
  return {
    redirectUri: `http://${name}:${bound.port}${options.path}`,
    port: bound.port,
    ...(bound.without === undefined ? {} : { without: bound.without }),
    settled,
    launchFrom: (to) => {
      launch.leadTo(to);
      return externalUrl(`http://${literal}:${bound.port}${launchPath}`) as ExternalUrl;
    },
    answer,
    close: async () => {
      answer(repeatedPage());
      await lastPageIsKept(host);
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
