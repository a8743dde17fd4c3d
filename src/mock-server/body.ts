import { bare, type Field, type Fields } from '../core/field.ts';
import type { Operation } from '../core/operation.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { MockRequest, MockReply } from './service-set.ts';
import { NetworkError, type Outgoing } from '../platform/host.ts';

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

export const JSON_TYPE = 'application/json; charset=utf-8';
export const json = { 'content-type': JSON_TYPE };
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

const whole = /^-?\d{1,15}$/;
/** One text of a path or query as the field's type; a text that does not fit stays text and fails the check. */
const coerce = (field: Field, text: string): unknown => {
  const inner = bare(field);
  switch (inner.type) {
    case 'integer':
      return whole.test(text) ? Number(text) : text;
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
};
/** The query as values by name. A list is a repeated name (spec/tracker#search), which some clients write `name[]`; of a repeated scalar the last counts. */
export const queryValues = (fields: Fields, query: string): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  if (query === '') return values;
  for (const [written, text] of new URLSearchParams(query)) {
    const name =
      written.endsWith('[]') && fields[written.slice(0, -2)]?.type === 'array'
        ? written.slice(0, -2)
        : written;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const inner = field && bare(field);
    if (inner === undefined) values[name] = text;
    else if (inner.type === 'array')
      values[name] = [...((values[name] as unknown[] | undefined) ?? []), coerce(inner.items, text)];
    else values[name] = coerce(inner, text);
  }
  return values;
};
const beyond = /^\d{16,19}$/;
/** A 64-bit ID larger than any assigned ID cannot exist: 404 as for any unknown ID, not a format error. */
const idFrom = (field: Field, text: string): unknown =>
  bare(field).type === 'integer' && beyond.test(text) ? Number.MAX_SAFE_INTEGER : coerce(field, text);
export const pathValues = (
  fields: Fields,
  params: Readonly<Record<string, string>>,
): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const name in params) {
    const field = fields[name];
    values[name] = field ? idFrom(field, params[name] ?? '') : params[name];
  }
  return values;
};
/** Defaults of absent values, as the documents state them. */
export const withDefaults = (fields: Fields, values: Record<string, unknown>): Record<string, unknown> => {
  for (const name in fields) {
    const fallback = fields[name]?.default;
    if (fallback !== undefined && values[name] === undefined) values[name] = fallback;
  }
  return values;
};

type Uploaded = { readonly filename: string; readonly contentType: string; readonly bytes: Uint8Array };
type Parts = { readonly texts: [string, string][]; readonly files: [string, Uploaded][] };
const refuse = (message: string, problems: readonly Problem[]): never => {
  throw new HttpError(400, message, { problems });
};
const joinChunks = (chunks: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
};
/**
 * Browsers and our client encode a quote or a line end in a name in this way (WHATWG form data). Other
 * characters are not encoded.
 */
const decodeFileName = <T extends string | undefined>(filename: T): T =>
  filename?.replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))) as T;
const readParts = async (contentType: string, body: Uint8Array): Promise<Parts> => {
  const { Busboy } = (await import('@fastify/busboy')).default;
  return new Promise((resolve, reject) => {
    const parts: Parts = { texts: [], files: [] };
    // File names are UTF-8 (RFC 7578 4.2), and a path in one is the sender's own affair.
    const parser = new Busboy({
      headers: { 'content-type': contentType },
      defCharset: 'utf8',
      preservePath: true,
    });
    parser.on('field', (name, value) => parts.texts.push([name, value]));
    parser.on('file', (name, stream, filename, _encoding, type) => {
      const chunks: Uint8Array[] = [];
      stream.on('error', reject);
      stream.on('data', (chunk: Uint8Array) => chunks.push(chunk));
      stream.on('end', () =>
        parts.files.push([
          name,
          { filename: decodeFileName(filename), contentType: type, bytes: joinChunks(chunks) },
        ]),
      );
    });
    parser.on('finish', () => resolve(parts));
    parser.on('error', reject);
    parser.end(body);
  });
};
/** A multipart body as values by field name; text parts are read as the field's type. Bytes stay as they were sent. */
export const readMultipart = async (
  request: MockRequest,
  operation: Operation,
): Promise<Record<string, unknown>> => {
  const type = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) {
    refuse('The request body must be multipart form data.', [
      problem('content-type', 'format', `must be multipart/form-data with a boundary; got ${type || 'none'}`),
    ]);
  }
  const parts = await readParts(type, request.body).catch((error: unknown): never =>
    refuse('The request body is not readable multipart form data.', [
      problem('body', 'format', `is not multipart form data: ${String(error)}`),
    ]),
  );
  const fields = operation.body ?? {};
  const values = textValues(fields, parts.texts);
  for (const [name, file] of parts.files) {
    // What a web form sends for a file that was not chosen (HTML, "Constructing the entry list").
    if (file.filename === '' && file.bytes.length === 0) continue;
    checkFilePart(fields, values, name, file);
    values[name] = file;
  }
  return values;
};
const refuseUnnamedFile = (name: string): never =>
  refuse('A file part needs a name.', [
    problem(name, 'type', 'must be a file: its Content-Disposition needs a filename'),
  ]);
const isFile = (fields: Fields, name: string): boolean =>
  Object.hasOwn(fields, name) && bare(fields[name] as never).type === 'file';
/** The text parts as values of their fields' types; the last of a name counts. */
const textValues = (fields: Fields, texts: Parts['texts']): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const [name, text] of texts) {
    if (isFile(fields, name)) refuseUnnamedFile(name);
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    values[name] = field === undefined ? text : coerce(field, text);
  }
  return values;
};
const checkFilePart = (fields: Fields, values: object, name: string, file: Uploaded): void => {
  if (file.filename === undefined) refuseUnnamedFile(name);
  if (Object.hasOwn(values, name))
    refuse('A part occurs in the body twice.', [problem(name, 'rule', 'occurs in the body twice')]);
  if (Object.hasOwn(fields, name) && !isFile(fields, name))
    refuse('A part is a file where text belongs.', [problem(name, 'type', 'must be text, not a file')]);
};
