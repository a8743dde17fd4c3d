import { escapeHtml } from '../../core/text.ts';
import { hash } from 'node:crypto';
import { limits } from '../../core/limits.ts';
import { checkCallback, type Expected, relayMark, type Verdict } from '../callback.ts';
import { lastPart, safeText, type ScopeRow } from '../auth-context.ts';

/** One request as it reached the listener. None of its values is trusted. */
export type LoopbackRequest = {
  readonly method: string;
  readonly url: string;
  readonly host: string | undefined;
  /** The body of a form: `response_mode=form_post` of OpenID Connect sends the response in it. */
  readonly form?: string;
};
export type Post = {
  /** Exactly the path of the redirect URI; `/` if it has no path. */
  readonly path: string;
  /** Values of the Host header that are ours: `127.0.0.1:4711`. Anything else is a rebound name. */
  readonly authorities: readonly string[];
  /** `/go/…`: leads to the authorization page, so that the state is not in the command line of the browser. */
  readonly launchPath: string;
  /** The URL at which the last page can be reloaded, without code and state. */
  readonly donePath: string;
  readonly expected: Expected;
};
export type Decision =
  | { readonly kind: 'settled'; readonly verdict: Extract<Verdict, { kind: 'code' | 'refused' | 'failed' }> }
  | { readonly kind: 'relay' }
  | { readonly kind: 'launch' }
  /** The last page again, or the worker that keeps it when the listener is gone. */
  | { readonly kind: 'done'; readonly isWorker: boolean }
  /** `quiet` ones are not worth a line in the terminal. */
  | { readonly kind: 'ignored'; readonly status: number; readonly why: string; readonly quiet?: true };
const workerPath = (donePath: string): string => `${donePath}/worker.js`;
const ignoreRequest = (status: number, why: string): Decision => ({ kind: 'ignored', status, why });
/** Paths that browsers request automatically. */
const byBrowser = new Set([
  '/favicon.ico',
  '/apple-touch-icon.png',
  '/apple-touch-icon-precomposed.png',
  '/robots.txt',
]);
/** A request that no page of this login handles, for any path. */
const foreignRequest = (arrival: LoopbackRequest, post: Post): Decision | undefined => {
  if (Buffer.byteLength(arrival.url) > limits.callbackBytes)
    return ignoreRequest(414, `the address is longer than ${limits.callbackBytes} bytes`);
  if (arrival.host === undefined || !post.authorities.includes(arrival.host.toLowerCase()))
    return ignoreRequest(
      421,
      `the Host header is ${arrival.host === undefined ? 'missing' : `"${safeText(arrival.host, 60)}"`}, not ours`,
    );
  if (arrival.method !== 'GET' && arrival.form === undefined)
    return ignoreRequest(405, 'only GET is supported');
  return arrival.url.startsWith('/') ? undefined : ignoreRequest(400, 'the request names a whole address');
};
/** The order is from the cheapest and most foreign to the callback; only the last step can end a login. */
export const decide = (arrival: LoopbackRequest, post: Post): Decision => {
  const foreign = foreignRequest(arrival, post);
  if (foreign !== undefined) return foreign;
  const [path = '', query = ''] = splitOnce(arrival.url, '?');
  if (byBrowser.has(path))
    return { kind: 'ignored', status: 404, why: 'browsers request it automatically', quiet: true };
  if (path === post.launchPath) return { kind: 'launch' };
  if (path === post.donePath) return { kind: 'done', isWorker: false };
  if (path === workerPath(post.donePath)) return { kind: 'done', isWorker: true };
  if (path !== post.path) return ignoreRequest(404, 'this is not the path of the redirect');
  const verdict = checkCallback(new URLSearchParams(arrival.form ?? query), post.expected);
  if (verdict.kind === 'relay') return verdict;
  if (verdict.kind === 'code' && arrival.form !== undefined)
    return { kind: 'settled', verdict: { ...verdict, callback: { ...verdict.callback, isForm: true } } };
  return verdict.kind === 'ignored' ? ignoreRequest(400, verdict.why) : { kind: 'settled', verdict };
};
const splitOnce = (text: string, mark: string): [string, string] => {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};
/**
 * The description of a request in the terminal: only method and path, because the query may contain a code.
 */
export const arrivalLine = (arrival: LoopbackRequest, why: string): string =>
  `${safeText(arrival.method, 10)} ${safeText(arrival.url.split(/[?#]/)[0] ?? '', 60)}: ignored, ${why}`;

