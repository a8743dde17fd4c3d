import type { Problem } from '../core/problem.ts';
import { NetworkError, type Outgoing } from '../platform/host.ts';
import type { MockReply } from './service-set.ts';

/** A handler or rule refuses; the service gives it its wire shape. */
export class HttpError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  /** Fields of the error body that the service defines for this error. */
  readonly body: Readonly<Record<string, unknown>>;
  constructor(
    status: number,
    message: string,
    more: { problems?: readonly Problem[]; body?: Record<string, unknown> } = {},
  ) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.problems = more.problems ?? [];
    this.body = more.body ?? {};
  }
}

/** spec/labels#errors: the words that go with a status. */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};
/**
 * The body of an error that no service created (an injected fault, a body that is too large), in the format
 * that clients of the path expect.
 */
export const failureBody = (path: string, status: number, message: string): string =>
  /^\/v2beta(\/|$)/.test(path)
    ? JSON.stringify({
        error: { code: status, message, status: statusNames[status] ?? 'UNKNOWN', details: [] },
      })
    : JSON.stringify({ message });

export const json = { 'content-type': 'application/json; charset=utf-8' };
/** An error of the server itself, in the format of the service at this path. */
export const message = (status: number, text: string, path = ''): MockReply => ({
  status,
  headers: json,
  body: failureBody(path, status, text),
});
/** 507 Insufficient Storage (RFC 4918 11.5). */
export const diskFull = (directory: string, url: string): MockReply =>
  message(
    507,
    `the disk of ${directory} is full: a long body is kept there while it arrives. Free some room, or set TMPDIR`,
    url,
  );
const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
/**
 * The response to a request that could not be read or that failed inside; `failed` receives internal
 * failures.
 */
export const failureOf = (
  failed: (error: unknown, requestId: string) => void,
  { id, path }: { readonly id: string; readonly path: string },
  error: unknown,
): Outgoing => {
  if (codeOf(error) === 'TOO_LARGE')
    return {
      ...message(413, 'the request body is too large', path),
      headers: { ...json, connection: 'close' },
    };
  // The client disconnected in the middle of its own request. It reads no response, and the server has not
  // failed.
  if (error instanceof NetworkError && error.code === 'RESET') return message(400, error.message, path);
  failed(error, id);
  return message(500, `internal error of the mock server; request ${id}`, path);
};
