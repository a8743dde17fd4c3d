import type { MockReply } from '../service.ts';
import { Html, html } from '../html.ts';
import { pageHeaders as commonHeaders } from '../page-headers.ts';
import { style, styleHash } from './style.ts';

export type Page = {
  readonly status: number;
  readonly title: string;
  readonly body: Html;
  readonly isWide?: boolean;
  /** Sources that a form of this page may lead to beside this server: browsers check redirects after a form, too. */
  readonly formTargets?: string;
  readonly cookies?: readonly string[];
};

/** Beside this server, a form may lead to `formTargets`. */
export const pageHeaders = (formTargets = ''): Record<string, string> =>
  commonHeaders(styleHash, `'self'${formTargets}`);

const document = (page: Page): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${page.title}</title><style>${new Html(style)}</style></head>
<body${page.isWide ? new Html(' class="wide"') : ''}><main><header><span class="mark" aria-hidden="true">o</span><span>opsctl embedded authorization service</span></header>
${page.body}
</main>${page.isWide ? '' : html`<footer>A local server for development. Never type a password here that you use elsewhere.</footer>`}</body></html>
`.text;

export const pageReply = (page: Page): MockReply => ({
  status: page.status,
  headers: {
    ...pageHeaders(page.formTargets),
    'content-type': 'text/html; charset=utf-8',
    ...(page.cookies && page.cookies.length > 0 ? { 'set-cookie': page.cookies } : {}),
  },
  body: document(page),
});

/**
 * The CSP source of a redirect URI. Browsers cannot read an IPv6 address in a source list, so `[::1]` becomes the
 * scheme; without this the consent form could not lead back to the application.
 */
export const formTarget = (redirectUri: string): string => {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(redirectUri)?.[0] ?? '';
  if (!/^https?:$/.test(scheme) || redirectUri.includes('[')) return ` ${scheme}`;
  return ` ${/^https?:\/\/[^/?#]+/.exec(redirectUri)?.[0] ?? ''}`;
};