export type Page = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};
/** The content of one page. All texts are escaped on insertion. */
type Content = {
  readonly status: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly title: string;
  readonly lines: readonly string[];
  readonly scopes?: readonly ScopeRow[];
  readonly script?: string;
};
/** Text of a server on a page: without control and direction characters. */
export const escapePageText = (text: string): string => escapeHtml(text.replace(/[\p{Cc}\p{Cf}]/gu, ' '));
const style = `:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e6eb;--good:#12805c;--bad:#b3261e;--plain:#3457a6}
@media(prefers-color-scheme:dark){:root{--page:#12161c;--card:#1b2129;--ink:#eef1f5;--soft:#a2adbb;--line:#2d3540;--good:#4cc79a;--bad:#ff8a80;--plain:#8fb0ff}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;min-width:0;max-width:460px;background:var(--card);border:1px solid var(--line);border-radius:16px;padding:36px 36px 28px;box-shadow:0 12px 40px rgba(20,30,50,.08)}
svg{width:52px;height:52px;display:block;margin-bottom:20px}.good{color:var(--good)}.bad{color:var(--bad)}.plain{color:var(--plain)}
h1{font-size:22px;line-height:1.3;margin:0 0 12px;font-weight:650;overflow-wrap:anywhere}p{margin:0 0 10px;color:var(--soft);overflow-wrap:anywhere}
ul{list-style:none;margin:16px 0 6px;padding:0;border-top:1px solid var(--line)}li{display:flex;gap:10px;padding:9px 0;border-bottom:1px solid var(--line);font-size:14px;overflow-wrap:anywhere}
footer{margin-top:22px;font-size:13px;color:var(--soft)}code{font:14px ui-monospace,SFMono-Regular,Menlo,monospace}small{display:block;font-size:12px;color:var(--soft)}
@media(max-width:480px){body{padding:16px}main{padding:28px 22px 22px}}`;
const marks: Readonly<Record<Content['tone'], string>> = {
  good: '<path d="M15 27l8 8 15-17"/>',
  bad: '<path d="M18 18l16 16M34 18L18 34"/>',
  plain: '<path d="M26 16v13M26 35v.5"/>',
};
const drawing = (tone: Content['tone']): string =>
  `<svg class="${tone}" viewBox="0 0 52 52" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="26" cy="26" r="23"/>${marks[tone]}</svg>`;
/** Works without script, except for the relay. It loads no resources and cannot be framed. */
const hashOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;
const policy = (script: string | undefined): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`, "worker-src 'self'"]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
const scopeList = (rows: readonly ScopeRow[]): string =>
  rows.length === 0
    ? ''
    : `<ul>${rows.map(({ scope, granted }) => `<li><span class="${granted ? 'good' : 'bad'}" aria-hidden="true">${granted ? '✓' : '✗'}</span><span><code>${escapePageText(lastPart(scope))}</code>${granted ? '' : ' (not granted)'}${scope === lastPart(scope) ? '' : `<small>${escapePageText(scope)}</small>`}</span></li>`).join('')}</ul>`;
const render = (content: Content): Page => ({
  status: content.status,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy(content.script),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    connection: 'close',
  },
  body: `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${escapePageText(content.title)} · opsctl</title><style>${style}</style></head><body><main>${drawing(content.tone)}<h1>${escapePageText(content.title)}</h1>${content.lines.map((line) => `<p>${escapePageText(line)}</p>`).join('')}${scopeList(content.scopes ?? [])}<footer>opsctl sign-in</footer></main>${content.script === undefined ? '' : `<script>${content.script}</script>`}</body></html>`,
});
/**
 * Removes code and state from the URL and the history, and installs a worker that serves the same page on a
 * reload, when the command has exited and the listener is closed. Without script, the page is the same, with
 * its first URL.
 */
const keepScript = (donePath: string): string =>
  `history.replaceState(null,'','${donePath}');navigator.serviceWorker&&navigator.serviceWorker.register('${workerPath(donePath)}',{scope:'${donePath}'}).catch(function(){})`;
/** The delivered page, kept for reloads. */
export const keptAt = (page: Page, donePath: string): Page => {
  const script = keepScript(donePath);
  return {
    ...page,
    headers: { ...page.headers, 'content-security-policy': policy(script) },
    body: page.body.replace('</body>', `<script>${script}</script></body>`),
  };
};
/** Responds only to a reload of the last page. */
export const workerFor = (page: Page, donePath: string): Page => {
  const { connection, ...headers } = page.headers;
  const kept = JSON.stringify({ body: page.body, status: page.status, headers });
  return {
    status: 200,
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'service-worker-allowed': donePath,
      connection: 'close',
    },
    body: `var page=${kept.replaceAll('<', '\\u003c')};self.addEventListener('fetch',function(event){if(event.request.mode==='navigate')event.respondWith(new Response(page.body,{status:page.status,headers:page.headers}))})`,
  };
};
export const successPage = (account: string | undefined, scopes: readonly ScopeRow[]): Page =>
  render({
    status: 200,
    tone: 'good',
    title: account === undefined ? 'You are signed in' : `You are signed in as ${account}`,
    lines: [
      'You can close this window and return to the terminal.',
      ...(scopes.some(({ granted }) => !granted)
        ? ['Some permissions were not granted; the commands that need them will fail and name them.']
        : []),
    ],
    scopes,
  });
export const failurePage = (reason: string, whatNext: string): Page =>
  render({
    status: 400,
    tone: 'bad',
    title: 'Sign-in did not complete',
    lines: [reason, whatNext, 'You can close this window and return to the terminal.'],
  });
export const ignoredPage = (status: number, why: string): Page =>
  render({
    status,
    tone: 'plain',
    title: 'This request was not used',
    lines: [`Reason: ${why}.`, 'The sign-in in your terminal is still waiting; open the URL shown there.'],
  });
export const repeatedPage = (): Page =>
  render({
    status: 200,
    tone: 'plain',
    title: 'This sign-in has already received a response',
    lines: ['You can close this window; the terminal shows the result.'],
  });
/** spec/sign-in#authorize-5 state: in the fragment, which a listener never sees. The page moves it into the query once. */
const relayScript = `(function(){var f=location.hash.slice(1),q=location.search.slice(1);location.replace(location.pathname+'?'+(q?q+'&':'')+(f?f+'&':'')+'${relayMark}=1')})()`;
export const relayPage = (): Page =>
  render({
    status: 200,
    tone: 'plain',
    title: 'One moment',
    lines: [
      'Finishing the sign-in. If the page does not change, copy its complete URL and paste it into the terminal.',
    ],
    script: relayScript,
  });
