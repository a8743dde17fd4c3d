import type { Bytes, HttpRequest, Tls } from '../host.ts';

export type Wire = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Bytes>;
  /** No body can follow, or it is already known to be empty. */
  readonly isEmpty: boolean;
  readonly trailers?: () => Readonly<Record<string, string>>;
};
export type Progress = {
  /** From here on a byte of the request may have left. */
  connected(): void;
  /** The peer took a piece of a streamed body. */
  moved(): void;
};
export type Prepared = {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpRequest['body'];
  readonly tls: Tls | undefined;
  readonly proxy: string | undefined;
};
export type Attempt = { readonly reply: Promise<Wire>; destroy(reason: Error): void };
/** One way of carrying requests; timeouts, limits and error names are the same for all (exchange.ts). */
export type Transport = { start(request: Prepared, progress: Progress): Attempt; close(): Promise<void> };

export const flatHeaders = (headers: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> => {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
};

/** RFC 9112 6.3: these answers have no body whatever their headers say. */
export const hasNoBody = (method: string, status: number, headers: Readonly<Record<string, string>>): boolean =>
  method === 'HEAD' || status === 204 || status === 304 || headers['content-length'] === '0';

export async function* noBytes(): AsyncGenerator<Bytes> {}

/** The authorities a connection trusts: only `ca` when it is given, else the usual ones and `extraCa`. */
export const trusted = (given: Tls | undefined, usual: () => readonly string[]): { ca?: string[] } => {
  if (given?.ca !== undefined) return { ca: [given.ca] };
  return given?.extraCa === undefined ? {} : { ca: [...usual(), given.extraCa] };
};
