import { NetworkError, type Outgoing } from '../platform/host.ts';
import { failureBody } from './errors.ts';
import type { MockReply } from './service.ts';

export const json = { 'content-type': 'application/json; charset=utf-8' };

/** What the server itself says, in the shape of the service whose path it is. */
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

/** The answer to a request that could not be read or that failed inside; `failed` is told of the latter. */
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
  // The client went away in the middle of its own request: nobody reads the answer, and nothing has failed here.
  if (error instanceof NetworkError && error.code === 'RESET') return message(400, error.message, path);
  failed(error, id);
  return message(500, `internal error of the mock server; request ${id}`, path);
};
