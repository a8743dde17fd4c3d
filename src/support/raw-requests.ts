import { rawCheck, withOutcome } from '../api/unknown-outcome.ts';
import { openAnswer } from '../api/list-rows.ts';
import { type WireReply, errorFrom, jsonOf, refuseRedirect } from '../api/response.ts';
import type { AppError } from '../core/problem.ts';
import { type Result, nothing, rawResult, recordResult } from '../core/result.ts';
import type { HttpReply } from '../platform/host.ts';
import type { Context, ServiceName } from '../cli/command.ts';
import { allPages } from './pages.ts';
import { type ApiRequest, pathBelow } from './request.ts';

/** A missing scope of the label service is told as its own commands do: which one, and the line that fixes it. */
const labelsRefusal = async (error: AppError, { method, path, body = '' }: ApiRequest): Promise<AppError> => {
  const { explainedRefusal } = await import('../labels/refusal.ts');
  return explainedRefusal(error, {
    method,
    isAdmin: /[?&]useAdminAccess=true/.test(path) || /"useAdminAccess"\s*:\s*true/.test(body),
  });
};

const explained = async (
  context: Context,
  service: ServiceName,
  error: AppError,
  request: ApiRequest,
): Promise<unknown> => {
  if (service === 'labels') return labelsRefusal(error, request);
  if (service !== 'tracker') return error;
  return (await import('../tracker/refusal.ts')).explainedRefusal(error, await context.target('tracker'));
};

const whatOf = ({ method, path }: ApiRequest): string => `${method} ${path}`;

/** Refusals and redirects are errors, whatever is asked for. */
const accepted = async (
  context: Context,
  service: ServiceName,
  request: ApiRequest,
  reply: HttpReply,
): Promise<void> => {
  if (reply.status < 300) return;
  const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
  if (reply.status >= 400) throw await explained(context, service, errorFrom(read, whatOf(request)), request);
  refuseRedirect(read, whatOf(request));
};

const isJson = ({ headers }: Pick<HttpReply, 'headers'>): boolean =>
  /\bjson\b/.test(headers['content-type'] ?? '');

/** The answer as it came: a list row by row while it arrives, a record, or bytes of another type. */
export const answerOf = async (
  context: Context,
  service: ServiceName,
  request: ApiRequest,
): Promise<Result> => {
  const { method, path } = request;
  try {
    return await readAnswer(context, service, request);
  } catch (error) {
    throw await withOutcome(error, { method, url: (await context.target(service)).baseUrl + path }, () =>
      rawCheck(service, method, path),
    );
  }
};

const readAnswer = async (context: Context, service: ServiceName, request: ApiRequest): Promise<Result> => {
  const reply = await context.send(service, request);
  await accepted(context, service, request, reply);
  if (!isJson(reply)) {
    const bytes = await reply.bytes();
    return bytes.length === 0 ? nothing(`${whatOf(request)}: ${reply.status}`) : rawResult(bytes);
  }
  const { rows, text = '' } = await openAnswer(reply, whatOf(request));
  if (rows !== undefined) return { kind: 'rows', rows, inBatches: true, encoded: true };
  const read: WireReply = { status: reply.status, headers: reply.headers, text };
  return text === ''
    ? nothing(`${whatOf(request)}: ${reply.status}`)
    : recordResult(jsonOf(read, whatOf(request)));
};

/** The rows of all pages. A page elsewhere than below the base URL is refused: the token would go there. */
export const pagesOf = (context: Context, service: ServiceName, request: ApiRequest): Result => {
  const ask = async (path: string) => {
    const one = { ...request, path: await pathBelow(context, service, path) };
    const reply = await context.send(service, one);
    await accepted(context, service, one, reply);
    const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
    return { page: jsonOf(read, whatOf(one)), headers: reply.headers };
  };
  return {
    kind: 'rows',
    inBatches: true,
    rows: allPages(request.path, ask) as AsyncIterable<unknown[]>,
  };
};
