import { checkCallback, type Expected, type Verdict } from '../callback.ts';
import { safeText } from '../terminal-text.ts';
import { limits } from '../../core/limits.ts';

/** One request as it reached the listener; nothing in it is trusted. */
export type Arrival = { readonly method: string; readonly url: string; readonly host: string | undefined };
export type Post = {
  /** Exactly the path of the redirect URI; `/` when it has none. */
  readonly path: string;
  /** Values of the Host header that are ours: `127.0.0.1:4711`. Anything else is a rebound name. */
  readonly authorities: readonly string[];
  /** `/go/…`: opens the authorization page once, so that no secret stands in the browser's command line. */
  readonly launchPath: string;
  /** Where the last page can be loaded again, without code and state in its address. */
  readonly donePath: string;
  readonly expected: Expected;
};
export type Decision =
  | { readonly kind: 'settled'; readonly verdict: Extract<Verdict, { kind: 'code' | 'refused' }> }
  | { readonly kind: 'relay' }
  | { readonly kind: 'launch' }
  /** The last page again, or the worker that keeps it when the listener is gone. */
  | { readonly kind: 'done'; readonly isWorker: boolean }
  /** `quiet` ones are not worth a line in the terminal. */
  | { readonly kind: 'ignored'; readonly status: number; readonly why: string; readonly quiet?: true };

export const workerPath = (donePath: string): string => `${donePath}/worker.js`;

const ignored = (status: number, why: string): Decision => ({ kind: 'ignored', status, why });

/** Paths that browsers ask for by themselves. */
const byBrowser = new Set([
  '/favicon.ico',
  '/apple-touch-icon.png',
  '/apple-touch-icon-precomposed.png',
  '/robots.txt',
]);

/** The order is from the cheapest and most foreign to the callback; only the last step can end a login. */
export const decide = (arrival: Arrival, post: Post): Decision => {
  if (Buffer.byteLength(arrival.url) > limits.callbackBytes)
    return ignored(414, `the address is longer than ${limits.callbackBytes} bytes`);
  if (arrival.host === undefined || !post.authorities.includes(arrival.host.toLowerCase()))
    return ignored(
      421,
      `the Host header is ${arrival.host === undefined ? 'missing' : `"${safeText(arrival.host, 60)}"`}, not ours`,
    );
  if (arrival.method !== 'GET') return ignored(405, 'only GET is answered');
  if (!arrival.url.startsWith('/')) return ignored(400, 'the request names a whole address');
  const [path = '', query = ''] = splitOnce(arrival.url, '?');
  if (byBrowser.has(path))
    return { kind: 'ignored', status: 404, why: 'browsers ask for it by themselves', quiet: true };
  if (path === post.launchPath) return { kind: 'launch' };
  if (path === post.donePath) return { kind: 'done', isWorker: false };
  if (path === workerPath(post.donePath)) return { kind: 'done', isWorker: true };
  if (path !== post.path) return ignored(404, 'this is not the path of the redirect');
  const verdict = checkCallback(new URLSearchParams(query), post.expected);
  if (verdict.kind === 'relay') return verdict;
  return verdict.kind === 'ignored' ? ignored(400, verdict.why) : { kind: 'settled', verdict };
};

const splitOnce = (text: string, mark: string): [string, string] => {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};

/** What the terminal says about a request: method and path only, because the query may hold a code. */
export const arrivalLine = (arrival: Arrival, why: string): string =>
  `${safeText(arrival.method, 10)} ${safeText(arrival.url.split(/[?#]/)[0] ?? '', 60)}: ignored, ${why}`;
