import type { Client } from './state.ts';

/** spec/sign-in#redirect. */
export type RedirectForm =
  | { readonly kind: 'loopback'; readonly host: string; readonly path: string }
  | { readonly kind: 'custom'; readonly scheme: string; readonly rest: string }
  | { readonly kind: 'https'; readonly host: string }
  | { readonly kind: 'other' };

// No fragment, no user name, and nothing that browsers read in another way than we do (blanks, backslashes, quotes).
const TAIL = String.raw`(?:[/?][!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]*)?`;
const LOOPBACK = new RegExp(
  String.raw`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?(${TAIL})$`,
);
const HTTPS = new RegExp(String.raw`^https://([a-z0-9.-]+)${TAIL}$`);
const CUSTOM = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;

/** The form of a redirect URI by its text alone; `http:` and `https:` are never custom schemes. Pure. */
export const redirectForm = (uri: string): RedirectForm => {
  const loopback = LOOPBACK.exec(uri);
  if (loopback !== null) {
    const port = Number(loopback[2] ?? 80);
    if (port > 65_535) return { kind: 'other' };
    return {
      kind: 'loopback',
      host: loopback[1] ?? '',
      path: loopback[3] === '' || loopback[3] === undefined ? '/' : loopback[3],
    };
  }
  const https = HTTPS.exec(uri);
  if (https !== null) return { kind: 'https', host: https[1] ?? '' };
  const custom = CUSTOM.exec(uri);
  if (custom === null || /^https?$/i.test(custom[1] ?? '')) return { kind: 'other' };
  return { kind: 'custom', scheme: custom[1] ?? '', rest: custom[2] ?? '' };
};

/** spec/sign-in: "the scheme must contain a period; an optional path starts with a single slash". */
export const customSchemeProblem = (form: { scheme: string; rest: string }): string | undefined => {
  if (!form.scheme.includes('.'))
    return `Custom scheme "${form.scheme}" must contain a period, like com.example.app`;
  if (form.rest.startsWith('//')) return 'The path of a custom scheme redirect starts with a single slash';
  return new RegExp(`^${TAIL}$`).test(form.rest) && !form.rest.startsWith('?')
    ? undefined
    : 'A custom scheme redirect is SCHEME:/PATH';
};

const extensionHost = (item: string): string => `${item}.extensions.opsctl.example`;
/** spec/sign-in: "the reverse-DNS name is of a domain controlled by the developer or of the client ID". */
const impliedSchemes = (client: Client): string[] =>
  [client.package_name, client.bundle_id, client.id.split('.').reverse().join('.')].filter(
    (scheme) => scheme !== null,
  );

const loopbackMatches = (client: Client, form: { host: string; path: string }, anyPath: boolean): boolean => {
  const registered = client.redirect_uris.map(redirectForm).filter((r) => r.kind === 'loopback');
  // Without registered ones the two IP forms of the document are implied, with an empty path.
  const allowed =
    registered.length > 0
      ? registered
      : ['127.0.0.1', '[::1]', 'localhost'].map((host) => ({ host, path: '/' }));
  return allowed.some((r) => r.host === form.host && (anyPath || r.path === form.path));
};

/** Whether a redirect URI is one of those authorized for the client. RFC 8252 7.3: the port of a loopback redirect is free. Pure. */
export const isAuthorizedRedirect = (client: Client, uri: string, anyPath: boolean): boolean => {
  const form = redirectForm(uri);
  if (form.kind === 'loopback') return loopbackMatches(client, form, anyPath);
  if (client.redirect_uris.includes(uri)) return true;
  if (form.kind === 'custom') return impliedSchemes(client).includes(form.scheme);
  return form.kind === 'https' && client.item_id !== null && form.host === extensionHost(client.item_id);
};
