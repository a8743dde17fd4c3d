import type { WireRequest } from './request.ts';

const SECRET_HEADERS = /^(authorization|cookie|proxy-authorization|.*token.*|.*secret.*|x-api-key)$/i;
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** What would be sent, with secrets masked, and the same as a curl line. */
export type DryRun = {
  readonly dry_run: true;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
  readonly curl: string;
};

const masked = (headers: WireRequest['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.test(name) ? value.replace(/[^ ]+$/, '***') : value,
    ]),
  );

/** A request as `--dry-run` shows it. The body is the very text that would be sent, parsed when it is JSON. */
export const dryRun = (request: WireRequest): DryRun => {
  const headers = masked(request.headers);
  const lines = [
    `curl -X ${request.method} ${quoted(request.url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(request.body === undefined ? [] : [`--data-raw ${quoted(request.body)}`]),
  ];
  const isJson = request.headers['content-type'] === 'application/json';
  return {
    dry_run: true,
    method: request.method,
    url: request.url,
    headers,
    ...(request.body === undefined ? {} : { body: isJson ? JSON.parse(request.body) : request.body }),
    curl: lines.join(' '),
  };
};
