import type { MockReply, MockRequest } from '../service.ts';
import { errorReply, invalid } from './errors.ts';

/** The discovery document's `batchPath`, and the form with the service's name that some clients use. */
export const batchPaths: readonly string[] = ['/batch', '/batch/labels/v2beta'];
/** As many calls as the real services take in one batch. */
const maxCalls = 100;

type Part = { readonly id: string | undefined; readonly request: MockRequest };

const headersIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(':');
      return at < 0 ? [] : [[line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]];
    }),
  );

/** What stands before the first empty line, and what stands after it. */
const halves = (text: string): [string, string] => {
  const found = /\r?\n\r?\n/.exec(text);
  return found === null
    ? [text, '']
    : [text.slice(0, found.index), text.slice(found.index + found[0].length)];
};

/** Headers that hold for every call of a batch when the call does not say them itself. */
const inherited = ['authorization', 'accept', 'accept-language', 'user-agent'];

const partFrom = (text: string, outer: MockRequest, i: number): Part => {
  const [outerHeaders, inner] = halves(text.replace(/^\r?\n/, ''));
  const [head, body] = halves(inner.replace(/^(\r?\n)+/, ''));
  const [line = '', ...rest] = head.split(/\r?\n/);
  const [, method = '', target = ''] = /^([A-Z]+) (\S+)(?: HTTP\/1\.[01])?$/.exec(line.trim()) ?? [];
  if (method === '') throw invalid('', `Part ${i + 1} of the batch is no HTTP request.`, 'MALFORMED_BATCH');
  const { pathname, search } = new URL(target, 'http://batch.invalid');
  const shared = Object.fromEntries(inherited.map((name) => [name, outer.headers[name]]));
  return {
    id: headersIn(outerHeaders)['content-id'],
    request: {
      ...outer,
      method,
      path: pathname,
      query: search.slice(1),
      headers: { ...shared, ...headersIn(rest.join('\n')) },
      body: new TextEncoder().encode(body.replace(/\r?\n$/, '')),
    },
  };
};

const boundaryOf = ({ headers }: MockRequest): string => {
  const type = headers['content-type'] ?? '';
  const found = /^multipart\/mixed\s*;.*\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined)
    throw invalid('', 'A batch is multipart/mixed with a boundary.', 'MALFORMED_BATCH');
  return boundary;
};

const partsIn = (request: MockRequest): Part[] => {
  const boundary = boundaryOf(request);
  const pieces = new TextDecoder().decode(request.body).split(`--${boundary}`).slice(1);
  const texts = pieces.filter((piece) => !piece.startsWith('--'));
  if (texts.length === 0) throw invalid('', 'The batch has no parts.', 'MALFORMED_BATCH');
  if (texts.length > maxCalls)
    throw invalid(
      '',
      `A batch has at most ${maxCalls} calls, this one has ${texts.length}.`,
      'LIMIT_EXCEEDED',
    );
  return texts.map((text, i) => partFrom(text, request, i));
};

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  429: 'Too Many Requests',
};

const responseText = (id: string | undefined, reply: MockReply): string => {
  const body =
    typeof reply.body === 'string'
      ? reply.body
      : new TextDecoder().decode(reply.body as Uint8Array | undefined);
  const headers = Object.entries(reply.headers ?? {}).map(([name, value]) => `${name}: ${String(value)}`);
  return [
    'Content-Type: application/http',
    ...(id === undefined ? [] : [`Content-ID: ${id.replace(/^<?/, '<response-').replace(/>?$/, '>')}`]),
    '',
    `HTTP/1.1 ${reply.status} ${reasons[reply.status] ?? 'Status'}`,
    ...headers,
    `content-length: ${new TextEncoder().encode(body).length}`,
    '',
    body,
  ].join('\r\n');
};

/** Calls of one batch, one after the other; each succeeds or fails for itself. */
export const batchReply = (request: MockRequest, handle: (inner: MockRequest) => MockReply): MockReply => {
  const parts = partsIn(request);
  const boundary = `batch_${parts.length}_response`;
  const texts = parts.map(({ id, request: inner }) =>
    responseText(
      id,
      batchPaths.includes(inner.path)
        ? errorReply(invalid('', 'A batch cannot hold a batch.', 'MALFORMED_BATCH'))
        : handle(inner),
    ),
  );
  return {
    status: 200,
    headers: { 'content-type': `multipart/mixed; boundary=${boundary}` },
    body: `${texts.map((text) => `--${boundary}\r\n${text}\r\n`).join('')}--${boundary}--\r\n`,
  };
};
