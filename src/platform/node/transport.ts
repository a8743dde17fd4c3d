import type { Bytes, HttpRequest, Tls } from '../host.ts';

export type Wire = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes when all of it is known with the head. */
  readonly body: AsyncIterable<Bytes> | Bytes;
  readonly trailers?: () => Readonly<Record<string, string>>;
};
export type Progress = {
  /** From here on a byte of the request may have left. */
  connected(): void;
  /** The peer took a piece of a streamed body. */
  moved(): void;
};
/** Where a request goes. */
export type Place = {
  readonly url: URL;
  readonly origin: string;
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  readonly proxy: string | undefined;
};
export type Prepared = { readonly to: Place; readonly request: HttpRequest };
export type Attempt = { readonly reply: Promise<Wire>; destroy(reason: Error): void };
/** One way of carrying requests; timeouts, limits and error names are the same for all (exchange.ts). */
export type Transport = { start(prepared: Prepared, progress: Progress): Attempt; close(): Promise<void> };

export const isStream = (body: HttpRequest['body']): body is AsyncIterable<Bytes> =>
  typeof body === 'object' && !(body instanceof Uint8Array);

/** Methods whose requests say that they have no body, as servers expect one of them (RFC 9110 8.6). */
export const statesItsLength = (method: string): boolean => /^(POST|PUT|PATCH)$/.test(method);

/** Headers of a request with names in lower case and the length of its body. */
export const headersWithLength = ({
  method,
  headers: given = {},
  body,
}: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  if (typeof body === 'string') headers['content-length'] = String(Buffer.byteLength(body));
  else if (body instanceof Uint8Array) headers['content-length'] = String(body.length);
  else if (body === undefined && statesItsLength(method)) headers['content-length'] = '0';
  return headers;
};

export const flatHeaders = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> => {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
};

/** RFC 9112 6.3: these answers have no body whatever their headers say. */
export const isBodyless = (method: string, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304;
export const hasNoBody = (
  method: string,
  status: number,
  headers: Readonly<Record<string, string>>,
): boolean => isBodyless(method, status) || headers['content-length'] === '0';

export const noBytes: Bytes = new Uint8Array();

/** The authorities a connection trusts: only `ca` when it is given, else the usual ones and `extraCa`. */
export const trusted = (given: Tls | undefined, usual: () => readonly string[]): { ca?: string[] } => {
  if (given?.ca !== undefined) return { ca: [given.ca] };
  return given?.extraCa === undefined ? {} : { ca: [...usual(), given.extraCa] };
};

/** What a secure connection is made with: whom it trusts, who this side is, and the name that the certificate must have. */
export const tlsOptions = (tls: Tls | undefined, usual: () => readonly string[]) => ({
  ...trusted(tls, usual),
  ...(tls?.cert === undefined ? {} : { cert: tls.cert, key: tls.key }),
  ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
});
