import { scopeRow, splitScopes } from '../../api-specs/oauth/endpoints.ts';
import { type AuthorizationError, type TokenErrorCode, tokenErrors } from '../../api-specs/oauth/errors.ts';
import type { MockReply } from '../service-set.ts';
import type { Auth, Client } from './state.ts';

export type PageError = AuthorizationError | 'invalid_client' | 'invalid_scope' | 'method_not_allowed';
/** A rule of the authorization endpoint refuses: the user sees a page instead of the flow. */
export class OAuthPageError extends Error {
  readonly code: PageError;
  /** Replaces the remedies of the code if they do not help in this case. */
  readonly remedies: readonly string[] | undefined;
  constructor(code: PageError, detail: string, remedies?: readonly string[]) {
    super(detail);
    this.name = 'OAuthPageError';
    this.code = code;
    this.remedies = remedies;
  }
}
/**
 * A rule after the validation of the redirect URI failed, and the application receives the error by redirect.
 */
export class RedirectError extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.name = 'RedirectError';
    this.code = code;
  }
}
/** A rule of the token or revoke endpoint refuses. spec/sign-in#errors-10: `{"error","error_description"}`. */
export class OAuthError extends Error {
  readonly code: TokenErrorCode;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly subtype: string | undefined;
  constructor(
    code: TokenErrorCode,
    description: string,
    status?: number,
    headers: Readonly<Record<string, string>> = {},
    subtype?: string,
  ) {
    super(description);
    this.subtype = subtype;
    this.name = 'OAuthError';
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

/**
 * RFC 6749 5.1: responses with tokens are never cached. spec/sign-in#check-12.11: no
 * Access-Control-Allow-Origin on any response.
 */
const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
};
export const jsonReply = (
  status: number,
  body: unknown,
  more: Readonly<Record<string, string>> = {},
): MockReply => ({
  status,
  headers: { ...headers, ...more },
  body: JSON.stringify(body),
});
/** spec/sign-in#errors-10: `{"error","error_description"}`; never a token, secret or verifier in it. */
export const oauthErrorReply = (refusal: OAuthError): MockReply =>
  jsonReply(
    refusal.status ?? tokenErrors[refusal.code].status,
    {
      error: refusal.code,
      error_description: refusal.message,
      ...(refusal.subtype === undefined ? {} : { error_subtype: refusal.subtype }),
    },
    refusal.headers,
  );

/** Name and value pairs of a query or a form body. */
export type Params = {
  get(name: string): string | undefined;
  /** Every value of a name, in order. */
  all(name: string): readonly string[];
  /** The raw percent-encoded text of the first value. */
  raw(name: string): string | undefined;
  readonly repeated: readonly string[];
  readonly count: number;
  /** False when a percent sequence is broken or bytes are not UTF-8. */
  readonly isWellFormed: boolean;
};
const decode = (text: string): string | undefined => {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};
type Pair = { readonly name: string | undefined; readonly value: string | undefined; readonly raw: string };
const pairOf = (text: string): Pair => {
  const cut = text.indexOf('=');
  const raw = cut < 0 ? '' : text.slice(cut + 1);
  return { name: decode(cut < 0 ? text : text.slice(0, cut)), value: decode(raw), raw };
};
/**
 * A state may contain any bytes and is returned unchanged. Any other malformed value invalidates the request.
 */
const isReadable = ({ name, value }: Pair): boolean =>
  name !== undefined && (value !== undefined || name === 'state');
export const readParams = (text: string): Params => {
  const values = new Map<string, { raw: string; all: string[] }>();
  const repeated: string[] = [];
  const pairs = text
    .split('&')
    .filter((pair) => pair !== '')
    .map(pairOf);
  for (const { name = '', value = '', raw } of pairs) {
    const known = values.get(name);
    if (known === undefined) values.set(name, { raw, all: [value] });
    else {
      known.all.push(value);
      repeated.push(name);
    }
  }
  return {
    get: (name) => values.get(name)?.all[0],
    all: (name) => values.get(name)?.all ?? [],
    raw: (name) => values.get(name)?.raw,
    repeated,
    count: pairs.length,
    isWellFormed: pairs.every(isReadable),
  };
};
const kept = /[A-Za-z0-9\-._~]/;
const hex = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
/** The same bytes in one percent-encoded form that is safe in a query, a fragment and a header. */
export const reencode = (raw: string): string => {
  const bytes: number[] = [];
  const source = Buffer.from(raw.replaceAll('+', ' '));
  for (let i = 0; i < source.length; i++) {
    const pair = source[i] === 0x25 ? source.toString('latin1', i + 1, i + 3) : '';
    if (/^[0-9A-Fa-f]{2}$/.test(pair)) {
      bytes.push(Number.parseInt(pair, 16));
      i += 2;
    } else bytes.push(source[i] ?? 0);
  }
  return bytes
    .map((byte) =>
      byte < 128 && kept.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : hex(byte),
    )
    .join('');
};

/**
 * OpenID Connect Core 11: a client uses it to request a refresh token. Installed applications get one anyway
 * (spec/sign-in#token-3), so it is accepted without an effect.
 */
const withoutEffect = 'offline_access';
/** The supported scopes of a request. */
export const askedScopes = (text: string): string[] =>
  splitScopes(text).filter((scope) => scope !== withoutEffect);
/** The scopes of the document, and those that a setting adds for tools of other services. */
export const unknownScopes = (auth: Auth, scopes: readonly string[]): string[] =>
  scopes.filter((scope) => scopeRow(scope) === undefined && !auth.settings().extra_scopes.includes(scope));

/** spec/sign-in#redirect. */
export type RedirectForm =
  | { readonly kind: 'loopback'; readonly host: string; readonly path: string }
  | { readonly kind: 'custom'; readonly scheme: string; readonly rest: string }
  | { readonly kind: 'https'; readonly host: string }
  | { readonly kind: 'other' };
// No fragment, no user name, and no characters that browsers interpret differently (spaces, backslashes,
// quotes).
const TAIL = String.raw`(?:[/?][!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]*)?`;
const LOOPBACK = new RegExp(
  String.raw`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?(${TAIL})$`,
);
const HTTPS = new RegExp(String.raw`^https://([a-z0-9.-]+)${TAIL}$`);
const CUSTOM = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;
/** Classifies a redirect URI by its text; `http:` and `https:` are never custom schemes. Pure. */
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
